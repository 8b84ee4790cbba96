#include "transport/fabric/rail.hpp"

#include <fcntl.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>

namespace heddle::transport::fabric {

namespace {

// Payloads behind a 24-byte header start on a cache line.
constexpr std::size_t kLine = 64;
constexpr std::size_t kHeaderBytes = 24;
constexpr std::size_t kHeaderAt = kLine - kHeaderBytes;

// Immediates that may wait beyond what the endpoint's own queues bound; an overrun is fatal.
constexpr std::size_t kSpareCompletions = 8192;
constexpr std::size_t kBounceBuffersPosted = 128;

std::uint64_t access_flags(Access access) {
  switch (access) {
    case Access::send: return FI_SEND | FI_WRITE;
    case Access::receive: return FI_RECV;
    case Access::remote_write: return FI_REMOTE_WRITE | FI_RECV;
    case Access::both: return FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE;
  }
  return 0;
}

// Registered memory is locked; most refusals come from the limit on that.
std::string locked_memory_advice() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY)
    return "locked memory is not limited (ulimit -l), so memory itself may be short";
  return fmt::format(
      "this process may lock {} KiB (ulimit -l); raise that with \"ulimit -l unlimited\", memlock "
      "in /etc/security/limits.conf, LimitMEMLOCK=infinity of the service, or --ulimit memlock=-1 "
      "of the container",
      limit.rlim_cur / 1024);
}

}  // namespace

base::MappedMemory map_memory(std::size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) base::fail_errno(errno, fmt::format("mmap of {} bytes", bytes));
  return {address, bytes};
}

Rail::Rail(const ChosenAdapter& chosen, int index, const RailOptions& options)
    : info_(fi_dupinfo(chosen.info.get())),
      adapter_(chosen.adapter),
      provider_(info_->fabric_attr->prov_name),
      index_(index),
      ask_for_delivery_(options.ask_for_delivery),
      renews_domain_(options.renews_domain),
      bounce_bytes_(options.message_bytes),
      target_(std::min<std::size_t>(kBounceBuffersPosted, info_->rx_attr->size)) {
  open();
  open_endpoint();
  reserve_bounce_buffers(0);
  replenish();
}

void Rail::open() {
  fid_fabric* fabric = nullptr;
  check_fabric(fi_fabric(info_->fabric_attr, &fabric, nullptr), "fi_fabric", provider_);
  fabric_ = Fabric(fabric);

  fi_eq_attr event_attributes{};
  event_attributes.wait_obj = FI_WAIT_NONE;
  fid_eq* events = nullptr;
  check_fabric(fi_eq_open(fabric, &event_attributes, &events, nullptr), "fi_eq_open", provider_);
  events_ = EventQueue(events);

  fid_domain* domain = nullptr;
  check_fabric(fi_domain(fabric, info_.get(), &domain, nullptr), "fi_domain", provider_);
  domain_ = Domain(domain);

  fi_av_attr peer_attributes{};
  peer_attributes.type = FI_AV_TABLE;
  fid_av* peers = nullptr;
  check_fabric(fi_av_open(domain, &peer_attributes, &peers, nullptr), "fi_av_open", provider_);
  peers_ = AddressVector(peers);
}

void Rail::open_endpoint() {
  fi_cq_attr completion_attributes{};
  completion_attributes.size = info_->tx_attr->size + info_->rx_attr->size + kSpareCompletions;
  completion_attributes.format = FI_CQ_FORMAT_DATA;
  completion_attributes.wait_obj = FI_WAIT_NONE;
  fid_cq* completions = nullptr;
  check_fabric(fi_cq_open(domain_.get(), &completion_attributes, &completions, nullptr),
               "fi_cq_open", provider_);
  CompletionQueue queue(completions);

  fid_ep* endpoint = nullptr;
  check_fabric(fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr), "fi_endpoint",
               provider_);
  Endpoint owner(endpoint);
  check_fabric(fi_ep_bind(endpoint, &peers_->fid, 0), "fi_ep_bind(address vector)", provider_);
  check_fabric(fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV),
               "fi_ep_bind(completion queue)", provider_);
  // Some providers end the process over an error that belongs to no operation when they have no
  // event queue to put it in; others take none for this kind of endpoint.
  if (events_) {
    if (const int rc = fi_ep_bind(endpoint, &events_->fid, 0); rc != 0) {
      base::log_debug("NET/OFI {} takes no event queue: {}", provider_, fabric_error_text(rc));
      events_.reset();
    }
  }
  if (takes_device_memory())
    check_fabric(forbid_device_calls(endpoint), "fi_setopt(no calls of the devices' library)",
                 provider_);
  check_fabric(fi_enable(endpoint), "fi_enable", provider_);

  std::size_t bytes = 256;
  address_.resize(bytes);
  check_fabric(fi_getname(&endpoint->fid, address_.data(), &bytes), "fi_getname", provider_);
  address_.resize(bytes);
  completions_ = std::move(queue);
  endpoint_ = std::move(owner);
}

