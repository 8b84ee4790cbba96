#include "transport/fabric/meeting.hpp"

#include <algorithm>

#include "transport/fabric/rail_pairing.hpp"

namespace heddle::transport::fabric {

namespace {

constexpr base::Seconds kTryAgain{0.5};
constexpr std::size_t kAnswersAtOnce = 4;

base::Clock::duration ticks(base::Seconds seconds) {
  return std::chrono::duration_cast<base::Clock::duration>(seconds);
}

std::string shown(const Handle& handle) {
  std::string text;
  for (const auto& end : handle.ends)
    text += fmt::format("{}{:02x}", text.empty() ? "" : ", ", fmt::join(end.address, ""));
  return text;
}

// The handshake's secrets are made of the handle's and of the call's nonce: both ends know them.
Meeting::Acquaintance acquainted(const std::string& address, const PipeSecret& secret,
                                 const Nonce& nonce) {
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
  if (text.size() > kMostIntroduction)
    base::fail(heddleSystemError, "the address of {} rails has {} bytes, {} fit a message",
               ours.rails.size(), text.size(), kMostIntroduction);
  Handle made{next_listener_++, ours.instance, path_of(ours), {}, {}};
  base::fill_random(made.secret.data(), kHandleSecretBytes);
  for (const auto& rail : ours.rails) made.ends.push_back({network_of(rail.network), rail.address});
  handle = encode(made);
  listeners_.emplace(made.listener, Listener{made.secret, {}});
  return made.listener;
}

std::uint64_t Meeting::call(std::span<const std::byte> handle) {
  drop_forgotten();
  Call call;
  call.handle = decode_handle(handle);
  const ProcessAddress& ours = core_.address();
  if (call.handle.path != path_of(ours))
    base::fail(heddleInvalidUsage,
               "the handle's process uses another provider or protocol than this one ({}, {}, {}); "
               "all must use the same HEDDLE_PROVIDER and HEDDLE_RMA",
               ours.provider, ours.protocol, ours.rma ? "RDMA write" : "messages");
  call.deadline = base::Deadline(patience());
  base::fill_random(call.nonce.data(), call.nonce.size());
  open_ways(call);
  if (call.ways.empty())
    base::fail(heddleRemoteError, "no adapter here is on a network of the listener's ({})",
               shown(call.handle));
  const std::uint64_t number = next_call_++;
  introduce(calls_.emplace(number, std::move(call)).first->second);
  return number;
}

void Meeting::open_ways(Call& call) {
  const auto& rails = core_.address().rails;
  for (std::size_t end = 0; end < call.handle.ends.size(); ++end) {
    const auto& [network, address] = call.handle.ends[end];
    for (std::size_t rail = 0; rail < rails.size(); ++rail) {
      const bool joined =
          network == 0 ? rail == end % rails.size() : network_of(rails[rail].network) == network;
      if (!joined) continue;
      if (Peer* const way = core_.open_way(call.handle.instance, static_cast<int>(rail), address))
        call.ways.push_back(way);
    }
  }
}

void Meeting::introduce(Call& call) {
  const auto message = sealed(
      {call.handle.instance, call.handle.listener, false, call.nonce, to_text(core_.address()), {}},
      call.handle.secret);
  for (Peer* const way : call.ways) core_.send_control(*way, header_of(Kind::introduce), message);
  call.next_try = base::Clock::now() + ticks(kTryAgain);
}

std::optional<Meeting::Acquaintance> Meeting::answer(std::uint64_t number) {
  const auto found = calls_.find(number);
  if (found == calls_.end())
    base::fail(heddleInvalidUsage, "call {} is over, or never was", number);
  core_.progress();
  Call& call = found->second;
  call.last_asked = base::Clock::now();
  if (call.answer) {
    const Introduction answer = std::move(*call.answer);
    const PipeSecret secret = call.handle.secret;
    forget(number);
    if (answer.refused) base::fail(heddleRemoteError, "the listener refused: {}", answer.text);
    return acquainted(answer.text, secret, answer.nonce);
  }
  std::string why;
  if (std::ranges::all_of(call.ways, [](const Peer* way) { return !way->dead.empty(); }))
    why = call.ways.front()->dead;
  else if (call.deadline.passed())
    why = fmt::format("no answer in {:g} s (HEDDLE_INIT_TIMEOUT)", patience().count());
  if (!why.empty()) {
    const std::string listener = shown(call.handle);
    forget(number);
    base::fail(heddleRemoteError, "the listener at {} cannot be reached: {}", listener, why);
  }
  if (call.last_asked >= call.next_try) introduce(call);
  return std::nullopt;
}

void Meeting::forget(std::uint64_t number) {
  for (Peer* const way : calls_.at(number).ways) core_.close_way(*way);
  calls_.erase(number);
}

void Meeting::drop_forgotten() {
  const TimePoint since = base::Clock::now() - ticks(patience());
  std::vector<std::uint64_t> dropped;
  for (const auto& [number, call] : calls_)
    if (call.last_asked < since) dropped.push_back(number);
  for (const std::uint64_t number : dropped) {
    base::log_info("NET/OFI the call to the listener at {} is dropped: nobody has asked for it",
                   shown(calls_.at(number).handle));
    forget(number);
  }
}

void Meeting::on_introduce(const Header& header, const std::byte* payload) {
  const auto opened = open_introduction({payload, header.bytes});
  if (!opened || opened->to_instance != core_.address().instance) return;
  const auto listener = listeners_.find(opened->listener);
  if (listener == listeners_.end() || !opened->sealed_by(listener->second.secret)) {
    base::log_debug("NET/OFI drops an introduction to listener {}", opened->listener);
    return;
  }
  auto& [secret, visits] = listener->second;
  const TimePoint now = base::Clock::now();
  visits.forget_before(now - ticks(patience()));
  if (Visit* const again = visits.came(opened->nonce, opened->text, now))
    reply(secret, opened->nonce, *again);
}

std::optional<Meeting::Acquaintance> Meeting::caller(std::uint32_t number) {
  const auto found = listeners_.find(number);
  if (found == listeners_.end())
    base::fail(heddleInvalidUsage, "listener {} is closed, or never was", number);
  core_.progress();
  auto& [secret, visits] = found->second;
  while (const std::optional<Nonce> nonce = visits.take()) {
    Visit& visit = visits.at(*nonce);
    std::optional<Acquaintance> made;
    try {
      made = acquainted(visit.address, secret, *nonce);
      core_.peer(made->address);
      visit.answer = to_text(core_.address());
    } catch (const base::Error& error) {
      made.reset();
      visit.refused = true;
      visit.answer = std::string(error.what()).substr(0, kMostIntroduction);
      base::log_warn("NET/OFI listener {} refuses a caller: {}", number, error.what());
    }
    reply(secret, *nonce, visit);
    if (made) return made;
  }
  return std::nullopt;
}

// Over some rails, and over others the next time.
void Meeting::reply(const PipeSecret& secret, const Nonce& nonce, Visit& visit) {
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
  const auto message = sealed({caller.instance, 0, visit.refused, nonce, visit.answer, {}}, secret);
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
  auto opened = open_introduction({payload, header.bytes});
  if (!opened || opened->to_instance != core_.address().instance) return;
  const auto call = std::ranges::find_if(calls_, [&](const auto& one) {
    return one.second.nonce == opened->nonce && opened->sealed_by(one.second.handle.secret);
  });
  if (call != calls_.end()) call->second.answer = std::move(opened);
}

}  // namespace heddle::transport::fabric
