#include "transport/fabric/introduction.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr std::uint8_t kHandleVersion = 2;

struct HandleStart {
  std::uint16_t magic = kMagic;
  std::uint8_t version = kHandleVersion;
  std::uint8_t ends = 0;  // that follow, each an EndStart and its address
  std::uint32_t listener = 0;
  std::uint64_t instance = 0;
  std::uint32_t path = 0;
  std::array<std::uint8_t, kHandleSecretBytes> secret{};
  // Hash of the whole handle, 0 in this place: what is damaged is not followed. libfabric is no
  // help: an address vector that is given a wrong address may never find a right one again.
  std::uint32_t check = 0;
};
static_assert(sizeof(HandleStart) == 40);

struct EndStart {
  std::uint32_t network;
  std::uint32_t bytes;
};

struct Start {  // of an introduction; its text follows
  std::uint64_t to_instance;
  std::uint32_t listener;
  std::uint32_t refused;
  Nonce nonce;
  base::Hash mac;  // of all above and of the text
};
static_assert(sizeof(Start) == 64 && kMostIntroduction == kControlBytes - sizeof(Start));

base::Hash mac_of(const Start& start, std::string_view text, const PipeSecret& secret) {
  return base::Hasher(secret).add(&start, sizeof start - sizeof start.mac).add(text).finish();
}

Start start_of(const Introduction& what) {
  return {what.to_instance, what.listener, what.refused, what.nonce, what.mac};
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

std::uint32_t check_of(HandleStart start, std::span<const std::byte> handle) {
  start.check = 0;
  std::array<char, kHandleBytes> all{};
  std::memcpy(all.data(), handle.data(), std::min(handle.size(), all.size()));
  std::memcpy(all.data(), &start, sizeof start);
  return static_cast<std::uint32_t>(base::short_hash({all.data(), all.size()}));
}

// The ends of a handle, as far as its bytes go.
std::vector<Handle::End> read_ends(std::span<const std::byte> bytes, int count) {
  std::vector<Handle::End> ends;
  for (int i = 0; i < count; ++i) {
    EndStart start;
    if (bytes.size() < sizeof start) break;
    std::memcpy(&start, bytes.data(), sizeof start);
    bytes = bytes.subspan(sizeof start);
    if (start.bytes > bytes.size()) break;
    Handle::End& end = ends.emplace_back();
    end.network = start.network;
    end.address.resize(start.bytes);
    std::ranges::copy(bytes.first(start.bytes),
                      std::as_writable_bytes(std::span(end.address)).begin());
    bytes = bytes.subspan(start.bytes);
  }
  return ends;
}

}  // namespace

std::uint32_t network_of(std::string_view network) {
  if (network.empty()) return 0;
  return std::max(1u, static_cast<std::uint32_t>(base::short_hash(network)));
}

std::uint32_t path_of(const ProcessAddress& address) {
  return static_cast<std::uint32_t>(
      base::short_hash(fmt::format("{} {} {}", address.provider, address.protocol, address.rma)));
}

std::vector<std::byte> encode(const Handle& handle) {
  HandleStart start;
  start.listener = handle.listener;
  start.instance = handle.instance;
  start.path = handle.path;
  std::copy_n(handle.secret.begin(), kHandleSecretBytes, start.secret.begin());
  std::vector<std::byte> bytes(sizeof start);
  for (const Handle::End& end : handle.ends) {
    const EndStart head{end.network, static_cast<std::uint32_t>(end.address.size())};
    if (bytes.size() + sizeof head + end.address.size() > kHandleBytes) break;
    append(bytes, std::as_bytes(std::span(&head, 1)));
    append(bytes, std::as_bytes(std::span(end.address)));
    ++start.ends;
  }
  start.check = check_of(start, bytes);
  std::memcpy(bytes.data(), &start, sizeof start);
  return bytes;
}

Handle decode_handle(std::span<const std::byte> bytes) {
  HandleStart start;
  if (bytes.size() >= sizeof start) std::memcpy(&start, bytes.data(), sizeof start);
  if (bytes.size() < sizeof start || start.magic != kMagic || start.version != kHandleVersion ||
      start.ends == 0)
    base::fail(heddleInvalidArgument,
               "a handle of {} bytes is none that a listener of this version gave", bytes.size());
  if (start.check != check_of(start, bytes))
    base::fail(heddleInvalidArgument, "a handle of {} bytes has been damaged on its way",
               bytes.size());
  Handle handle{start.listener, start.instance, start.path, {}, {}};
  std::ranges::copy(start.secret, handle.secret.begin());
  handle.ends = read_ends(bytes.subspan(sizeof start), start.ends);
  return handle;
}

bool Introduction::sealed_by(const PipeSecret& secret) const {
  return base::same(mac_of(start_of(*this), text, secret), mac);
}

std::vector<std::byte> sealed(const Introduction& introduction, const PipeSecret& secret) {
  Start start = start_of(introduction);
  start.mac = mac_of(start, introduction.text, secret);
  std::vector<std::byte> message(sizeof start + introduction.text.size());
  std::memcpy(message.data(), &start, sizeof start);
  std::ranges::copy(std::as_bytes(std::span(introduction.text)), message.begin() + sizeof start);
  return message;
}

std::optional<Introduction> open_introduction(std::span<const std::byte> message) {
  Start start;
  if (message.size() < sizeof start) return std::nullopt;
  std::memcpy(&start, message.data(), sizeof start);
  if (start.refused > 1) return std::nullopt;
  const auto text = message.subspan(sizeof start);
  return Introduction{start.to_instance,
                      start.listener,
                      start.refused != 0,
                      start.nonce,
                      {reinterpret_cast<const char*>(text.data()), text.size()},
                      start.mac};
}

Visit* Visits::came(const Nonce& nonce, const std::string& address, TimePoint now) {
  const auto known = known_.find(nonce);
  if (known != known_.end()) {
    known->second.last_came = now;
    return known->second.answer.empty() ? nullptr : &known->second;
  }
  if (known_.size() >= kMost) return nullptr;
  Visit& visit = known_[nonce];
  visit.address = address;
  visit.last_came = now;
  waiting_.push_back(nonce);
  return nullptr;
}

std::optional<Nonce> Visits::take() {
  while (!waiting_.empty()) {
    const Nonce nonce = waiting_.front();
    waiting_.pop_front();
    const auto known = known_.find(nonce);
    if (known != known_.end() && known->second.answer.empty()) return nonce;
  }
  return std::nullopt;
}

void Visits::forget_before(TimePoint then) {
  std::erase_if(known_, [&](const auto& one) { return one.second.last_came < then; });
  std::erase_if(waiting_, [&](const Nonce& nonce) { return !known_.contains(nonce); });
}

}  // namespace heddle::transport::fabric
