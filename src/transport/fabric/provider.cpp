// What we ask libfabric for:
//   FI_EP_RDM with FI_MSG and FI_RMA and at least 4 bytes of remote CQ data (RDMA write with
//   immediate), else FI_MSG and FI_TAGGED (message path). No ordering is assumed. FI_CONTEXT and
//   FI_CONTEXT2 are honoured (every request starts with an fi_context2), and so are FI_MR_LOCAL,
//   VIRT_ADDR, ALLOCATED and PROV_KEY.
//
// "tcp" is a family. From libfabric 1.18 it is one provider that offers FI_EP_RDM itself. 1.17 has
// two ways: the later one under the name "net", and "tcp;ofi_rxm". Measured on loopback, 1.17.0:
// net 8.7 us one way at 8 bytes against 12.7 us, and rxm faults in 26000 pages at opening; so net
// first. Their wire formats differ, hence a process never talks to a peer that chose otherwise.
#include "transport/fabric/provider.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "transport/fabric/rail_choice.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr std::uint32_t kNativeTcpRdm = FI_VERSION(1, 18);

// Adapters made for this work, best first. Others (sockets, shm, udp, psm over Ethernet, ...) are
// taken only when somebody names them.
constexpr std::array<std::string_view, 4> kRdma = {"efa", "cxi", "opx", "verbs;ofi_rxm"};

std::vector<std::string_view> tcp_family() {
  if (fi_version() >= kNativeTcpRdm) return {"tcp", "tcp;ofi_rxm"};
  return {"net", "tcp;ofi_rxm"};
}

// All that "auto" may take, best first.
std::vector<std::string_view> automatic_order() {
  std::vector<std::string_view> order(kRdma.begin(), kRdma.end());
  const auto family = tcp_family();
  order.insert(order.end(), family.begin(), family.end());
  return order;
}

// What a name in HEDDLE_PROVIDER stands for, best first.
std::vector<std::string_view> names_asked_for(const std::string& asked) {
  if (asked == "auto") return automatic_order();
  if (asked == "tcp") return tcp_family();
  if (asked == "verbs") return {"verbs;ofi_rxm"};
  return {asked};
}

// All that carry bytes over libfabric's own TCP sockets lose a dead peer silently (measured with
// 1.17: what is under way completes as success, later posts get -FI_EAGAIN).
bool is_over_tcp(std::string_view name) {
  return name == "tcp" || name == "net" || name == "tcp;ofi_rxm" || name == "net;ofi_rxm";
}

// Whose completions of sends and writes mean that the target has them without asking.
bool means_delivered(std::string_view name) { return name == "efa"; }

// Others leave the length of the target's completion 0 (measured with 1.17).
bool tells_written_length(std::string_view name) { return name == "efa" || name == "sockets"; }

// rxm of libfabric 1.17 goes on using connections of an endpoint that was closed with operations
// under way (seen as faults in fi_cq_read of the same and of the other end). What listens for TCP
// itself leaves connection requests in the domain that point to the endpoint (seen as a fault in
// the next fi_cq_read; xnet_pep_close of all versions to 2.x says that it does).
ChosenProvider::Reopen how_to_reopen(std::string_view name) {
  using Reopen = ChosenProvider::Reopen;
  if (name.ends_with(";ofi_rxm")) return Reopen::never;
  return is_over_tcp(name) ? Reopen::domain : Reopen::endpoint;
}

enum class Path { rma, message };

Info our_hints(Path path) {
  Info hints(fi_allocinfo());
  if (hints == nullptr) base::fail(heddleSystemError, "fi_allocinfo failed: out of memory");
  hints->caps = FI_MSG | (path == Path::rma ? FI_RMA : FI_TAGGED);
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->cq_data_size = path == Path::rma ? 4 : 0;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  // One lock of ours stands around every call; a provider may drop its own.
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  return hints;
}

// The same for memory of devices. Who needs that registered grants it to those only that will
// (FI_MR_HMEM).
Info device_memory_hints(Path path) {
  Info hints = our_hints(path);
  hints->caps |= FI_HMEM;
  hints->domain_attr->mr_mode |= FI_MR_HMEM;
  return hints;
}

