#include "transport/fabric/meeting.hpp"

#include <sodium.h>

#include <algorithm>

#include "base/hash.hpp"
#include "transport/fabric/rail_pairing.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr std::uint8_t kHandleVersion = 2;
constexpr std::size_t kSecretBytes = 16;  // of a handle
constexpr base::Seconds kTryAgain{0.5};
constexpr std::size_t kAnswersAtOnce = 4;

struct HandleStart {
  std::uint16_t magic = kMagic;
  std::uint8_t version = kHandleVersion;
  std::uint8_t ends = 0;  // that follow, each an EndStart and its address
  std::uint32_t listener = 0;
  std::uint64_t instance = 0;
  std::uint32_t way = 0;  // hash of provider, protocol and path: both must have the same
  std::array<std::uint8_t, kSecretBytes> secret{};
  // Hash of the whole handle, 0 in this place: what is damaged is not followed. libfabric is no
  // help: an address vector that is given a wrong address may never find a right one again.
  std::uint32_t check = 0;
};
static_assert(sizeof(HandleStart) == 40);

struct EndStart {
  std::uint32_t network;  // hash of its rail's; 0: none is known
  std::uint32_t bytes;
};

struct Introduction {
  std::uint64_t to_instance;
  std::uint32_t listener;
  std::uint32_t refused;  // of the answer: what follows is the reason
  std::array<std::uint8_t, 16> nonce;
  base::Hash mac;  // of all above and of the text
};
static_assert(sizeof(Introduction) == 64);
constexpr std::size_t kMostText = kControlBytes - sizeof(Introduction);

std::uint32_t short_hash(std::string_view text) {
  if (text.empty()) return 0;
  const base::Hash hash = base::Hasher().add(text).finish();
  std::uint32_t word;
  std::memcpy(&word, hash.data(), sizeof word);
  return word == 0 ? 1 : word;
}

std::uint32_t check_of(HandleStart start, std::span<const std::byte> handle) {
  start.check = 0;
  std::array<char, kHandleBytes> all{};
  std::memcpy(all.data(), handle.data(), std::min(handle.size(), all.size()));
  std::memcpy(all.data(), &start, sizeof start);
  return short_hash({all.data(), all.size()});
}

std::uint32_t way_of(const ProcessAddress& address) {
  return short_hash(fmt::format("{} {} {}", address.provider, address.protocol, address.rma));
}

base::Hash mac_of(const Introduction& what, std::string_view text, const PipeSecret& secret) {
  return base::Hasher(secret).add(&what, sizeof what - sizeof what.mac).add(text).finish();
}

std::vector<std::byte> sealed(Introduction what, std::string_view text, const PipeSecret& secret) {
  what.mac = mac_of(what, text, secret);
  std::vector<std::byte> message(sizeof what + text.size());
  std::memcpy(message.data(), &what, sizeof what);
  std::ranges::copy(std::as_bytes(std::span(text)), message.begin() + sizeof what);
  return message;
}

struct Opened {
  Introduction what;
  std::string text;
};

std::optional<Opened> open_message(const Header& header, const std::byte* payload) {
  if (header.bytes < sizeof(Introduction)) return std::nullopt;
  Opened opened;
  std::memcpy(&opened.what, payload, sizeof opened.what);
  opened.text.assign(reinterpret_cast<const char*>(payload + sizeof opened.what),
                     header.bytes - sizeof opened.what);
  return opened;
}

bool sealed_by(const Opened& opened, const PipeSecret& secret) {
  return base::same(mac_of(opened.what, opened.text, secret), opened.what.mac);
}

Header header_of(Kind kind) {
  return {.kind = kind, .connection = 0, .token = 0, .sequence = 0, .bytes = 0, .count = 0};
}

// The handshake's secrets are made of the handle's and of the call's nonce: both ends know them.
Meeting::Acquaintance acquainted(const std::string& address, const PipeSecret& secret,
                                 std::span<const std::uint8_t> nonce) {
  Meeting::Acquaintance made{parse_address(address), {}, {}};
  const auto derive = [&](std::string_view what) {
    return base::Hasher(secret).add(what).add(nonce.data(), nonce.size()).finish();
  };
  const base::Hash name = derive("communicator");
  made.key = {{}, 0, 0, 0};
  std::copy_n(name.begin(), made.key.communicator.size(), made.key.communicator.begin());
  made.secret = derive("pipes");
  return made;
}

}  // namespace

