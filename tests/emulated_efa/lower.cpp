#include "lower.hpp"

#include <rdma/fi_cm.h>

#include <algorithm>
#include <mutex>

namespace emulated_efa {

namespace {

// libfabric's own flag for lookups by a provider above (OFI_GETINFO_HIDDEN, the same in 1.17 and
// 2.x): shows providers that FI_PROVIDER=efa hides from applications.
constexpr std::uint64_t kHiddenToo = std::uint64_t{1} << 60;

// TCP with unconnected endpoints: "net" in 1.17, "tcp" itself later.
const char* lower_provider() { return fi_version() >= FI_VERSION(1, 18) ? "tcp" : "net"; }

// Never freed before the end: fi_getinfo may be called from anywhere at any time.
const fi_info* all_lower() {
  static std::mutex mutex;
  static Info found;
  const std::lock_guard lock(mutex);
  if (found != nullptr) return found.get();
  const Info hints(fi_allocinfo());
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->addr_format = FI_SOCKADDR_IN;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->fabric_attr->prov_name = strdup(lower_provider());
  fi_info* list = nullptr;
  const std::uint32_t version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
  if (fi_getinfo(version, nullptr, nullptr, kHiddenToo, hints.get(), &list) == 0) found.reset(list);
  return found.get();
}

bool is_loopback(const fi_info& info) {
  const auto& socket = *static_cast<const sockaddr_in*>(info.src_addr);
  return ntohl(socket.sin_addr.s_addr) >> 24 == 127;
}

}  // namespace

Info find_lower(const Config& config, int adapter, std::string& why_not) {
  const fi_info* loopback = nullptr;
  const std::string wanted =
      config.interfaces.empty()
          ? ""
          : config.interfaces[static_cast<std::size_t>(adapter) % config.interfaces.size()];
  for (const fi_info* info = all_lower(); info != nullptr; info = info->next) {
    // A layer over it (net;ofi_rxm) may be listed as well.
    if (std::strcmp(info->fabric_attr->prov_name, lower_provider()) != 0) continue;
    if (info->addr_format != FI_SOCKADDR_IN || info->src_addr == nullptr) continue;
    if (!wanted.empty()) {
      if (wanted == info->domain_attr->name) return Info(fi_dupinfo(info));
    } else if (!is_loopback(*info)) {
      return Info(fi_dupinfo(info));
    } else if (loopback == nullptr) {
      loopback = info;
    }
  }
  if (loopback != nullptr && wanted.empty()) return Info(fi_dupinfo(loopback));
  why_not = fmt::format("provider {} has no interface {} with an IPv4 address", lower_provider(),
                        wanted.empty() ? "at all" : wanted);
  return nullptr;
}

int LowerEndpoint::open(const fi_info& lower) {
  const Info info(fi_dupinfo(&lower));
  if (const int rc = fi_fabric(info->fabric_attr, fabric_.out(), nullptr); rc != 0) return rc;
  if (const int rc = fi_domain(fabric_.get(), info.get(), domain_.out(), nullptr); rc != 0)
    return rc;
  fi_av_attr peers{};
  peers.type = FI_AV_TABLE;
  if (const int rc = fi_av_open(domain_.get(), &peers, peers_.out(), nullptr); rc != 0) return rc;
  fi_cq_attr completions{};
  completions.size = 8192;
  completions.format = FI_CQ_FORMAT_MSG;
  completions.wait_obj = FI_WAIT_NONE;
  if (const int rc = fi_cq_open(domain_.get(), &completions, completions_.out(), nullptr); rc != 0)
    return rc;
  if (const int rc = fi_endpoint(domain_.get(), info.get(), endpoint_.out(), nullptr); rc != 0)
    return rc;
  fid_ep* endpoint = endpoint_.get();
  int rc = fi_ep_bind(endpoint, &peers_.get()->fid, 0);
  if (rc == 0) rc = fi_ep_bind(endpoint, &completions_.get()->fid, FI_TRANSMIT | FI_RECV);
  if (rc == 0) rc = fi_enable(endpoint);
  std::size_t bytes = sizeof name_;
  if (rc == 0) rc = fi_getname(&endpoint->fid, &name_, &bytes);
  return rc;
}

fi_addr_t LowerEndpoint::insert(const sockaddr_in& peer) {
  fi_addr_t inserted = FI_ADDR_NOTAVAIL;
  const int count = fi_av_insert(peers_.get(), &peer, 1, &inserted, 0, nullptr);
  return count == 1 ? inserted : FI_ADDR_NOTAVAIL;
}

bool LowerEndpoint::send(Packet& packet, std::size_t bytes, fi_addr_t to) {
  packet.incoming = false;
  return fi_send(endpoint_.get(), packet.bytes.get(), bytes, nullptr, to, &packet.context) == 0;
}

bool LowerEndpoint::receive(Packet& packet, std::size_t room) {
  packet.incoming = true;
  return fi_recv(endpoint_.get(), packet.bytes.get(), room, nullptr, FI_ADDR_UNSPEC,
                 &packet.context) == 0;
}

std::optional<LowerEndpoint::Event> LowerEndpoint::poll() {
  fi_cq_msg_entry entry{};
  const long rc = fi_cq_read(completions_.get(), &entry, 1);
  if (rc == 1) return Event{static_cast<Packet*>(entry.op_context), entry.len, false};
  if (rc != -FI_EAVAIL) return std::nullopt;
  fi_cq_err_entry failure{};
  if (fi_cq_readerr(completions_.get(), &failure, 0) != 1 || failure.op_context == nullptr)
    return std::nullopt;
  return Event{static_cast<Packet*>(failure.op_context), 0, true};
}

}  // namespace emulated_efa