void Rail::close_completions() {
  completions_.reset();
  ++generation_;
  posted_ = 0;
  for (BounceBlock& block : bounce_)
    for (Request& request : block.requests)
      if (std::exchange(request.under_way, false)) spare_.push_back(&request);
  if (renews_domain_) close_all();
}

void Rail::close_all() {
  for (Registration& one : registrations_) one.region.reset();
  peers_.reset();
  domain_.reset();
  events_.reset();
  fabric_.reset();
}

void Rail::reopen() {
  try {
    if (renews_domain_) {
      open();
      for (Registration& one : registrations_) one.region = register_now(one, one.key);
      for (BounceBlock& block : bounce_) describe(block);
    }
    open_endpoint();
  } catch (const base::Error&) {
    if (renews_domain_) close_all();
    throw;
  }
  replenish();
}

bool Rail::is_like_ours(std::span<const std::uint8_t> address) const {
  if (address.size() != address_.size()) return false;
  const auto format = info_->addr_format;
  if (format != FI_SOCKADDR && format != FI_SOCKADDR_IN && format != FI_SOCKADDR_IN6) return true;
  sa_family_t family;
  return address.size() >= sizeof family &&
         std::equal(address.begin(), address.begin() + sizeof family, address_.begin());
}

fi_addr_t Rail::insert(std::span<const std::uint8_t> address) {
  HEDDLE_ASSERT(address.size() == address_.size(), "{} against {} bytes", address.size(),
                address_.size());
  fi_addr_t inserted = FI_ADDR_NOTAVAIL;
  const int count = fi_av_insert(peers_.get(), address.data(), 1, &inserted, 0, nullptr);
  check_fabric(count, "fi_av_insert", provider_);
  if (count != 1 || inserted == FI_ADDR_NOTAVAIL)
    base::fail(heddleSystemError, "fi_av_insert on provider {} refused a peer's address",
               provider_);
  return inserted;
}

void Rail::check_owner(std::size_t bytes, const MemoryOwner& owner) const {
  if (owner.is_host()) return;
  if (!takes_device_memory())
    base::fail(heddleInvalidArgument,
               "adapter {} (provider {}) cannot register {} bytes of {}: it was opened for the "
               "host's memory only (without FI_HMEM)",
               adapter_.name, provider_, bytes, text_of(owner));
  if (owner.dmabuf >= 0 && !knows_dmabuf())
    base::fail(heddleInvalidArgument,
               "adapter {} (provider {}) cannot register {} bytes of {}: dmabuf needs libfabric "
               "1.20, here is {} and heddle was built with {}.{}",
               adapter_.name, provider_, bytes, text_of(owner), libfabric_version(),
               FI_MAJOR_VERSION, FI_MINOR_VERSION);
}

MemoryRegion Rail::register_memory(std::byte* data, std::size_t bytes, Access access,
                                   const MemoryOwner& owner) {
  check_owner(bytes, owner);
  // Where the provider does not assign keys, two regions must not ask for the same one.
  const std::uint64_t key = (mr_mode() & FI_MR_PROV_KEY) != 0 ? 0 : next_key_++;
  Registration made{data, bytes, access, key, owner, {}, {}};
  if (owner.dmabuf >= 0 && renews_domain_) {
    made.dmabuf = base::UniqueFd(fcntl(owner.dmabuf, F_DUPFD_CLOEXEC, 0));
    if (!made.dmabuf) base::fail_errno(errno, fmt::format("dup of dmabuf {}", owner.dmabuf));
    made.owner.dmabuf = made.dmabuf.get();
  }
  if (domain_) made.region = register_now(made, made.key);
  registrations_.push_front(std::move(made));
  ++registrations_made_;
  return {registrations_, registrations_.begin()};
}

