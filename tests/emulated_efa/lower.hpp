// The provider underneath: an unconnected endpoint of libfabric's own TCP, which carries packets
// and nothing else. Under the lock of the emulated domain.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <optional>
#include <span>
#include <utility>

#include "look.hpp"
#include "packet.hpp"

namespace emulated_efa {

template <typename T>
class Owner {
 public:
  Owner() = default;
  explicit Owner(T* object) : object_(object) {}
  Owner(Owner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owner() {
    if (object_ != nullptr) fi_close(&object_->fid);
  }
  T* get() const { return object_; }
  T** out() { return &object_; }

 private:
  T* object_ = nullptr;
};

// The interface for an adapter: HEDDLE_EMULATED_EFA_IFACE's, else the first that is not loopback,
// else loopback. Null, and why, when there is none. Calls fi_getinfo, so never from fi_prov_ini.
Info find_lower(const Config& config, int adapter, std::string& why_not);

class LowerEndpoint {
 public:
  // 0 or a negative fi_errno.
  int open(const fi_info& lower);

  sockaddr_in name() const { return name_; }
  // FI_ADDR_NOTAVAIL when it is refused.
  fi_addr_t insert(const sockaddr_in& peer);
  // True when the packet was taken; it comes back by poll.
  bool send(Packet& packet, std::size_t bytes, fi_addr_t to);
  bool receive(Packet& packet, std::size_t room);

  struct Event {
    Packet* packet;
    std::size_t bytes;
    bool failed;
  };
  // The next packet that came or has left.
  std::optional<Event> poll();

 private:
  Owner<fid_fabric> fabric_;
  Owner<fid_domain> domain_;
  Owner<fid_av> peers_;
  Owner<fid_cq> completions_;
  Owner<fid_ep> endpoint_;  // last: closed first
  sockaddr_in name_{};
};

}  // namespace emulated_efa
