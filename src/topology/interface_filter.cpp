// The pure half of interfaces.hpp: which interfaces a filter leaves, and what a rank advertises.
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/error.hpp"
#include "base/log.hpp"
#include "topology/address_order.hpp"
#include "topology/interfaces.hpp"

namespace heddle::topology {
namespace {

struct Filter {
  bool excludes = false;
  std::vector<std::string> names;

  bool wants() const { return !excludes && !names.empty(); }
  bool names_it(const std::string& name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

std::string text_of(const std::vector<Interface>& all) {
  if (all.empty()) return "none";
  std::string text;
  for (const auto& interface : all) {
    if (!text.empty()) text += ", ";
    text += interface.name;
    if (interface.loopback)
      text += " (loopback)";
    else if (interface.bridge_like)
      text += " (bridge)";
    else if (!interface.up)
      text += " (down)";
    else if (interface.addresses.empty())
      text += " (no address)";
  }
  return text;
}

[[noreturn]] void refuse(std::string_view filter, const std::string& why,
                         const std::vector<Interface>& all) {
  base::fail(heddleInvalidArgument, "HEDDLE_IFACE={}: {}; the interfaces here are {}", filter, why,
             text_of(all));
}

Filter parse(std::string_view text, const std::vector<Interface>& all) {
  Filter filter;
  if (text.empty()) return filter;
  filter.excludes = text.front() == '^';
  std::string_view rest = filter.excludes ? text.substr(1) : text;
  for (bool more = true; more;) {
    const auto comma = rest.find(',');
    const std::string name(rest.substr(0, comma));
    if (name.empty()) refuse(text, "an interface's name between commas is empty", all);
    if (!filter.names_it(name)) filter.names.push_back(name);
    more = comma != std::string_view::npos;
    if (more) rest = rest.substr(comma + 1);
  }
  return filter;
}

std::string why_unfit(const Interface& interface) {
  if (!interface.up) return "it is down";
  if (interface.addresses.empty()) return "it has no address";
  return "";
}

bool any_used(const std::vector<JudgedInterface>& judged) {
  return std::any_of(judged.begin(), judged.end(),
                     [](const JudgedInterface& one) { return one.unused_because.empty(); });
}

std::vector<JudgedInterface> take_wanted(const std::vector<Interface>& all, std::string_view text,
                                         const Filter& filter) {
  std::vector<JudgedInterface> judged;
  for (const auto& name : filter.names) {
    const auto found = std::find_if(
        all.begin(), all.end(), [&](const Interface& interface) { return interface.name == name; });
    if (found == all.end()) refuse(text, fmt::format("there is no interface \"{}\"", name), all);
    judged.push_back({*found, why_unfit(*found)});
  }
  if (!any_used(judged)) refuse(text, "no interface it names is up with an address", all);
  std::stable_partition(judged.begin(), judged.end(),
                        [](const JudgedInterface& one) { return one.unused_because.empty(); });
  for (const auto& interface : all)
    if (!filter.names_it(interface.name))
      judged.push_back({interface, "HEDDLE_IFACE does not name it"});
  return judged;
}

std::vector<JudgedInterface> take_fit(const std::vector<Interface>& all, std::string_view text,
                                      const Filter& filter) {
  std::vector<JudgedInterface> judged;
  for (const auto& interface : all) {
    std::string why = why_unfit(interface);
    if (why.empty() && interface.loopback) why = "it is loopback";
    if (why.empty() && interface.bridge_like)
      why = "it is of containers, virtual machines or a bridge";
    judged.push_back({interface, why});
  }
  if (!any_used(judged)) {
    for (auto& one : judged)
      if (one.interface.loopback) one.unused_because = why_unfit(one.interface);
  }
  // Exclusion comes after the fallback: a filter never turns a job from its network to loopback.
  const bool had_any = any_used(judged);
  for (auto& one : judged)
    if (filter.names_it(one.interface.name)) one.unused_because = "HEDDLE_IFACE excludes it";
  if (had_any && !any_used(judged)) refuse(text, "it excludes every usable interface", all);
  return judged;
}

// Fast before slow, then by PCI address (those without one last), then by name (eth9 before eth10).
bool default_order(const JudgedInterface& a, const JudgedInterface& b) {
  const auto key = [](const JudgedInterface& one) {
    const Interface& interface = one.interface;
    return std::make_tuple(!one.unused_because.empty(), -interface.speed_mbit,
                           interface.pci.empty(), interface.pci.size(),
                           std::string_view(interface.pci));
  };
  const auto key_a = key(a);
  const auto key_b = key(b);
  if (key_a != key_b) return key_a < key_b;
  return strverscmp(a.interface.name.c_str(), b.interface.name.c_str()) < 0;
}

int address_class(const Address& address) {
  if (address.storage.ss_family == AF_INET) {
    sockaddr_in ip4{};
    std::memcpy(&ip4, &address.storage, sizeof ip4);
    return ntohl(ip4.sin_addr.s_addr) >> 16 == 0xa9fe ? 2 : 0;  // 169.254.0.0/16
  }
  sockaddr_in6 ip6{};
  std::memcpy(&ip6, &address.storage, sizeof ip6);
  return IN6_IS_ADDR_LINKLOCAL(&ip6.sin6_addr) ? 3 : 1;
}

}  // namespace

bool comes_first(const Address& a, const Address& b) { return address_class(a) < address_class(b); }

std::vector<JudgedInterface> judge_interfaces(const std::vector<Interface>& all,
                                              std::string_view text) {
  const Filter filter = parse(text, all);
  if (filter.wants()) return take_wanted(all, text, filter);
  auto judged = take_fit(all, text, filter);
  std::stable_sort(judged.begin(), judged.end(), default_order);
  return judged;
}

std::vector<Interface> usable_interfaces(const base::Settings& settings) {
  const auto all = interfaces();
  const Filter filter = parse(settings.iface, all);
  std::vector<Interface> used;
  for (auto& one : judge_interfaces(all, settings.iface)) {
    if (one.unused_because.empty())
      used.push_back(std::move(one.interface));
    else if (filter.wants() && filter.names_it(one.interface.name))
      base::log_warn("HEDDLE_IFACE names {}, which is not used: {}", one.interface.name,
                     one.unused_because);
  }
  return used;
}

std::vector<std::string> usable_interface_names(const base::Settings& settings) {
  std::vector<std::string> names;
  for (const auto& interface : usable_interfaces(settings)) names.push_back(interface.name);
  return names;
}

std::vector<Address> advertised_addresses(const std::vector<Interface>& used) {
  std::vector<Address> addresses;
  for (const auto& interface : used)
    addresses.insert(addresses.end(), interface.addresses.begin(), interface.addresses.end());
  std::stable_sort(addresses.begin(), addresses.end(), comes_first);
  return addresses;
}

std::vector<std::string> bootstrap_addresses(const base::Settings& settings, std::uint16_t port) {
  std::vector<std::string> texts;
  for (const auto& address : advertised_addresses(usable_interfaces(settings)))
    texts.push_back(address.storage.ss_family == AF_INET6
                        ? fmt::format("[{}]:{}", address.text, port)
                        : fmt::format("{}:{}", address.text, port));
  if (texts.empty())
    base::fail(heddleSystemError,
               "no network interface is up with an address, not even loopback (ip link set lo up)");
  return texts;
}

}  // namespace heddle::topology