// An empty list when nothing fits; other failures are errors.
Info ask_libfabric(const fi_info* hints, std::uint64_t flags) {
  fi_info* list = nullptr;
  const int rc = fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), nullptr, nullptr, flags,
                            hints, &list);
  if (rc == -FI_ENODATA) return nullptr;
  if (rc != 0)
    base::fail(heddleSystemError, "fi_getinfo of libfabric {} failed: {}", libfabric_version(),
               fabric_error_text(rc));
  return Info(list);
}

struct Found {
  std::string version;
  std::vector<const fi_info*> offered;  // anything at all
  std::vector<const fi_info*> fitting;  // what our hints accept, over `path`
  Path path = Path::rma;
};

class Survey {
 public:
  explicit Survey(bool rma)
      : known_(ask_libfabric(nullptr, FI_PROV_ATTR_ONLY)),
        all_(ask_libfabric(nullptr, 0)),
        message_(ask_libfabric(our_hints(Path::message).get(), 0)) {
    if (rma) rma_ = ask_libfabric(our_hints(Path::rma).get(), 0);
    for (const fi_info* info = known_.get(); info != nullptr; info = info->next)
      if (!is_hook(info)) note(info);
    for (const fi_info* info = all_.get(); info != nullptr; info = info->next)
      note(info).offered.push_back(info);
    for (const fi_info* info = rma_.get(); info != nullptr; info = info->next)
      note(info).fitting.push_back(info);
    for (auto& [name, found] : found_)
      found.path = found.fitting.empty() ? Path::message : Path::rma;
    for (const fi_info* info = message_.get(); info != nullptr; info = info->next)
      if (Found& found = note(info); found.path == Path::message) found.fitting.push_back(info);
  }

  const std::map<std::string, Found>& found() const { return found_; }

  // The providers that would move memory of devices the way they move the host's.
  std::set<std::string> with_device_memory() const {
    std::set<std::string> names;
    for (const Path path : {Path::rma, Path::message}) {
      const Info list = ask_libfabric(device_memory_hints(path).get(), 0);
      for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
        const auto found = found_.find(info->fabric_attr->prov_name);
        if (found != found_.end() && found->second.path == path) names.insert(found->first);
      }
    }
    return names;
  }

 private:
  // Hooks and utilities are layers over providers, listed among them.
  static bool is_hook(const fi_info* info) {
    const std::string_view name = info->fabric_attr->prov_name;
    return name.starts_with("ofi_") || name.starts_with("off_");
  }

  Found& note(const fi_info* info) {
    const fi_fabric_attr& attributes = *info->fabric_attr;
    Found& found = found_[attributes.prov_name];
    found.version =
        fmt::format("{}.{}", FI_MAJOR(attributes.prov_version), FI_MINOR(attributes.prov_version));
    return found;
  }

  Info known_, all_, message_, rma_;
  std::map<std::string, Found> found_;
};

// A send over efa-direct is one packet, though the attribute tells how long a write may be.
bool sends_packets(const fi_info& info) {
  return info.fabric_attr->name != nullptr &&
         std::strcmp(info.fabric_attr->name, "efa-direct") == 0;
}

std::size_t longest_send(const fi_info& info) {
  constexpr std::size_t kLeastPacket = 4096;  // of all EFA adapters
  if (!sends_packets(info)) return info.ep_attr->max_msg_size;
  const bool told =
      info.nic != nullptr && info.nic->link_attr != nullptr && info.nic->link_attr->mtu != 0;
  return told ? info.nic->link_attr->mtu : kLeastPacket;
}

// Among several ways to one adapter (one per address and per fabric), the best: whole messages of
// any size before those cut to a packet, IPv4 before IPv6, global before link-local.
int merit(const fi_info& info) {
  int points = !sends_packets(info) && info.ep_attr->max_msg_size >= (std::size_t{1} << 24) ? 8 : 0;
  if (info.addr_format != FI_SOCKADDR_IN6)
    points += 4;
  else if (info.src_addr != nullptr) {
    const auto* bytes = static_cast<const unsigned char*>(info.src_addr);
    points += bytes[8] == 0xfe && (bytes[9] & 0xc0) == 0x80 ? 0 : 2;  // sin6_addr at offset 8
  }
  return points;
}

