#include "nccl_net_check/buffer.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

namespace heddle::net_check {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLookedAt = 64 << 10;
constexpr std::byte kBlank{0xa5};
constexpr std::size_t kWord = sizeof(std::uint64_t);

std::uint64_t word_of(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t word = seed * 0x9e3779b97f4a7c15 + index * 0xd1342543de82ef95 + 1;
  word = (word ^ (word >> 32)) * 0xbf58476d1ce4e5b9;
  return word ^ (word >> 29);
}

}  // namespace

void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const auto word = word_of(seed, at / kWord);
    std::memcpy(bytes.data() + at, &word, std::min(kWord, bytes.size() - at));
  }
}

std::optional<std::size_t> first_wrong(std::span<const std::byte> bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    const auto word = word_of(seed, at / kWord);
    const auto some = std::min(kWord, bytes.size() - at);
    if (std::memcmp(bytes.data() + at, &word, some) == 0) continue;
    const auto* expected = reinterpret_cast<const std::byte*>(&word);
    return at + (std::mismatch(expected, expected + some, bytes.data() + at).first - expected);
  }
  return std::nullopt;
}

void Buffer::Free::operator()(std::byte* memory) const { std::free(memory); }

Buffer::Buffer(const Comm& comm, std::size_t bytes, std::size_t offset)
    : rank_(&comm.rank()), comm_(comm.get()), bytes_(bytes) {
  // A guard page before, and at least one after.
  mapped_bytes_ = kPage + (offset + bytes + kPage - 1) / kPage * kPage + kPage;
  mapped_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, mapped_bytes_)));
  if (!mapped_) throw std::bad_alloc();
  data_ = mapped_.get() + kPage + offset;
  blank();
  rank_->service([this] {
    // Nobody registers nothing: the empty message of NCCL lies in a buffer, too.
    const auto registered = std::max<std::size_t>(bytes_, 1);
    expect(rank_->net().register_host(comm_, data_, registered, &memory_), "regMr");
  });
}

Buffer::~Buffer() {
  if (mapped_ && memory_ && std::uncaught_exceptions() == 0)
    rank_->service([this] { rank_->net().deregister(comm_, memory_); });
}

void Buffer::deregister() {
  rank_->service([this] {
    expect(rank_->net().deregister(comm_, std::exchange(memory_, nullptr)), "deregMr");
  });
}

void Buffer::blank() { std::fill_n(mapped_.get(), mapped_bytes_, kBlank); }

void Buffer::blank(std::size_t used) {
  auto* end = mapped_.get() + mapped_bytes_;
  auto* first = data_ - std::min<std::size_t>(data_ - mapped_.get(), kLookedAt);
  std::fill(first, data_ + used + std::min<std::size_t>(end - data_ - used, kLookedAt), kBlank);
}

void Buffer::check_untouched_but(std::size_t from, std::size_t used) const {
  const auto* end = mapped_.get() + mapped_bytes_;
  const auto* first = data_ + from;
  const auto* last = first + used;
  const auto before = std::min<std::size_t>(first - mapped_.get(), kLookedAt);
  const auto after = std::min<std::size_t>(end - last, kLookedAt);
  const auto touched = [](std::byte byte) { return byte != kBlank; };
  if (const auto* at = std::find_if(first - before, first, touched); at != first)
    fault("wrote {} bytes before the message", first - at);
  if (const auto* at = std::find_if(last, last + after, touched); at != last + after)
    fault("wrote {} bytes behind the message of {} bytes{}", at - last, used,
          at >= data_ + bytes_ ? ", outside the buffer" : "");
}

void Buffer::check(std::size_t from, std::size_t bytes, std::uint64_t seed) const {
  if (const auto wrong = first_wrong(span().subspan(from, bytes), seed))
    fault("byte {} of a message of {} bytes is wrong", *wrong, bytes);
}

}  // namespace heddle::net_check
