// The life of an endpoint.
#include "endpoint.hpp"

#include <thread>

namespace emulated_efa {

namespace {

constexpr std::size_t kReceiveBuffers = 128;

// A peer that still waits for our answer must get it: closing a socket at once may lose it.
constexpr auto kWindUp = std::chrono::milliseconds(200);
constexpr auto kQuiet = std::chrono::milliseconds(2);

}  // namespace

std::size_t Pieces::bytes() const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += iov[i].iov_len;
  return sum;
}

// Calls visit(address in a piece, place in the range, bytes) for each part of [offset, +bytes).
template <typename Visit>
static void each_part(const Pieces& pieces, std::size_t offset, std::size_t bytes, Visit visit) {
  std::size_t done = 0;
  for (std::size_t i = 0; i < pieces.count && done < bytes; ++i) {
    const iovec& piece = pieces.iov[i];
    if (offset >= piece.iov_len) {
      offset -= piece.iov_len;
      continue;
    }
    const std::size_t part = std::min(piece.iov_len - offset, bytes - done);
    visit(static_cast<std::byte*>(piece.iov_base) + offset, done, part);
    done += part;
    offset = 0;
  }
}

void Pieces::gather(std::byte* to, std::size_t offset, std::size_t bytes) const {
  each_part(*this, offset, bytes, [&](const std::byte* at, std::size_t place, std::size_t part) {
    std::memcpy(to + place, at, part);
  });
}

void Pieces::scatter(const std::byte* from, std::size_t offset, std::size_t bytes) const {
  each_part(*this, offset, bytes, [&](std::byte* at, std::size_t place, std::size_t part) {
    std::memcpy(at, from + place, part);
  });
}

Endpoint::Endpoint(Domain& domain, const fi_info& info, void* context)
    : domain_(domain),
      caps_(info.caps),
      op_flags_(info.tx_attr->op_flags),
      tx_size_(info.tx_attr->size),
      rx_size_(info.rx_attr->size) {
  set_tables(*this, context);
}

int Endpoint::open(Domain& domain, const fi_info& info, void* context, fid_ep** opened) {
  const std::uint64_t caps =
      domain.limits().caps | (domain.takes_device_memory() ? std::uint64_t{FI_HMEM} : 0);
  if (info.ep_attr->type != FI_EP_RDM || (info.caps & ~caps) != 0) return -FI_EINVAL;
  auto* endpoint = new Endpoint(domain, info, context);
  const std::lock_guard lock(domain.mutex);
  domain.endpoints.push_back(endpoint);
  *opened = endpoint;
  return 0;
}

Endpoint::~Endpoint() {
  const std::lock_guard lock(domain_.mutex);
  wind_up();
  std::erase(domain_.endpoints, this);
  if (vector_ != nullptr) --vector_->users;
  if (tx_queue_ != nullptr) --tx_queue_->users;
  if (rx_queue_ != nullptr) --rx_queue_->users;
}

int Endpoint::bind(struct fid* object, std::uint64_t flags) {
  if (enabled()) return -FI_EOPBADSTATE;
  switch (object->fclass) {
    case FI_CLASS_AV:
      vector_ = static_cast<AddressVector*>(reinterpret_cast<fid_av*>(object));
      ++vector_->users;
      return 0;
    case FI_CLASS_CQ: {
      auto* queue = static_cast<CompletionQueue*>(reinterpret_cast<fid_cq*>(object));
      if (&queue->domain() != &domain_) return -FI_EINVAL;
      if ((flags & FI_TRANSMIT) != 0) {
        tx_queue_ = queue;
        tx_selective_ = (flags & FI_SELECTIVE_COMPLETION) != 0;
        ++queue->users;
      }
      if ((flags & FI_RECV) != 0) {
        rx_queue_ = queue;
        ++queue->users;
      }
      return 0;
    }
    case FI_CLASS_EQ: return 0;
    default: return -FI_EINVAL;
  }
}

int Endpoint::set_option([[maybe_unused]] int name, [[maybe_unused]] const void* value,
                         [[maybe_unused]] std::size_t bytes) {
#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
  if (name == FI_OPT_CUDA_API_PERMITTED) {
    if (bytes != sizeof(bool)) return -FI_EINVAL;
    if (enabled()) return -FI_EOPBADSTATE;
    const bool permitted = *static_cast<const bool*>(value);
    if (domain_.config().hmem == Hmem::none) return permitted ? -FI_EINVAL : 0;
    return !permitted && domain_.config().hmem == Hmem::copies ? -FI_EOPNOTSUPP : 0;
  }
#endif
  return -FI_ENOPROTOOPT;
}

int Endpoint::enable() {
  if (enabled()) return 0;
  if (vector_ == nullptr) return -FI_ENOAV;
  if (tx_queue_ == nullptr || rx_queue_ == nullptr) return -FI_ENOCQ;
  lower_.emplace();
  if (const int rc = lower_->open(domain_.lower()); rc != 0) {
    lower_.reset();
    return rc;
  }
  address_ = address_from(lower_->name(), domain_.adapter(), random_number());
  for (std::size_t i = 0; i < kReceiveBuffers; ++i) {
    packets_.push_back(std::make_unique<Packet>(kPayload));
    post_buffer(*packets_.back());
  }
  return 0;
}

void Endpoint::wind_up() {
  if (!enabled()) return;
  const auto begin = Clock::now();
  auto busy = begin;
  for (auto now = begin; now - busy < kQuiet && now - begin < kWindUp; now = Clock::now()) {
    const bool dead = domain_.faults.dead(now);
    if (dead || domain_.faults.hung(now)) break;
    for (auto& [address, peer] : peers_) peer->incoming.flush();
    const std::uint64_t before = moved_;
    progress(now, dead);
    if (moved_ != before || answers_under_way_ > 0) busy = now;
    std::this_thread::yield();
  }
}

void Endpoint::progress(Clock::time_point now, bool dead) {
  if (!enabled()) return;
  poll(now, dead);
  if (dead) {
    fail_all(kUnresponsive);
  } else {
    deliver_due(now);
    send_all(now);
  }
  if (now >= next_look_) {
    constexpr auto kPeriod = std::chrono::milliseconds(5);
    next_look_ = now + kPeriod;
    lose_patience(now);
  }
}

}  // namespace emulated_efa