struct Candidate {
  Adapter adapter;
  const fi_info* info;
};

// Each adapter once, by rail order; only what the filter allows.
std::vector<Candidate> candidates(const Found& found, std::span<const std::string> allowed) {
  std::map<std::string, Candidate> best;
  for (const fi_info* info : found.fitting) {
    Adapter adapter = describe_adapter(*info);
    if (!adapter.interface_name.empty() &&
        std::ranges::find(allowed, adapter.interface_name) == allowed.end())
      continue;
    const auto [place, is_new] = best.try_emplace(adapter.name, Candidate{adapter, info});
    if (!is_new && merit(*info) > merit(*place->second.info)) place->second.info = info;
  }
  std::vector<Candidate> result;
  for (auto& [name, candidate] : best) result.push_back(std::move(candidate));
  const auto real = [](const Candidate& c) { return !c.adapter.loopback; };
  if (std::ranges::any_of(result, real))
    std::erase_if(result, [](const Candidate& c) { return c.adapter.loopback; });
  std::ranges::sort(result, [](const Candidate& a, const Candidate& b) {
    return adapter_before(a.adapter, b.adapter);
  });
  return result;
}

// fi_tostr itself writes into one buffer of all threads.
std::string text_of(const void* value, fi_type type) {
  char text[256] = {};
  return fi_tostr_r(text, sizeof text, value, type);
}

std::string join(const std::set<std::string>& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string what_lacks(const Found& found, std::span<const std::string> allowed) {
  if (found.offered.empty()) return "libfabric has it, but it finds no adapter on this machine";
  std::set<std::string> endpoints, adapters;
  for (const fi_info* info : found.offered) {
    const std::string type = text_of(&info->ep_attr->type, FI_TYPE_EP_TYPE);
    endpoints.insert(type);
    adapters.insert(describe_adapter(*info).name);
  }
  if (!endpoints.contains("FI_EP_RDM"))
    return fmt::format("offers {} endpoints, FI_EP_RDM is needed", join(endpoints));
  if (found.fitting.empty())
    return "has neither RDMA write with 4 bytes of immediate data nor tagged messages under the "
           "modes we support";
  return fmt::format("its adapters are {}, the interfaces allowed are {}", join(adapters),
                     join({allowed.begin(), allowed.end()}));
}

std::vector<ProviderReport> report(const Survey& survey, std::span<const std::string> allowed) {
  const auto order = automatic_order();
  const auto place = [&](const std::string& name) {
    return std::ranges::find(order, name) - order.begin();
  };
  std::vector<ProviderReport> reports;
  for (const auto& [name, found] : survey.found()) {
    ProviderReport one{.name = name, .version = found.version, .why_not = {}, .adapters = {}};
    for (Candidate& candidate : candidates(found, allowed))
      one.adapters.push_back(std::move(candidate.adapter));
    one.usable = !one.adapters.empty();
    one.automatic = std::ranges::find(order, name) != order.end();
    if (!one.usable) one.why_not = what_lacks(found, allowed);
    reports.push_back(std::move(one));
  }
  std::ranges::stable_sort(reports, [&](const ProviderReport& a, const ProviderReport& b) {
    return place(a.name) < place(b.name);
  });
  return reports;
}

std::string as_list(const std::vector<ProviderReport>& reports) {
  std::string text;
  for (const ProviderReport& one : reports) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {} ", one.name, one.version);
    if (one.usable) {
      std::set<std::string> names;
      for (const Adapter& adapter : one.adapters) names.insert(adapter.name);
      text += fmt::format("(usable: {})", join(names));
    } else {
      text += fmt::format("(not usable: {})", one.why_not);
    }
  }
  return text.empty() ? "none" : text;
}