RegionOwner Rail::register_now(const Registration& what, std::uint64_t& key) {
  fid_mr* region = nullptr;
  const std::uint64_t access = access_flags(what.access);
  const bool host = what.owner.is_host();
  const int rc =
      host ? fi_mr_reg(domain_.get(), what.data, what.bytes, access, 0, key, 0, &region, nullptr)
           : register_device_memory(domain_.get(), what.data, what.bytes, access, key, what.owner,
                                    &region);
  if (rc == -FI_ENOMEM || rc == -FI_EAGAIN || rc == -FI_EPERM)
    base::fail(heddleSystemError,
               "adapter {} (provider {}) could not register {} bytes of {}: {}; {}", adapter_.name,
               provider_, what.bytes, text_of(what.owner), fabric_error_text(rc),
               locked_memory_advice());
  if (rc != 0)
    base::fail(heddleSystemError,
               "adapter {} (provider {}) could not register {} bytes of {}: {} failed: {}",
               adapter_.name, provider_, what.bytes, text_of(what.owner),
               host ? "fi_mr_reg" : "fi_mr_regattr", fabric_error_text(rc));
  key = fi_mr_key(region);
  return RegionOwner(region);
}

long Rail::post_verb(Request& r, bool& injected) {
  fid_ep* ep = endpoint_.get();
  if (ask_for_delivery_ && (r.verb == Verb::write || r.verb == Verb::send || r.verb == Verb::ping ||
                            r.verb == Verb::probe))
    return post_confirmed(r);
  const bool fits = r.may_inject && r.bytes <= info_->tx_attr->inject_size;
  switch (r.verb) {
    case Verb::receive: return fi_recv(ep, r.data, r.bytes, r.desc, FI_ADDR_UNSPEC, &r.context);
    case Verb::send:
      if (fits && (injected = true)) return fi_inject(ep, r.data, r.bytes, r.to);
      return fi_send(ep, r.data, r.bytes, r.desc, r.to, &r.context);
    case Verb::tagged_send:
      if (fits && (injected = true)) return fi_tinject(ep, r.data, r.bytes, r.to, r.tag);
      return fi_tsend(ep, r.data, r.bytes, r.desc, r.to, r.tag, &r.context);
    case Verb::tagged_receive:
      return fi_trecv(ep, r.data, r.bytes, r.desc, FI_ADDR_UNSPEC, r.tag, 0, &r.context);
    case Verb::ping:
    case Verb::probe: return fi_send(ep, r.data, r.bytes, r.desc, r.to, &r.context);
    case Verb::write:
      if (r.length != 0) return post_write(r, FI_COMPLETION);
      return fi_writedata(ep, r.data, r.bytes, r.desc, r.tag, r.to, r.remote, r.key, &r.context);
  }
  return -FI_EINVAL;
}

// Flags of each operation: providers may ignore those of the endpoint (net of libfabric 1.17 does).
long Rail::post_confirmed(Request& r) {
  constexpr std::uint64_t kFlags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
  if (r.verb == Verb::write) return post_write(r, kFlags);
  const iovec memory{r.data, r.bytes};
  const fi_msg message{&memory, &r.desc, 1, r.to, &r.context, 0};
  return fi_sendmsg(endpoint_.get(), &message, kFlags);
}

// The length, where it is wanted, leaves with the data as one write.
long Rail::post_write(Request& r, std::uint64_t flags) {
  const std::size_t before = r.length != 0 ? sizeof r.length : 0;
  const std::array<iovec, 2> memory{{{&r.length, before}, {r.data, r.bytes}}};
  std::array<void*, 2> descs{nullptr, r.desc};  // the host's needs none where writes_length()
  const std::size_t skipped = before == 0 ? 1 : 0;
  const fi_rma_iov remote{r.remote - before, r.bytes + before, r.key};
  const fi_msg_rma message{memory.data() + skipped,
                           descs.data() + skipped,
                           2 - skipped,
                           r.to,
                           &remote,
                           1,
                           &r.context,
                           r.tag};
  return fi_writemsg(endpoint_.get(), &message, FI_REMOTE_CQ_DATA | flags);
}

