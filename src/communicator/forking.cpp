#include "communicator/forking.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace heddle::communicator {
namespace {

std::atomic<bool> forked{false};

// One bit for each descriptor that a ControlSocket owns. The child of a process with threads may
// call nothing that takes a lock or allocates, so the list has its full size from the start: as
// many as Linux opens by default (fs.nr_open). Memory that is never touched costs nothing.
constexpr std::size_t kBits = 64;
constexpr std::size_t kWords = (1U << 20) / kBits;
constinit std::array<std::atomic<std::uint64_t>, kWords> owned{};
constinit std::atomic<std::size_t> words_used{0};  // from the first

std::size_t word_of(int fd) { return static_cast<std::size_t>(fd) / kBits; }
std::uint64_t bit_of(int fd) { return std::uint64_t{1} << (static_cast<std::size_t>(fd) % kBits); }

void mark(int fd) {
  const std::size_t word = word_of(fd);
  if (word >= kWords) return;
  std::size_t used = words_used.load();
  while (used <= word && !words_used.compare_exchange_weak(used, word + 1)) continue;
  owned[word].fetch_or(bit_of(fd));
}

// Whether this process still owns the descriptor. Not so in a forked child, which has closed it and
// may have opened something else under its number.
bool unmark(int fd) {
  const std::size_t word = word_of(fd);
  return word >= kWords || (owned[word].fetch_and(~bit_of(fd)) & bit_of(fd)) != 0;
}

// In the child, before fork() returns there.
void in_child() {
  forked = true;
  const std::size_t words = words_used.load();
  for (std::size_t word = 0; word < words; ++word)
    for (std::uint64_t bits = owned[word].exchange(0); bits != 0; bits &= bits - 1)
      close(static_cast<int>(word * kBits) + std::countr_zero(bits));
}

}  // namespace

void mind_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, in_child);
  (void)registered;
}

bool forked_after_use() { return forked.load(std::memory_order_relaxed); }

ControlSocket::ControlSocket(base::UniqueFd fd) : fd_(std::move(fd)) {
  if (!fd_) return;
  mind_forks();
  mark(fd_.get());
}

ControlSocket& ControlSocket::operator=(ControlSocket&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::move(other.fd_);
  }
  return *this;
}

// Unmarked first: a child forked between the two steps keeps one socket for nothing, where the
// other order could close what another thread has just opened.
void ControlSocket::reset() {
  if (!fd_) return;
  if (unmark(fd_.get()))
    fd_.reset();
  else
    fd_.release();
}

}  // namespace heddle::communicator