// Puts those of libfabric's descriptions in the place of the chosen ones that grant FI_HMEM: all or
// none.
void ask_for_device_memory(ChosenProvider& chosen, Path path,
                           std::span<const std::string> allowed) {
  Info hints = device_memory_hints(path);
  hints->fabric_attr->prov_name = strdup(chosen.name.c_str());
  const Info list = ask_libfabric(hints.get(), 0);
  Found granted;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next)
    if (info->fabric_attr->prov_name == chosen.name) granted.fitting.push_back(info);
  const std::vector<Candidate> ways = candidates(granted, allowed);
  std::vector<ChosenAdapter> with;
  std::set<std::string> without;
  for (const ChosenAdapter& one : chosen.adapters) {
    const auto found = std::ranges::find_if(
        ways, [&](const Candidate& way) { return way.adapter.name == one.adapter.name; });
    if (found == ways.end())
      without.insert(one.adapter.name);
    else
      with.push_back({one.adapter, Info(fi_dupinfo(found->info)), longest_send(*found->info)});
  }
  std::string& why = chosen.why_no_device_memory;
  why = without.empty() ? why_no_device_memory(*with.front().info)
                        : fmt::format("libfabric {} grants it no FI_HMEM on {}",
                                      libfabric_version(), join(without));
  chosen.device_memory = why.empty();
  if (chosen.device_memory) chosen.adapters = std::move(with);
}

}  // namespace

std::string libfabric_version() {
  return fmt::format("{}.{}", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
}

std::vector<ProviderReport> survey(const base::Settings& settings,
                                   std::span<const std::string> allowed_interfaces) {
  const Survey all(settings.rma);
  std::vector<ProviderReport> reports = report(all, allowed_interfaces);
  const std::set<std::string> names = all.with_device_memory();
  for (ProviderReport& one : reports) one.device_memory = names.contains(one.name);
  return reports;
}

ChosenProvider choose_provider(const base::Settings& settings,
                               std::span<const std::string> allowed_interfaces,
                               DeviceMemory device_memory) {
  const Survey all(settings.rma);
  const std::vector<std::string_view> names = names_asked_for(settings.provider);
  for (const std::string_view name : names) {
    const auto found = all.found().find(std::string(name));
    if (found == all.found().end()) continue;
    ChosenProvider chosen{.name = found->first,
                          .protocol = {},
                          .rma = found->second.path == Path::rma,
                          .again_means_lost = is_over_tcp(name),
                          .must_ask_for_delivery = !means_delivered(name),
                          .tells_written_length = tells_written_length(name),
                          .reopen = how_to_reopen(name),
                          .why_no_device_memory = {},
                          .adapters = {}};
    std::vector<Candidate> usable = candidates(found->second, allowed_interfaces);
    if (usable.empty()) continue;
    std::vector<Adapter> adapters;
    for (const Candidate& candidate : usable) adapters.push_back(candidate.adapter);
    for (const std::size_t rail : choose_rails(settings.rails, adapters)) {
      const std::uint32_t protocol = usable[rail].info->ep_attr->protocol;
      chosen.protocol = text_of(&protocol, FI_TYPE_PROTOCOL);
      chosen.adapters.push_back(
          {adapters[rail], Info(fi_dupinfo(usable[rail].info)), longest_send(*usable[rail].info)});
    }
    if (device_memory == DeviceMemory::wanted)
      ask_for_device_memory(chosen, found->second.path, allowed_interfaces);
    return chosen;
  }
  std::string missing;
  for (const std::string_view name : names)
    if (!all.found().contains(std::string(name)))
      missing += fmt::format("{}{}", missing.empty() ? "; libfabric shows no " : ", ", name);
  if (!missing.empty()) missing += " (not built in, or without a device here)";
  base::fail(heddleInvalidArgument,
             "HEDDLE_PROVIDER={}: no such provider is usable here{}. libfabric {} offers: {}",
             settings.provider, missing, libfabric_version(),
             as_list(report(all, allowed_interfaces)));
}

}  // namespace heddle::transport::fabric
