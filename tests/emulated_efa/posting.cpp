// What a post must fulfil. The real provider refuses some of it at the post and some by an error
// completion; so does this.
#include <atomic>
#include <cstdio>

#include "endpoint.hpp"

namespace emulated_efa {

namespace {

std::uint64_t capability(Kind kind) {
  switch (kind) {
    case Kind::tagged: return FI_TAGGED;
    case Kind::write: return FI_RMA;
    default: return FI_MSG;
  }
}

}  // namespace

// A number alone would leave the application's author guessing.
long Endpoint::refuse(int error, const std::string& why) const {
  constexpr int kMost = 20;
  static std::atomic<int> said = 0;
  if (said++ < kMost)
    std::fprintf(stderr, "EMULATED EFA: %s refuses a post: %s\n", domain_.name().c_str(),
                 why.c_str());
  return -error;
}

long Endpoint::check_pieces(const Pieces& pieces) const {
  const std::size_t most = domain_.limits().iov;
  if (pieces.count > most)
    return refuse(FI_EINVAL, fmt::format("{} pieces, at most {}", pieces.count, most));
  for (std::size_t i = 0; i < pieces.count; ++i)
    if (pieces.iov[i].iov_len > 0 && pieces.desc[i] == nullptr)
      return refuse(FI_EINVAL, "local memory without a descriptor (FI_MR_LOCAL)");
  return 0;
}

bool Endpoint::registered(const Pieces& pieces, std::uint64_t access) const {
  for (std::size_t i = 0; i < pieces.count; ++i) {
    const iovec& piece = pieces.iov[i];
    if (piece.iov_len > 0 &&
        !domain_.memory.allows(pieces.desc[i], piece.iov_base, piece.iov_len, access))
      return false;
  }
  return true;
}

Pieces Endpoint::reached(const Pieces& pieces) const {
  Pieces result = pieces;
  for (std::size_t i = 0; i < pieces.count; ++i)
    if (pieces.iov[i].iov_len > 0)
      result.iov[i].iov_base = domain_.memory.reach(pieces.desc[i], pieces.iov[i].iov_base);
  return result;
}

bool Endpoint::completes(const Post& post) const {
  if (post.inject || (tx_selective_ && (post.flags & FI_COMPLETION) == 0)) return false;
  return post.context != nullptr || !domain_.limits().null_context_is_silent;
}

long Endpoint::check_post(const Post& post) const {
  if (!enabled()) return refuse(FI_EOPBADSTATE, "the endpoint is not enabled");
  if ((caps_ & capability(post.kind)) == 0)
    return refuse(FI_EOPNOTSUPP, "the endpoint was not opened with this capability");
  if (vector_->find(post.to) == nullptr)
    return refuse(FI_EINVAL, fmt::format("no peer {} in the address vector", post.to));
  if (post.immediate.value_or(0) >> (8 * kImmediateBytes) != 0)
    return refuse(FI_EINVAL,
                  fmt::format("immediate data {:#x}, 4 bytes are carried", *post.immediate));
  const Limits& limits = domain_.limits();
  const bool write = post.kind == Kind::write;
  const std::size_t bytes = post.pieces.bytes();
  if (post.inject || (post.flags & FI_INJECT) != 0) {
    const std::size_t most = write ? limits.inject_write : limits.inject;
    if (post.pieces.count > limits.iov || bytes > most)
      return refuse(FI_EINVAL, fmt::format("{} bytes injected in {} pieces, at most {} in {}",
                                           bytes, post.pieces.count, most, limits.iov));
    // The processor copies what is injected.
    for (std::size_t i = 0; domain_.takes_device_memory() && i < post.pieces.count; ++i)
      if (const auto found = device_range(post.pieces.iov[i].iov_base, 0); found && !found->managed)
        return refuse(FI_EINVAL, "memory of a CUDA device injected");
    return 0;
  }
  const std::size_t most = write ? limits.max_write : limits.max_message;
  if (bytes > most)
    return refuse(FI_EMSGSIZE, fmt::format("a {} of {} bytes, at most {}",
                                           write ? "write" : "message", bytes, most));
  return check_pieces(post.pieces);
}

long Endpoint::post(Post post) {
  if (const long rc = check_post(post); rc != 0) return rc;
  const auto now = Clock::now();
  if (operations_.size() >= tx_size_ || domain_.faults.again(now)) return -FI_EAGAIN;
  const Faults::Fate fate = domain_.faults.accepted(now);

  auto owned = std::make_unique<Operation>();
  Operation& operation = *owned;
  operation.number = ++next_operation_;
  operation.peer = &peer(*vector_->find(post.to));
  operation.total = post.pieces.bytes();
  operation.fate = fate.status;
  operation.posted = operation.touched = now;
  const bool copied = post.inject || (post.flags & FI_INJECT) != 0;
  operation.post = std::move(post);
  if (copied) {
    operation.copy = std::make_unique<std::byte[]>(operation.total);
    operation.post.pieces.gather(operation.copy.get(), 0, operation.total);
  }
  operations_.emplace(operation.number, std::move(owned));

  if (domain_.faults.dead(now)) {
    finish(operation, kUnresponsive);
  } else if (!fate.travels) {
    finish(operation, fate.status);
  } else if (operation.post.key >> (8 * kKeyBytes) != 0) {
    finish(operation, kRemoteAddress);
  } else {
    operation.peer->sending.push_back(&operation);
    if (!domain_.faults.hung(now)) send_all(now);
  }
  return 0;
}

long Endpoint::post_receive(PostedReceive receive) {
  if (!enabled()) return refuse(FI_EOPBADSTATE, "the endpoint is not enabled");
  if ((caps_ & (receive.tagged ? FI_TAGGED : FI_MSG)) == 0) return -FI_EOPNOTSUPP;
  if (const long rc = check_pieces(receive.pieces); rc != 0) return rc;
  if (receives_.size() >= rx_size_) return -FI_EAGAIN;
  if (!registered(receive.pieces, FI_RECV)) {
    rx_queue_->push_error({receive.context, FI_RECV, 0, nullptr, 0, 0, FI_ADDR_NOTAVAIL}, kLocalKey,
                          fi_errno_of(kLocalKey));
    return 0;
  }
  for (auto message = unexpected_.begin(); message != unexpected_.end(); ++message) {
    if (!matches(receive, message->header)) continue;
    complete_receive(receive, message->header, message->data.get());
    unexpected_.erase(message);
    return 0;
  }
  receives_.push_back(receive);
  return 0;
}

long Endpoint::cancel(void* context) {
  for (auto receive = receives_.begin(); receive != receives_.end(); ++receive) {
    if (receive->context != context) continue;
    const std::uint64_t kind = receive->tagged ? FI_TAGGED : FI_MSG;
    rx_queue_->push_error({context, FI_RECV | kind, 0, nullptr, 0, receive->tag, FI_ADDR_NOTAVAIL},
                          kFine, FI_ECANCELED);
    receives_.erase(receive);
    return 0;
  }
  return -FI_ENOENT;
}

}  // namespace emulated_efa
