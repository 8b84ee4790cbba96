// One rail: an adapter's fabric, domain, endpoint, address vector and completion queue, and the
// buffers that wait for messages. Knows libfabric and requests, not connections.
//
// Thread rule: under the lock of Core, like every verb.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "transport/fabric/memory_region.hpp"
#include "transport/fabric/provider.hpp"
#include "transport/fabric/request.hpp"

namespace heddle::transport::fabric {

using EventQueue = FabricOwner<fid_eq>;

struct RailOptions {
  std::size_t message_bytes;  // that its bounce buffers must hold at least, header included
  // Completions of sends and writes must be told to mean that the target has them; then nothing is
  // injected, because injected messages give no completion at all.
  bool ask_for_delivery = false;
  bool renews_domain = false;  // when it is reopened
};

class Rail {
 public:
  Rail(const ChosenAdapter& chosen, int index, const RailOptions& options);
  Rail(const Rail&) = delete;

  const Adapter& adapter() const { return adapter_; }
  // Of the endpoint that is open, or of the last one.
  std::span<const std::uint8_t> address() const { return address_; }
  // How many endpoints there have been before this one: each has an address of its own.
  std::uint32_t generation() const { return generation_; }
  bool is_open() const { return static_cast<bool>(endpoint_); }
  std::size_t max_message_bytes() const { return info_->ep_attr->max_msg_size; }
  bool needs_local_registration() const { return (mr_mode() & FI_MR_LOCAL) != 0; }
  // Whether a write may take Request::length.
  bool writes_length() const {
    return !needs_local_registration() && info_->tx_attr->iov_limit >= 2;
  }
  // How often memory was registered, by whomever.
  std::uint64_t registrations_made() const { return registrations_made_; }
  bool uses_virtual_addresses() const { return (mr_mode() & FI_MR_VIRT_ADDR) != 0; }
  // Whether memory of devices can be registered.
  bool takes_device_memory() const { return (info_->caps & FI_HMEM) != 0; }

  // Whether an address is of the kind of ours. What others give is asked about before insert: one
  // of another family can spoil an address vector for good (net of libfabric 1.17).
  bool is_like_ours(std::span<const std::uint8_t> address) const;
  fi_addr_t insert(std::span<const std::uint8_t> address);
  // A dmabuf of `owner` stays the caller's, who may close it. Fails with heddleInvalidArgument for
  // memory that this rail cannot take by how it was opened, with heddleSystemError when the
  // provider refuses it. Memory of devices is never injected: nothing would tell whose it is.
  MemoryRegion register_memory(std::byte* data, std::size_t bytes, Access access,
                               const MemoryOwner& owner = {});

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
  void bounce_buffer_taken(Request& request) {
    request.under_way = false;
    --posted_;
  }
  // Its completion will say FI_ECANCELED, unless the receive was faster.
  void cancel(Request& request) { fi_cancel(&endpoint_->fid, &request.context); }

  // First step of the end: nothing is under way any more afterwards.
  void close_endpoint() { endpoint_.reset(); }
  // Whether what arrived before close_endpoint may still be polled.
  bool may_poll_closed() const { return !renews_domain_; }
  // Second step of a new beginning. Requests that no completion told of are the caller's; bounce
  // buffers that waited for messages are ready again.
  void close_completions();
  // A new endpoint; registrations and their keys stay. Where may_poll_closed() is false, addresses
  // must be inserted again. Throws, and stays closed, when libfabric refuses (an adapter that is
  // down has no address to listen on).
  void reopen();

 private:
  int mr_mode() const { return info_->domain_attr->mr_mode; }
  struct BounceBlock {
    base::MappedMemory memory;
    MemoryRegion region;
    std::vector<Request> requests;
  };

  void open();
  void open_endpoint();
  void close_all();
  void check_owner(std::size_t bytes, const MemoryOwner& owner) const;
  RegionOwner register_now(const Registration& what, std::uint64_t& key);
  void add_bounce_buffers(std::size_t count);
  void describe(BounceBlock& block);
  long post_verb(Request& request, bool& injected);
  long post_confirmed(Request& request);
  long post_write(Request& request, std::uint64_t flags);

  // In the order of opening; destroyed in the reverse order.
  Info info_;
  Adapter adapter_;
  std::string provider_;
  int index_;
  bool ask_for_delivery_;
  bool renews_domain_;
  std::uint32_t generation_ = 0;
  Fabric fabric_;
  EventQueue events_;
  Domain domain_;
  Registrations registrations_;
  std::uint64_t registrations_made_ = 0;
  AddressVector peers_;
  CompletionQueue completions_;
  std::uint64_t next_key_ = 1;

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
  // One region a rail; null when no rail needs to know the memory. Stays where it is when the area
  // moves.
  const Regions* regions() const { return regions_.get(); }
  std::uint64_t key(int rail) const { return (*regions_)[static_cast<std::size_t>(rail)].key(); }
  // What a peer writes to in order to reach `at`.
  std::uint64_t remote_address(const std::byte* at) const {
    return virtual_addresses_ ? reinterpret_cast<std::uint64_t>(at)
                              : static_cast<std::uint64_t>(at - memory_.data());
  }

 private:
  base::MappedMemory memory_;
  std::unique_ptr<Regions> regions_;  // after the memory: closed before it is unmapped
  bool virtual_addresses_ = false;
};

base::MappedMemory map_memory(std::size_t bytes);

}  // namespace heddle::transport::fabric