Rail::Posted Rail::post(Request& request) {
  bool injected = false;
  const long rc = post_verb(request, injected);
  if (rc == -FI_EAGAIN) return Posted::again;
  static constexpr const char* kNames[] = {"fi_recv",      "fi_send", "fi_trecv", "fi_tsend",
                                           "fi_writedata", "fi_send", "fi_send"};
  check_fabric(rc, kNames[static_cast<int>(request.verb)], provider_);
  return injected ? Posted::done : Posted::started;
}

Rail::Polled Rail::poll(std::span<fi_cq_data_entry> entries, std::size_t& count) {
  const long rc = fi_cq_read(completions_.get(), entries.data(), entries.size());
  count = rc > 0 ? static_cast<std::size_t>(rc) : 0;
  if (rc == -FI_EAVAIL) return Polled::error;
  if (rc != -FI_EAGAIN) check_fabric(rc, "fi_cq_read", provider_);
  return Polled::fine;
}

bool Rail::read_error(Failure& failure) {
  fi_cq_err_entry entry{};
  const long rc = fi_cq_readerr(completions_.get(), &entry, 0);
  if (rc == -FI_EAGAIN) return false;
  check_fabric(rc, "fi_cq_readerr", provider_);
  const char* detail =
      fi_cq_strerror(completions_.get(), entry.prov_errno, entry.err_data, nullptr, 0);
  failure.request = static_cast<Request*>(entry.op_context);
  failure.code = entry.err;
  failure.text = fmt::format("{} on provider {}, adapter {}: {}", fabric_error_text(entry.err),
                             provider_, adapter_.name, detail == nullptr ? "" : detail);
  return true;
}

void Rail::read_events() {
  if (!events_) return;
  std::uint32_t event;
  std::byte buffer[256];
  if (fi_eq_read(events_.get(), &event, buffer, sizeof buffer, 0) != -FI_EAVAIL) return;
  fi_eq_err_entry entry{};
  if (fi_eq_readerr(events_.get(), &entry, 0) < 0) return;
  base::log_warn("NET/OFI adapter {} reports: {}", adapter_.name, fabric_error_text(entry.err));
}

void Rail::reserve_bounce_buffers(std::size_t count) {
  reserved_ += count;
  if (target_ + reserved_ > total_) add_bounce_buffers(target_ + reserved_ - total_);
}

void Rail::add_bounce_buffers(std::size_t count) {
  const std::size_t stride = (kHeaderAt + bounce_bytes_ + kLine - 1) / kLine * kLine;
  BounceBlock block{map_memory(count * stride), {}, std::vector<Request>(count)};
  if (needs_local_registration())
    block.region = register_memory(block.memory.data(), block.memory.size(), Access::receive);
  for (std::size_t i = 0; i < count; ++i) {
    Request& request = block.requests[i];
    request.verb = Verb::receive;
    request.under_way = false;
    request.rail = index_;
    request.data = block.memory.data() + i * stride + kHeaderAt;
    request.bytes = bounce_bytes_;
    spare_.push_back(&request);
  }
  total_ += count;
  bounce_.push_back(std::move(block));
  describe(bounce_.back());
}

void Rail::describe(BounceBlock& block) {
  void* const desc = needs_local_registration() ? block.region.desc() : nullptr;
  for (Request& request : block.requests) request.desc = desc;
}

void Rail::return_bounce_buffer(Request& request) {
  spare_.push_back(&request);
  replenish();
}

void Rail::replenish() {
  while (is_open() && posted_ < target_ && !spare_.empty()) {
    if (post(*spare_.back()) == Posted::again) return;
    spare_.back()->under_way = true;
    spare_.pop_back();
    ++posted_;
  }
}

Area::Area(std::span<const std::unique_ptr<Rail>> rails, std::size_t bytes, Access access)
    : memory_(map_memory(bytes)), virtual_addresses_(rails.front()->uses_virtual_addresses()) {
  if (access != Access::remote_write && !rails.front()->needs_local_registration()) return;
  regions_ = std::make_unique<Regions>();
  for (const auto& rail : rails)
    regions_->push_back(rail->register_memory(memory_.data(), bytes, access));
}

}  // namespace heddle::transport::fabric
