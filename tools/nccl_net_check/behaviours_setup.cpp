// Initialisation, properties, connections.
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "nccl_net_check/behaviour.hpp"
#include "nccl_net_check/exchange.hpp"

namespace heddle::net_check {
namespace {

constexpr double kBlocked = 1;  // seconds in a call that must not wait for anybody

// One message over a pair of this process.
void use(Rank& rank, const Pair& pair, std::size_t bytes = 1000) {
  const Buffer out(pair.out, bytes), in(pair.in, bytes);
  fill(out.span(), rank.settings.seed);
  Exchange exchange(rank);
  exchange.receive(pair.in, in, bytes);
  exchange.send(pair.out, out, bytes);
  exchange.run();
  in.check(0, bytes, rank.settings.seed);
}

void use_new_pair(Rank& rank) {
  const auto pair = loopback(rank);
  use(rank, pair);
}

}  // namespace

Finding describe(Rank& rank) {
  nlohmann::json about;
  about["name"] = rank.net().name();
  about["version"] = rank.net().version();
  about["versions"] = rank.library().versions();
  about["device"] = rank.properties().name;
  about["speed"] = rank.properties().speed;
  about["grouped"] = rank.properties().most_grouped;
  Finding finding;
  finding.data = about.dump();
  return finding;
}

namespace setup {

Finding init(Rank& rank) {
  auto& net = rank.net();
  // NCCL 2.28 ends what it could not begin, too.
  const Result of_nothing = net.finalize(nullptr);
  for (int i = 0; i < 3; ++i) {
    rank.start();
    rank.stop();
  }
  void* one = nullptr;
  void* two = nullptr;
  expect(net.init(&one, log_line), "init");
  expect(net.init(&two, log_line), "init, of a second context");
  expect(net.finalize(one), "finalize");
  rank.start();
  use_new_pair(rank);
  rank.stop();
  expect(net.finalize(two), "finalize, of the second context");
  net.finalize(nullptr);
  rank.start();
  use_new_pair(rank);
  rank.stop();
  if (of_nothing != Result::success)
    return fmt::format("finalize of null: {}", text_of(of_nothing));
  return {};
}

Finding reload(Rank& rank) {
  for (int i = 0; i < 3; ++i) {
    rank.start();
    use_new_pair(rank);
    rank.stop();
    rank.reload();
  }
  return {};
}

namespace {

void check_properties(const Properties& properties, int device) {
  if (properties.name.empty()) fault("device {} has no name", device);
  if (properties.most_bytes == 0 || properties.most_bytes > nccl_abi::kMostMessageBytes)
    fault("{}: maxP2pBytes {} is not in 1 to 2^40", properties.name, properties.most_bytes);
  if (properties.most_grouped < 1)
    fault("{}: maxRecvs {} is less than 1", properties.name, properties.most_grouped);
  if (properties.speed <= 0) fault("{}: speed {}", properties.name, properties.speed);
  if (properties.most_comms <= 0) fault("{}: maxComms {}", properties.name, properties.most_comms);
  if (!(properties.pointers & nccl_abi::kPointerHost))
    fault("{}: ptrSupport {:#x} lacks host memory", properties.name, properties.pointers);
  if (!(properties.latency >= 0)) fault("{}: latency {}", properties.name, properties.latency);
  if (properties.members < 1 || properties.members > 8)
    fault("{}: vProps.ndevs {}", properties.name, properties.members);
}

}  // namespace

Finding properties(Rank& rank) {
  int devices = 0;
  expect(rank.net().devices(&devices), "devices");
  if (devices < 1) fault("devices: {}", devices);
  if (rank.net().name().empty()) fault("the plugin has no name");
  std::set<std::string> names;
  for (int device = 0; device < devices; ++device) {
    Properties first, again;
    expect(rank.net().properties(device, &first), "getProperties");
    check_properties(first, device);
    expect(rank.net().properties(device, &again), "getProperties");
    if (first.name != again.name || first.guid != again.guid)
      fault("device {} was {}, then {}", device, first.name, again.name);
    if (!names.insert(first.name).second) fault("two devices are called {}", first.name);
  }
  const auto& own = rank.properties();
  return fmt::format("{} device{}, maxComms {}, maxRecvs {}, regIsGlobal {}, ptrSupport {:#x}",
                     devices, devices == 1 ? "" : "s", own.most_comms, own.most_grouped,
                     own.registration_is_global, own.pointers);
}

namespace {

struct Longest {
  double seconds = 0;
  const char* call = "";
  template <typename Call>
  Comm of(const char* name, Call call_it) {
    const auto start = base::Clock::now();
    Comm comm = call_it();
    if (const double took = base::seconds_since(start); took > seconds) {
      seconds = took;
      call = name;
    }
    return comm;
  }
};

}  // namespace

Finding one_thread(Rank& rank) {
  Longest longest;
  auto listener = listen(rank);
  Handle handle = listener.handle;
  Comm out, in;
  for (int i = 0; i < 20; ++i)
    if (longest.of("accept", [&] { return try_accept(listener.comm); }))
      fault("accept gave a comm before anybody connected");
  for (int i = 0; i < 20 && !out; ++i)
    out = longest.of("connect", [&] { return try_connect(rank, handle); });
  const base::Deadline deadline(rank.patience());
  while (!out || !in) {
    if (!out) out = longest.of("connect", [&] { return try_connect(rank, handle); });
    if (!in) in = longest.of("accept", [&] { return try_accept(listener.comm); });
    if (deadline.passed())
      fault("no {} comm within {} s", out ? "receive" : "send", rank.settings.patience);
    sched_yield();
  }
  if (longest.seconds > kBlocked) fault("{} blocked for {:.2f} s", longest.call, longest.seconds);
  listener.comm.close();
  const Pair pair{std::move(out), std::move(in)};
  use(rank, pair, 0);
  use(rank, pair, 8);
  return fmt::format("longest call: {}, {:.1f} ms", longest.call, 1e3 * longest.seconds);
}

Finding all_ranks(Rank& rank) {
  const auto peers = static_cast<std::size_t>(rank.count);
  std::vector<Listener> listeners(peers);
  std::vector<Handle> handles(peers);
  std::vector<Pending> pending;
  for (int peer = 0; peer < rank.count; ++peer) {
    if (peer == rank.number) continue;
    listeners[peer] = listen(rank);
    rank.mail.send(peer, listeners[peer].handle);
  }
  for (int peer = 0; peer < rank.count; ++peer) {
    if (peer == rank.number) continue;
    handles[peer] = rank.mail.receive<Handle>(peer, rank.patience());
    pending.push_back({.connect = &handles[peer]});
    pending.push_back({.accept = &listeners[peer].comm});
  }
  finish(rank, pending);
  constexpr std::size_t kBytes = 3000;
  std::vector<Buffer> buffers;
  for (auto& one : pending) buffers.emplace_back(one.comm, kBytes);
  Exchange exchange(rank);
  std::vector<int> order;
  for (int peer = 0; peer < rank.count; ++peer)
    if (peer != rank.number) order.push_back(peer);
  const auto seed_of = [&](int from, int to) { return rank.settings.seed + 100 * from + to; };
  for (std::size_t i = 0; i < order.size(); ++i) {
    fill(buffers[2 * i].span(), seed_of(rank.number, order[i]));
    exchange.send(pending[2 * i].comm, buffers[2 * i], kBytes);
    exchange.receive(pending[2 * i + 1].comm, buffers[2 * i + 1], kBytes);
  }
  exchange.run();
  for (std::size_t i = 0; i < order.size(); ++i)
    buffers[2 * i + 1].check(0, kBytes, seed_of(order[i], rank.number));
  // Nobody closes while another still needs it to be driven.
  rank.mail.barrier(rank.patience());
  return fmt::format("{} connections", rank.count * (rank.count - 1));
}

Finding accept_again(Rank& rank) {
  constexpr int kTimes = 3;
  if (rank.number > 1) return {};
  std::vector<Comm> comms;
  Listener listener;
  if (rank.number == 0) {
    listener = listen(rank);
    rank.mail.send(1, listener.handle);
  }
  Handle handle{};
  if (rank.number == 1) handle = rank.mail.receive<Handle>(0, rank.patience());
  for (int i = 0; i < kTimes; ++i) {
    Handle attempt = handle;
    std::vector<Pending> pending(1);
    if (rank.number == 0)
      pending[0].accept = &listener.comm;
    else
      pending[0].connect = &attempt;
    finish(rank, pending);
    comms.push_back(std::move(pending[0].comm));
  }
  return {};
}

Finding half_open(Rank& rank) {
  auto listener = listen(rank);
  for (int i = 0; i < 100; ++i)
    if (try_accept(listener.comm)) fault("accept gave a comm, and nobody connects");
  listener.comm.close();
  use_new_pair(rank);
  return {};
}

Finding vanished(Rank& rank) {
  if (rank.number == 1) {
    auto handle = rank.mail.receive<Handle>(0, rank.patience());
    for (int i = 0; i < 5; ++i)
      if (try_connect(rank, handle).forget()) break;
    kill(getpid(), SIGKILL);
  }
  auto listener = listen(rank);
  rank.mail.send(1, listener.handle);
  const base::Deadline deadline{base::Seconds(1)};
  Result result = Result::success;
  void* comm = nullptr;
  while (!comm && result == Result::success && !deadline.passed())
    result = rank.service([&] { return rank.net().accept(listener.comm.get(), &comm); });
  Comm(rank, Comm::Kind::receive, comm).close_anyhow();
  listener.comm.close();
  use_new_pair(rank);
  if (result != Result::success) return fmt::format("accept: {}", text_of(result));
  return std::string(comm ? "accept gave a comm" : "accept gave none");
}

Finding abandoned(Rank& rank) {
  std::string saw;
  if (rank.number == 1) {
    auto handle = rank.mail.receive<Handle>(0, rank.patience());
    const auto attempt = [&](Comm& comm) {
      void* made = nullptr;
      const auto result = rank.service(
          [&] { return rank.net().connect(rank.context(), rank.settings.device, handle, &made); });
      comm = Comm(rank, Comm::Kind::send, made);
      return result;
    };
    Comm comm;
    const base::Deadline deadline{base::Seconds(0.2)};
    while (!comm && !deadline.passed()) expect(attempt(comm), "connect");
    saw = comm ? "connect gave a comm" : "connect gave none";
    rank.mail.barrier(rank.patience());
    rank.mail.barrier(rank.patience());  // the listening comm is closed
    Result after = Result::success;
    for (int i = 0; i < 10 && !comm && after == Result::success; ++i) after = attempt(comm);
    if (after != Result::success) saw += "; after closeListen " + text_of(after);
    if (comm) comm.close_anyhow();
  } else {
    auto listener = listen(rank);
    rank.mail.send(1, listener.handle);
    rank.mail.barrier(rank.patience());
    listener.comm.close();
    rank.mail.barrier(rank.patience());
  }
  const auto links = ring(rank);
  use_new_pair(rank);
  rank.mail.barrier(rank.patience());
  return saw;
}

}  // namespace setup
}  // namespace heddle::net_check