std::uint32_t Meeting::listen(std::vector<std::byte>& handle) {
  const ProcessAddress& ours = core_.address();
  const std::string text = to_text(ours);
  if (text.size() > kMostText)
    base::fail(heddleSystemError, "the address of {} rails has {} bytes, {} fit a message",
               ours.rails.size(), text.size(), kMostText);
  Listener listener;
  listener.secret = {};
  randombytes_buf(listener.secret.data(), kSecretBytes);
  HandleStart start;
  start.listener = next_listener_++;
  start.instance = ours.instance;
  start.way = way_of(ours);
  std::copy_n(listener.secret.begin(), kSecretBytes, start.secret.begin());
  handle.resize(sizeof start);
  for (const auto& rail : ours.rails) {
    const EndStart end{short_hash(rail.network), static_cast<std::uint32_t>(rail.address.size())};
    if (handle.size() + sizeof end + rail.address.size() > kHandleBytes) break;
    const auto add = [&](const auto bytes) {
      handle.insert(handle.end(), bytes.begin(), bytes.end());
    };
    add(std::as_bytes(std::span(&end, 1)));
    add(std::as_bytes(std::span(rail.address)));
    ++start.ends;
  }
  start.check = check_of(start, handle);
  std::memcpy(handle.data(), &start, sizeof start);
  listeners_.emplace(start.listener, std::move(listener));
  return start.listener;
}

std::uint64_t Meeting::call(std::span<const std::byte> handle) {
  HandleStart start;
  if (handle.size() >= sizeof start) std::memcpy(&start, handle.data(), sizeof start);
  if (handle.size() < sizeof start || start.magic != kMagic || start.version != kHandleVersion ||
      start.ends == 0)
    base::fail(heddleInvalidArgument,
               "a handle of {} bytes is none that a listener of this version gave", handle.size());
  if (start.check != check_of(start, handle))
    base::fail(heddleInvalidArgument, "a handle of {} bytes has been damaged on its way",
               handle.size());
  const ProcessAddress& ours = core_.address();
  if (start.way != way_of(ours))
    base::fail(heddleInvalidUsage,
               "the handle's process uses another provider or protocol than this one ({}, {}, {}); "
               "all must use the same HEDDLE_PROVIDER and HEDDLE_RMA",
               ours.provider, ours.protocol, ours.rma ? "RDMA write" : "messages");
  Call call;
  call.deadline = base::Deadline(base::Seconds(core_.settings().init_timeout));
  std::copy_n(start.secret.begin(), kSecretBytes, call.secret.begin());
  call.listener = start.listener;
  call.instance = start.instance;
  randombytes_buf(call.nonce.data(), call.nonce.size());
  std::size_t at = sizeof start;
  for (int i = 0; i < start.ends; ++i) {
    EndStart end;
    if (at + sizeof end > handle.size()) break;
    std::memcpy(&end, handle.data() + at, sizeof end);
    at += sizeof end;
    if (end.bytes > handle.size() - at) break;
    const std::span address(reinterpret_cast<const std::uint8_t*>(handle.data() + at), end.bytes);
    at += end.bytes;
    call.shown += fmt::format("{}{:02x}", call.shown.empty() ? "" : ", ", fmt::join(address, ""));
    for (std::size_t rail = 0; rail < ours.rails.size(); ++rail) {
      const bool joined = end.network == 0 ? rail == static_cast<std::size_t>(i) % ours.rails.size()
                                           : short_hash(ours.rails[rail].network) == end.network;
      if (joined)
        if (Peer* const way = core_.open_way(start.instance, static_cast<int>(rail), address))
          call.ways.push_back(way);
    }
  }
  if (call.ways.empty())
    base::fail(heddleRemoteError, "no adapter here is on a network of the listener's ({})",
               call.shown);
  const std::uint64_t number = next_call_++;
  introduce(calls_.emplace(number, std::move(call)).first->second);
  return number;
}

void Meeting::introduce(Call& call) {
  Introduction what{call.instance, call.listener, 0, call.nonce, {}};
  const auto message = sealed(what, to_text(core_.address()), call.secret);
  for (Peer* const way : call.ways) core_.send_control(*way, header_of(Kind::introduce), message);
  call.next_try = base::Clock::now() + std::chrono::duration_cast<base::Clock::duration>(kTryAgain);
}

