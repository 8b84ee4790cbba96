// Connections that end while something is under way on them.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "nccl_net_check/behaviour.hpp"
#include "nccl_net_check/exchange.hpp"

namespace heddle::net_check::ends {
namespace {

void barrier(Rank& rank) { rank.mail.barrier(rank.patience()); }

// How operations ended: "3 done, 1 test: ncclRemoteError (6)".
std::string summary(Exchange& exchange) {
  std::map<std::string, int> counts;
  for (const auto& operation : exchange.operations()) ++counts[operation.state()];
  std::string text;
  for (const auto& [state, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, state);
  return text;
}

// Until all are over; throws Failure when they are not within the peer's timeout.
std::string must_end(Rank& rank, Exchange& exchange, const char* what) {
  const auto start = base::Clock::now();
  if (!exchange.settle(rank.settings.peer_timeout))
    fault("{} s after {}: {}", rank.settings.peer_timeout, what, summary(exchange));
  return fmt::format("{} after {:.2f} s", summary(exchange), base::seconds_since(start));
}

void deregister_anyhow(std::vector<Buffer>& buffers) {
  for (auto& buffer : buffers) buffer.deregister();
}

// A message to the next rank over a new connection: whether the plugin still works.
void use_new_ring(Rank& rank) {
  const auto links = ring(rank);
  const Buffer out(links.out[0], 5000), in(links.in[0], 5000);
  fill(out.span(), rank.settings.seed + rank.number);
  Exchange exchange(rank);
  exchange.receive(links.in[0], in, 5000);
  exchange.send(links.out[0], out, 5000);
  exchange.run();
  in.check(0, 5000, rank.settings.seed + rank.previous());
  barrier(rank);
}

std::vector<Buffer> buffers_of(const Comm& comm, std::size_t count, std::size_t bytes) {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < count; ++i) buffers.emplace_back(comm, bytes);
  return buffers;
}

}  // namespace

Finding done_then_close(Rank& rank) {
  constexpr std::size_t kMessages = 8, kBytes = 1 << 20;
  if (rank.number == 0) {
    auto comm = send_comm_to(rank, 1);
    auto buffers = buffers_of(comm, kMessages, kBytes);
    Exchange exchange(rank);
    for (std::size_t i = 0; i < kMessages; ++i) {
      fill(buffers[i].span(), rank.settings.seed + i);
      exchange.send(comm, buffers[i], i % 2 ? kBytes : 500);
    }
    exchange.run();
    for (auto& buffer : buffers) buffer.deregister();
    comm.close();
  } else {
    auto comm = receive_comm_from(rank, 0);
    auto buffers = buffers_of(comm, kMessages, kBytes);
    Exchange exchange(rank);
    for (std::size_t i = 0; i < kMessages; ++i) exchange.receive(comm, buffers[i], kBytes);
    exchange.post_all();
    // Not looking for a while, so that the sender is gone first where it can be.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    exchange.run();
    for (std::size_t i = 0; i < kMessages; ++i)
      buffers[i].check(0, i % 2 ? kBytes : 500, rank.settings.seed + i);
  }
  barrier(rank);
  return {};
}

Finding sender_closes(Rank& rank) {
  std::string text;
  if (rank.number == 0) {
    auto comm = receive_comm_from(rank, 1);
    auto buffers = buffers_of(comm, 4, 1 << 20);
    Exchange exchange(rank);
    for (auto& buffer : buffers) exchange.receive(comm, buffer, buffer.size());
    exchange.post_all();
    barrier(rank);
    text = "receives: " + must_end(rank, exchange, "closeSend");
    deregister_anyhow(buffers);
    comm.close_anyhow();
    rank.mail.send(1, std::byte{});
  } else {
    auto comm = send_comm_to(rank, 0);
    barrier(rank);
    comm.close();
    rank.mail.receive<std::byte>(0, base::Seconds(rank.settings.peer_timeout + 5));
  }
  use_new_ring(rank);
  return text;
}

Finding receiver_closes(Rank& rank) {
  constexpr std::size_t kMessages = 8, kBytes = 4 << 20;
  std::string text;
  if (rank.number == 0) {
    auto comm = send_comm_to(rank, 1);
    auto buffers = buffers_of(comm, kMessages, kBytes);
    Exchange exchange(rank);
    // Without a receive there need be no request, for ever.
    for (auto& buffer : buffers) exchange.send(comm, buffer, kBytes).give_up_posting = 0.5;
    barrier(rank);
    text = "sends: " + must_end(rank, exchange, "closeRecv");
    deregister_anyhow(buffers);
    comm.close_anyhow();
    rank.mail.send(1, std::byte{});
  } else {
    auto comm = receive_comm_from(rank, 0);
    auto buffers = buffers_of(comm, kMessages, kBytes);
    Exchange exchange(rank);
    for (auto& buffer : buffers) exchange.receive(comm, buffer, kBytes);
    exchange.post_all();
    barrier(rank);
    exchange.settle(0.002);
    deregister_anyhow(buffers);
    comm.close_anyhow();
    rank.mail.receive<std::byte>(0, base::Seconds(rank.settings.peer_timeout + 5));
  }
  use_new_ring(rank);
  return text;
}

Finding both_close(Rank& rank) {
  constexpr std::size_t kMessages = 8, kBytes = 2 << 20;
  double longest = 0;
  for (int round = 0; round < 3; ++round) {
    auto links = ring(rank);
    auto out = buffers_of(links.out[0], kMessages, kBytes);
    auto in = buffers_of(links.in[0], kMessages, kBytes);
    {
      Exchange exchange(rank);
      for (std::size_t i = 0; i < kMessages; ++i) {
        exchange.receive(links.in[0], in[i], kBytes);
        if (round > 0) exchange.send(links.out[0], out[i], kBytes);
      }
      exchange.settle(0.001 * round);
    }
    const auto start = base::Clock::now();
    deregister_anyhow(out);
    deregister_anyhow(in);
    links.out[0].close_anyhow();
    links.in[0].close_anyhow();
    longest = std::max(longest, base::seconds_since(start));
  }
  if (longest > rank.settings.patience) fault("closing took {:.1f} s", longest);
  barrier(rank);
  use_new_ring(rank);
  return fmt::format("closed within {:.0f} ms", 1e3 * longest);
}

Finding peer_killed(Rank& rank) {
  constexpr std::size_t kMessages = 4, kBytes = 8 << 20;
  auto links = ring(rank);
  auto out = buffers_of(links.out[0], kMessages, kBytes);
  auto in = buffers_of(links.in[0], kMessages, kBytes);
  Exchange exchange(rank);
  for (auto& buffer : in) exchange.receive(links.in[0], buffer, kBytes);
  exchange.post_all();
  barrier(rank);
  if (rank.number == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(getpid(), SIGKILL);
  }
  for (auto& buffer : out) exchange.send(links.out[0], buffer, kBytes).give_up_posting = 1;
  const auto text = must_end(rank, exchange, "the peer's death");
  for (std::size_t i = 0; i < kMessages; ++i)
    if (const auto& receive = exchange.operations()[i]; receive.done())
      fault("a receive is done, and nothing was sent to it");
  deregister_anyhow(out);
  deregister_anyhow(in);
  links.out[0].close_anyhow();
  links.in[0].close_anyhow();
  const auto pair = loopback(rank);
  const Buffer from(pair.out, 100), to(pair.in, 100);
  fill(from.span(), 1);
  Exchange after(rank);
  after.receive(pair.in, to, 100);
  after.send(pair.out, from, 100);
  after.run();
  to.check(0, 100, 1);
  return text;
}

}  // namespace heddle::net_check::ends
