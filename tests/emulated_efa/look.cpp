#include "look.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "address.hpp"

namespace emulated_efa {

namespace {

constexpr std::uint64_t kModifiers =
    FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE | FI_LOCAL_COMM | FI_REMOTE_COMM;

// Sends of efa-direct are one packet; 8760 is the MTU that p5 reports.
constexpr std::size_t kMtu = 8760;

constexpr Limits kEfa = {
    .caps = FI_MSG | FI_TAGGED | FI_RMA | FI_SOURCE | FI_DIRECTED_RECV | kModifiers,
    .mode = 0,
    .max_message = SIZE_MAX,
    .max_write = SIZE_MAX,
    .inject = 4096,
    .inject_write = 4096,
    .tx = 4096,
    .rx = 8192,
    .iov = 4,
    .null_context_is_silent = false,
};
constexpr Limits kEfaDirect = {
    .caps = FI_MSG | FI_RMA | FI_SOURCE | kModifiers,
    .mode = FI_CONTEXT2,
    .max_message = kMtu,
    .max_write = std::size_t{1} << 30,
    .inject = 32,
    .inject_write = 0,
    .tx = 4096,
    .rx = 8192,
    .iov = 2,
    .null_context_is_silent = true,
};

struct Place {
  std::uint8_t bus, device;
};
constexpr std::array<Place, 4> kP4d = {{{16, 27}, {32, 27}, {144, 27}, {160, 27}}};
constexpr std::array<std::uint8_t, 32> kP5Buses = {
    79,  80,  81,  82,  96,  97,  98,  99,  113, 114, 115, 116, 130, 131, 132, 133,
    147, 148, 149, 150, 164, 165, 166, 167, 181, 182, 183, 184, 198, 199, 200, 201};

bool looks_like_p4d(int adapters) { return adapters <= static_cast<int>(kP4d.size()); }

Place place_of(int adapter, int adapters) {
  const auto index = static_cast<std::size_t>(adapter);
  return looks_like_p4d(adapters) ? kP4d[index] : Place{kP5Buses[index], 0};
}

char* copy(const std::string& text) { return strdup(text.c_str()); }

// libfabric frees an info's nic through these two.
int close_nic(fid* object) {
  auto* nic = reinterpret_cast<fid_nic*>(object);
  if (fi_device_attr* device = nic->device_attr) {
    for (char* text : {device->name, device->device_id, device->device_version, device->vendor_id,
                       device->driver, device->firmware})
      std::free(text);
    delete device;
  }
  if (fi_link_attr* link = nic->link_attr) {
    std::free(link->address);
    std::free(link->network_type);
    delete link;
  }
  delete nic->bus_attr;
  delete nic;
  return 0;
}

int control_nic(fid* object, int command, void* argument);

// fi_tostr hands over the start of the whole text and its room.
int text_of_nic(const fid* object, char* text, std::size_t room) {
  const auto* nic = reinterpret_cast<const fid_nic*>(object);
  const std::size_t used = strnlen(text, room);
  const fi_pci_attr& pci = nic->bus_attr->attr.pci;
  const std::string more = fmt::format(
      "nic:\n    fi_device_attr:\n        name: {}\n        device_id: {}\n        vendor_id: {}\n"
      "        driver: {}\n        firmware: {}\n    fi_bus_attr:\n        pci: "
      "{:04x}:{:02x}:{:02x}.{:x}\n    fi_link_attr:\n        address: {}\n        mtu: {}\n"
      "        speed: {}\n        network_type: {}\n",
      nic->device_attr->name, nic->device_attr->device_id, nic->device_attr->vendor_id,
      nic->device_attr->driver, nic->device_attr->firmware, pci.domain_id, pci.bus_id,
      pci.device_id, pci.function_id, nic->link_attr->address, nic->link_attr->mtu,
      nic->link_attr->speed, nic->link_attr->network_type);
  std::snprintf(text + used, room - used, "%s", more.c_str());
  return 0;
}

fi_ops nic_operations = {.size = sizeof(fi_ops),
                         .close = close_nic,
                         .bind = nullptr,
                         .control = control_nic,
                         .ops_open = nullptr,
                         .tostr = text_of_nic,
                         .ops_set = nullptr};

fid_nic* new_nic() {
  auto* nic = new fid_nic{};
  nic->fid.fclass = FI_CLASS_NIC;
  nic->fid.ops = &nic_operations;
  nic->device_attr = new fi_device_attr{};
  nic->bus_attr = new fi_bus_attr{};
  nic->link_attr = new fi_link_attr{};
  return nic;
}

char* copy(const char* text) { return text == nullptr ? nullptr : strdup(text); }

int control_nic(fid* object, int command, void* argument) {
  if (command != FI_DUP) return -FI_ENOSYS;
  const auto* from = reinterpret_cast<const fid_nic*>(object);
  fid_nic* to = new_nic();
  const fi_device_attr& device = *from->device_attr;
  *to->device_attr = {copy(device.name),      copy(device.device_id), copy(device.device_version),
                      copy(device.vendor_id), copy(device.driver),    copy(device.firmware)};
  *to->bus_attr = *from->bus_attr;
  *to->link_attr = *from->link_attr;
  to->link_attr->address = copy(from->link_attr->address);
  to->link_attr->network_type = copy(from->link_attr->network_type);
  *static_cast<fid_nic**>(argument) = to;
  return 0;
}

fid_nic* describe_nic(int adapter, int adapters, const EfaAddress& address) {
  fid_nic* nic = new_nic();
  *nic->device_attr = {copy(device_name(adapter, adapters)),
                       copy(looks_like_p4d(adapters) ? "0xefa0" : "0xefa1"),
                       copy("emulated"),
                       copy("emulated"),
                       copy("emulated"),
                       copy("emulated")};
  const Place place = place_of(adapter, adapters);
  nic->bus_attr->bus_type = FI_BUS_PCI;
  nic->bus_attr->attr.pci = {0, place.bus, place.device, 0};
  nic->link_attr->address = copy("EFA-" + gid_text(address));
  nic->link_attr->mtu = kMtu;
  nic->link_attr->speed = 100'000'000'000;
  nic->link_attr->state = FI_LINK_UP;
  nic->link_attr->network_type = copy("Ethernet");
  return nic;
}

void describe_endpoint(fi_info& info, const Limits& limits) {
  info.ep_attr->type = FI_EP_RDM;
  info.ep_attr->protocol = FI_PROTO_EFA;
  info.ep_attr->protocol_version = 4;
  info.ep_attr->max_msg_size = std::max(limits.max_message, limits.max_write);
  info.ep_attr->mem_tag_format = ~std::uint64_t{0};
  info.ep_attr->tx_ctx_cnt = info.ep_attr->rx_ctx_cnt = 1;
  fi_tx_attr& tx = *info.tx_attr;
  tx.caps = limits.caps & ~(FI_RECV | FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_SOURCE);
  tx.mode = limits.mode;
  tx.op_flags = FI_TRANSMIT_COMPLETE;
  tx.inject_size = limits.inject;
  tx.size = limits.tx;
  tx.iov_limit = limits.iov;
  tx.rma_iov_limit = 1;
  fi_rx_attr& rx = *info.rx_attr;
  rx.caps = limits.caps & ~(FI_SEND | FI_WRITE);
  rx.mode = limits.mode;
  rx.size = limits.rx;
  rx.iov_limit = limits.iov;
}

void describe_domain(fi_domain_attr& domain) {
  domain.threading = FI_THREAD_SAFE;
  domain.control_progress = FI_PROGRESS_AUTO;
  domain.data_progress = FI_PROGRESS_MANUAL;
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = FI_AV_UNSPEC;
  domain.mr_mode = kMrMode;
  domain.mr_key_size = kKeyBytes;
  domain.cq_data_size = kImmediateBytes;
  domain.cq_cnt = 512;
  domain.ep_cnt = 256;
  domain.tx_ctx_cnt = domain.rx_ctx_cnt = 256;
  domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
  domain.mr_iov_limit = 1;
  domain.mr_cnt = 262144;
  domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
  domain.max_err_data = 128;
}

bool names_another(const char* wanted, const char* ours) {
  return wanted != nullptr && std::strcmp(wanted, ours) != 0;
}

bool domain_meets(const fi_domain_attr& domain, const fi_domain_attr* wanted) {
  if (wanted == nullptr) return true;
  return !names_another(wanted->name, domain.name) && (domain.mr_mode & ~wanted->mr_mode) == 0 &&
         wanted->cq_data_size <= domain.cq_data_size && wanted->mr_key_size <= domain.mr_key_size;
}

bool transmit_meets(const fi_tx_attr& tx, const fi_tx_attr* wanted) {
  if (wanted == nullptr) return true;
  return (wanted->caps & ~tx.caps) == 0 && wanted->msg_order == 0 &&
         wanted->inject_size <= tx.inject_size && wanted->size <= tx.size &&
         wanted->iov_limit <= tx.iov_limit && wanted->rma_iov_limit <= tx.rma_iov_limit;
}

bool receive_meets(const fi_rx_attr& rx, const fi_rx_attr* wanted) {
  if (wanted == nullptr) return true;
  return (wanted->caps & ~rx.caps) == 0 && wanted->msg_order == 0 && wanted->size <= rx.size &&
         wanted->iov_limit <= rx.iov_limit;
}

bool endpoint_meets(const fi_ep_attr& endpoint, const fi_ep_attr* wanted) {
  if (wanted == nullptr) return true;
  return (wanted->type == FI_EP_UNSPEC || wanted->type == FI_EP_RDM) &&
         (wanted->protocol == FI_PROTO_UNSPEC || wanted->protocol == endpoint.protocol) &&
         wanted->max_msg_size <= endpoint.max_msg_size;
}

// The primary capabilities asked for, and the modifiers that go with them.
void narrow(fi_info& info, std::uint64_t wanted) {
  if (wanted == 0) return;
  std::uint64_t dropped = FI_MSG | FI_TAGGED | FI_RMA | FI_SOURCE | FI_DIRECTED_RECV;
  if ((wanted & FI_RMA) == 0) dropped |= FI_WRITE | FI_REMOTE_WRITE;
  dropped &= ~wanted;
  info.caps &= ~dropped;
  info.tx_attr->caps &= ~dropped;
  info.rx_attr->caps &= ~dropped;
}

}  // namespace

const Limits& limits_of(std::string_view fabric) {
  return fabric == "efa-direct" ? kEfaDirect : kEfa;
}

std::string device_name(int adapter, int adapters) {
  const Place place = place_of(adapter, adapters);
  return fmt::format("rdmap{}s{}", place.bus, place.device);
}

int adapter_of(const char* domain_name, int adapters) {
  for (int i = 0; domain_name != nullptr && i < adapters; ++i)
    if (device_name(i, adapters) + "-rdm" == domain_name) return i;
  return -1;
}

Info describe(int adapter, int adapters, const std::string& fabric,
              const unsigned char (&gid)[16]) {
  const Limits& limits = limits_of(fabric);
  Info info(fi_allocinfo());
  if (info == nullptr) return nullptr;
  EfaAddress address{};
  std::memcpy(address.gid, gid, sizeof gid);
  info->caps = limits.caps;
  info->mode = limits.mode;
  info->addr_format = FI_ADDR_EFA;
  info->src_addrlen = sizeof address;
  info->src_addr = std::malloc(sizeof address);
  std::memcpy(info->src_addr, &address, sizeof address);
  describe_endpoint(*info, limits);
  describe_domain(*info->domain_attr);
  info->domain_attr->name = copy(device_name(adapter, adapters) + "-rdm");
  info->fabric_attr->name = copy(fabric);
  info->nic = describe_nic(adapter, adapters, address);
  return info;
}

bool meets(fi_info& info, const fi_info* hints, bool hmem) {
  if (hints == nullptr) return true;
  if (hmem && (hints->caps & FI_HMEM) != 0) {
    for (std::uint64_t* caps : {&info.caps, &info.tx_attr->caps, &info.rx_attr->caps})
      *caps |= FI_HMEM;
    info.domain_attr->mr_mode |= FI_MR_HMEM;
  }
  if ((hints->caps & ~info.caps) != 0 || (info.mode & ~hints->mode) != 0) return false;
  if (hints->addr_format != FI_FORMAT_UNSPEC && hints->addr_format != FI_ADDR_EFA) return false;
  if (hints->fabric_attr != nullptr &&
      names_another(hints->fabric_attr->name, info.fabric_attr->name))
    return false;
  if (!domain_meets(*info.domain_attr, hints->domain_attr) ||
      !transmit_meets(*info.tx_attr, hints->tx_attr) ||
      !receive_meets(*info.rx_attr, hints->rx_attr) ||
      !endpoint_meets(*info.ep_attr, hints->ep_attr))
    return false;
  narrow(info, hints->caps);
  if (hints->domain_attr != nullptr) {
    // The keeper (domain.cpp) progresses without calls, if slowly, so AUTO is no lie.
    if (hints->domain_attr->data_progress != FI_PROGRESS_UNSPEC)
      info.domain_attr->data_progress = hints->domain_attr->data_progress;
    if (hints->domain_attr->threading != FI_THREAD_UNSPEC)
      info.domain_attr->threading = hints->domain_attr->threading;
    if (hints->domain_attr->av_type != FI_AV_UNSPEC)
      info.domain_attr->av_type = hints->domain_attr->av_type;
  }
  if (hints->tx_attr != nullptr) info.tx_attr->op_flags |= hints->tx_attr->op_flags;
  return true;
}

}  // namespace emulated_efa