std::optional<Meeting::Acquaintance> Meeting::answer(std::uint64_t number) {
  const auto found = calls_.find(number);
  if (found == calls_.end())
    base::fail(heddleInvalidUsage, "call {} is over, or never was", number);
  core_.progress();
  Call& call = found->second;
  if (call.answer) {
    const std::string text = std::move(*call.answer);
    const bool refused = call.refused;
    const auto secret = call.secret;
    const Nonce nonce = call.nonce;
    forget(number);
    if (refused) base::fail(heddleRemoteError, "the listener refused: {}", text);
    return acquainted(text, secret, nonce);
  }
  std::string why;
  if (std::ranges::all_of(call.ways, [](const Peer* way) { return !way->dead.empty(); }))
    why = call.ways.front()->dead;
  else if (call.deadline.passed())
    why = fmt::format("no answer in {:g} s (HEDDLE_INIT_TIMEOUT)", core_.settings().init_timeout);
  if (!why.empty()) {
    const std::string shown = call.shown;
    forget(number);
    base::fail(heddleRemoteError, "the listener at {} cannot be reached: {}", shown, why);
  }
  if (base::Clock::now() >= call.next_try) introduce(call);
  return std::nullopt;
}

void Meeting::forget(std::uint64_t number) {
  for (Peer* const way : calls_.at(number).ways) core_.close_way(*way);
  calls_.erase(number);
}

void Meeting::on_introduce(const Header& header, const std::byte* payload) {
  constexpr std::size_t kMostVisits = 1 << 14;
  const std::optional<Opened> opened = open_message(header, payload);
  if (!opened || opened->what.to_instance != core_.address().instance) return;
  const auto listener = listeners_.find(opened->what.listener);
  if (listener == listeners_.end() || !sealed_by(*opened, listener->second.secret)) {
    base::log_debug("NET/OFI drops an introduction to listener {}", opened->what.listener);
    return;
  }
  auto& visits = listener->second.visits;
  const auto known = visits.find(opened->what.nonce);
  if (known == visits.end()) {
    if (visits.size() < kMostVisits) visits[opened->what.nonce].address = opened->text;
  } else if (known->second.taken) {
    reply(listener->second, opened->what.nonce, known->second);
  }
}

std::optional<Meeting::Acquaintance> Meeting::caller(std::uint32_t number) {
  const auto found = listeners_.find(number);
  if (found == listeners_.end())
    base::fail(heddleInvalidUsage, "listener {} is closed, or never was", number);
  core_.progress();
  Listener& listener = found->second;
  for (auto& [nonce, visit] : listener.visits) {
    if (std::exchange(visit.taken, true)) continue;
    std::optional<Acquaintance> made;
    try {
      made = acquainted(visit.address, listener.secret, nonce);
      core_.peer(made->address);
      visit.answer = to_text(core_.address());
    } catch (const base::Error& error) {
      made.reset();
      visit.refused = true;
      visit.answer = std::string(error.what()).substr(0, kMostText);
      base::log_warn("NET/OFI listener {} refuses a caller: {}", number, error.what());
    }
    reply(listener, nonce, visit);
    if (made) return made;
  }
  return std::nullopt;
}

// Over some rails, and over others the next time.
void Meeting::reply(const Listener& listener, const Nonce& nonce, Visit& visit) {
  ProcessAddress caller;
  try {
    caller = parse_address(visit.address);
  } catch (const base::Error&) {
    return;  // nowhere to answer to
  }
  std::vector<std::string> ours, theirs;
  for (const auto& rail : core_.address().rails) ours.push_back(rail.network);
  for (const auto& rail : caller.rails) theirs.push_back(rail.network);
  const auto pairs = pair_rails(ours, theirs, core_.address().instance < caller.instance);
  if (pairs.empty()) return;
  const Introduction what{caller.instance, 0, visit.refused, nonce, {}};
  const auto message = sealed(what, visit.answer, listener.secret);
  for (std::size_t i = 0; i < std::min(kAnswersAtOnce, pairs.size()); ++i) {
    const RailPair& pair = pairs[visit.answers++ % pairs.size()];
    Peer* const way = core_.open_way(caller.instance, pair.ours,
                                     caller.rails[static_cast<std::size_t>(pair.theirs)].address);
    if (way == nullptr) continue;
    core_.send_control(*way, header_of(Kind::introduced), message);
    core_.close_way(*way);
  }
}

void Meeting::on_introduced(const Header& header, const std::byte* payload) {
  const std::optional<Opened> opened = open_message(header, payload);
  if (!opened || opened->what.to_instance != core_.address().instance) return;
  for (auto& [number, call] : calls_) {
    if (call.nonce != opened->what.nonce || !sealed_by(*opened, call.secret)) continue;
    call.answer = opened->text;
    call.refused = opened->what.refused != 0;
    return;
  }
}

}  // namespace heddle::transport::fabric
