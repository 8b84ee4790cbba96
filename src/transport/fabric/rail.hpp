// One rail: an adapter's fabric, domain, endpoint, address vector and completion queue, and the
// buffers that wait for messages. Knows libfabric and requests, not connections.
//
// Thread rule: under the lock of Core, like every verb.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "transport/fabric/provider.hpp"
#include "transport/fabric/request.hpp"

namespace heddle::transport::fabric {

using EventQueue = FabricOwner<fid_eq>;

enum class Access { send, receive, remote_write };

class Rail {
 public:
  // `message_bytes`: the longest message that its bounce buffers must hold, header included.
  Rail(const ChosenAdapter& chosen, int index, std::size_t message_bytes);
  Rail(const Rail&) = delete;

  const Adapter& adapter() const { return adapter_; }
  std::span<const std::uint8_t> address() const { return address_; }
  std::size_t max_message_bytes() const { return info_->ep_attr->max_msg_size; }
  bool needs_local_registration() const { return (mr_mode() & FI_MR_LOCAL) != 0; }
  bool uses_virtual_addresses() const { return (mr_mode() & FI_MR_VIRT_ADDR) != 0; }

  fi_addr_t insert(std::span<const std::uint8_t> address);
  MemoryRegion register_memory(std::byte* data, std::size_t bytes, Access access);

  enum class Posted { started, done, again };
  // Hands the request over. done: no completion will come. Throws when libfabric refuses it.
  Posted post(Request& request);

  // Completions, at most entries.size(). An error completion makes it return early; read_error.
  enum class Polled { fine, error };
  Polled poll(std::span<fi_cq_data_entry> entries, std::size_t& count);
  struct Failure {
    Request* request;  // null when libfabric does not say
    int code;          // FI_ECANCELED, ...
    std::string text;
  };
  // False when there is none after all.
  bool read_error(Failure& failure);
  // Logs errors that belong to no operation.
  void read_events();

  // Connections that may hold so many buffers at once come and go; never fewer than the posted
  // ones remain for the others.
  void reserve_bounce_buffers(std::size_t count);
  void unreserve_bounce_buffers(std::size_t count) { reserved_ -= count; }
  // A buffer taken from a completion goes back.
  void return_bounce_buffer(Request& request);
  // Posts waiting buffers up to the number that should wait.
  void replenish();
  void bounce_buffer_taken() { --posted_; }
  // Its completion will say FI_ECANCELED, unless the receive was faster.
  void cancel(Request& request) { fi_cancel(&endpoint_->fid, &request.context); }

  // First step of the end: nothing is under way any more afterwards.
  void close_endpoint() { endpoint_.reset(); }

 private:
  int mr_mode() const { return info_->domain_attr->mr_mode; }
  void open();
  void add_bounce_buffers(std::size_t count);
  long post_verb(Request& request, bool& injected);

  // In the order of opening; destroyed in the reverse order.
  Info info_;
  Adapter adapter_;
  std::string provider_;
  int index_;
  Fabric fabric_;
  EventQueue events_;
  Domain domain_;
  AddressVector peers_;
  CompletionQueue completions_;
  std::uint64_t next_key_ = 1;

  struct BounceBlock {
    base::MappedMemory memory;
    MemoryRegion region;
    std::vector<Request> requests;
  };
  std::vector<BounceBlock> bounce_;
  std::vector<Request*> spare_;
  std::size_t bounce_bytes_;  // of one buffer's message
  std::size_t posted_ = 0;
  std::size_t target_;  // buffers that should be posted
  std::size_t total_ = 0;
  std::size_t reserved_ = 0;
  Endpoint endpoint_;
  std::vector<std::uint8_t> address_;
};

// Memory of ours that all rails know: slots, send rings, control buffers.
class Area {
 public:
  Area() = default;
  Area(std::span<const std::unique_ptr<Rail>> rails, std::size_t bytes, Access access);

  std::byte* data() const { return memory_.data(); }
  void* desc(int rail) const { return regions_.empty() ? nullptr : fi_mr_desc(region(rail)); }
  std::uint64_t key(int rail) const { return fi_mr_key(region(rail)); }
  // What a peer writes to in order to reach `at`.
  std::uint64_t remote_address(const std::byte* at) const {
    return virtual_addresses_ ? reinterpret_cast<std::uint64_t>(at)
                              : static_cast<std::uint64_t>(at - memory_.data());
  }

 private:
  fid_mr* region(int rail) const { return regions_[static_cast<std::size_t>(rail)].get(); }

  base::MappedMemory memory_;
  std::vector<MemoryRegion> regions_;  // after the memory: closed before it is unmapped
  bool virtual_addresses_ = false;
};

base::MappedMemory map_memory(std::size_t bytes);

}  // namespace heddle::transport::fabric
