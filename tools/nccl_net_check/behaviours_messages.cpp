// Messages that NCCL sends every day.
#include <algorithm>
#include <atomic>
#include <random>

#include "nccl_net_check/behaviour.hpp"
#include "nccl_net_check/exchange.hpp"

namespace heddle::net_check::messages {
namespace {

// Content of the n-th message of a rank.
std::uint64_t seed_of(const Rank& rank, int from, std::size_t index) {
  return rank.settings.seed * 1'000'003 + static_cast<std::uint64_t>(from) * 100'000 + index;
}

// A connection to the next rank and one from the previous, with buffers of equal parts.
class Line {
 public:
  Line(Rank& rank, std::size_t parts, std::size_t bytes)
      : rank_(rank),
        links(net_check::ring(rank)),
        out(links.out[0], parts * bytes),
        in(links.in[0], parts * bytes),
        bytes_(bytes) {}

  Operation& send(Exchange& exchange, std::size_t index, std::size_t bytes) {
    auto* data = out.data() + index * bytes_;
    fill({data, bytes}, seed_of(rank_, rank_.number, index));
    return exchange.send(links.out[0], {data, bytes, rank_.number, out.memory()});
  }
  Operation& receive(Exchange& exchange, std::size_t index, std::size_t bytes) {
    return exchange.receive(links.in[0],
                            {{in.data() + index * bytes_, bytes, rank_.previous(), in.memory()}});
  }
  // That the n-th message was received, with so many bytes.
  void check(const Operation& receive, std::size_t index, std::size_t bytes) const {
    if (!receive.without_sizes && receive.sizes[0] != static_cast<int>(bytes))
      fault("message {} of {} bytes: test says {}", index, bytes, receive.sizes[0]);
    try {
      in.check(index * bytes_, bytes, seed_of(rank_, rank_.previous(), index));
    } catch (const Failure& wrong) {
      fault("message {}: {}", index, wrong.what());
    }
  }

 private:
  Rank& rank_;

 public:
  Links links;
  Buffer out, in;

 private:
  std::size_t bytes_;
};

void barrier(Rank& rank) { rank.mail.barrier(rank.patience()); }

// As many messages as sizes: receives of `posted` bytes first, or as the plugin takes them.
void transfer(Rank& rank, Line& line, const std::vector<std::size_t>& sizes, std::size_t posted) {
  Exchange exchange(rank);
  std::vector<Operation*> receives;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    receives.push_back(&line.receive(exchange, i, posted));
  for (std::size_t i = 0; i < sizes.size(); ++i) line.send(exchange, i, sizes[i]);
  exchange.run();
  for (std::size_t i = 0; i < sizes.size(); ++i) line.check(*receives[i], i, sizes[i]);
  barrier(rank);
}

std::vector<std::size_t> all_sizes(const Rank& rank) {
  std::vector<std::size_t> sizes{0, 1, 2, 3, 5, 7};
  for (std::size_t power = 8; power <= (1 << 20); power *= 2)
    sizes.insert(sizes.end(), {power - 1, power, power + 1});
  sizes.push_back((3 << 20) - 4099);
  for (std::size_t power = 2 << 20; power <= (64 << 20); power *= 2) sizes.push_back(power);
  std::erase_if(sizes, [&](auto size) { return size > rank.properties().most_bytes; });
  return sizes;
}

}  // namespace

Finding sizes(Rank& rank) {
  const auto sizes = all_sizes(rank);
  Line line(rank, 1, sizes.back());
  for (const auto size : sizes) {
    line.in.blank(size);
    transfer(rank, line, {size}, size);
    line.in.check_untouched_but(0, size);
  }
  return fmt::format("{} sizes to {} MiB", sizes.size(), sizes.back() >> 20);
}

Finding zero_bytes(Rank& rank) {
  Line line(rank, 9, 4096);
  transfer(rank, line, {0, 100, 0, 0, 4096, 0, 1, 0, 0}, 4096);
  transfer(rank, line, {0, 0, 0}, 0);
  return {};
}

Finding unaligned(Rank& rank) {
  const auto links = ring(rank);
  for (const std::size_t offset : {1, 2, 3, 7, 13, 31, 61, 127, 4095})
    for (const std::size_t bytes : {1, 9, 255, 5001, 70'003}) {
      Buffer out(links.out[0], bytes, offset);
      Buffer in(links.in[0], bytes, 4096 - offset);
      fill(out.span(), seed_of(rank, rank.number, offset));
      Exchange exchange(rank);
      exchange.receive(links.in[0], in, bytes);
      exchange.send(links.out[0], out, bytes);
      exchange.run();
      in.check(0, bytes, seed_of(rank, rank.previous(), offset));
      in.check_untouched_but(0, bytes);
      out.deregister();
      in.deregister();
    }
  barrier(rank);
  return {};
}

Finding in_flight(Rank& rank) {
  constexpr std::size_t kMessages = nccl_abi::kMostRequests;
  constexpr std::size_t kMost = 128 << 10;
  Line line(rank, kMessages, kMost);
  Exchange exchange(rank);
  std::vector<Operation*> receives;
  for (std::size_t i = 0; i < kMessages; ++i) receives.push_back(&line.receive(exchange, i, kMost));
  exchange.post_all();
  barrier(rank);
  for (std::size_t i = 0; i < kMessages; ++i) line.send(exchange, i, kMost - 1000 * i);
  exchange.run();
  for (std::size_t i = 0; i < kMessages; ++i) line.check(*receives[i], i, kMost - 1000 * i);
  barrier(rank);
  return {};
}

Finding order(Rank& rank) {
  constexpr std::size_t kMessages = 300, kMost = 64 << 10;
  Line line(rank, kMessages, kMost);
  std::vector<std::size_t> sizes;
  std::mt19937_64 random(rank.settings.seed);
  for (std::size_t i = 0; i < kMessages; ++i) {
    // Short and long ones in turn take different ways through a plugin.
    const bool small = random() % 2 == 0;
    sizes.push_back(1 + random() % (small ? 512 : kMost));
  }
  transfer(rank, line, sizes, kMost);
  return fmt::format("{} messages", kMessages);
}

Finding send_first(Rank& rank) {
  Line line(rank, 4, 200'000);
  Exchange exchange(rank);
  constexpr std::size_t kSizes[] = {100, 200'000, 0, 5000};
  std::vector<Operation*> receives;
  for (std::size_t i = 0; i < 4; ++i) line.send(exchange, i, kSizes[i]);
  const bool all = exchange.settle(0.1);
  const bool some = exchange.operations().front().request != nullptr;
  barrier(rank);
  for (std::size_t i = 0; i < 4; ++i) receives.push_back(&line.receive(exchange, i, kSizes[i]));
  exchange.run();
  for (std::size_t i = 0; i < 4; ++i) line.check(*receives[i], i, kSizes[i]);
  barrier(rank);
  return std::string(all    ? "sends are done before"
                     : some ? "sends are accepted before"
                            : "isend gives no request before");
}

Finding receive_first(Rank& rank) {
  Line line(rank, 2, 100'000);
  Exchange exchange(rank);
  std::vector<Operation*> receives{&line.receive(exchange, 0, 100),
                                   &line.receive(exchange, 1, 100'000)};
  exchange.post_all();
  exchange.settle(0.1);
  for (auto* receive : receives)
    if (receive->over) fault("a receive is over before anything was sent: {}", receive->state());
  barrier(rank);
  line.send(exchange, 0, 100);
  line.send(exchange, 1, 100'000);
  exchange.run();
  line.check(*receives[0], 0, 100);
  line.check(*receives[1], 1, 100'000);
  barrier(rank);
  return {};
}

Finding no_sizes(Rank& rank) {
  Line line(rank, 2, 50'000);
  Exchange exchange(rank);
  std::vector<Operation*> receives;
  for (const std::size_t i : {0, 1}) {
    receives.push_back(&line.receive(exchange, i, 50'000));
    line.send(exchange, i, i ? 50'000 : 10);
  }
  for (auto& operation : exchange.operations()) operation.without_sizes = true;
  exchange.run();
  line.check(*receives[0], 0, 10);
  line.check(*receives[1], 1, 50'000);
  barrier(rank);
  return {};
}

Finding optional_completion(Rank& rank) {
  if (rank.net().version() < 9) throw Skipped("NCCL has it from version 9");
  Line line(rank, 20, 1000);
  Exchange exchange(rank);
  std::vector<Operation*> receives;
  for (std::size_t i = 0; i < 20; ++i) {
    receives.push_back(&line.receive(exchange, i, 1000));
    // NOLINTNEXTLINE: a mark, not an address.
    receives.back()->hint = reinterpret_cast<void*>(nccl_abi::kOptionalReceiveCompletion);
    receives.back()->without_sizes = true;
    line.send(exchange, i, 1000);
  }
  exchange.run();
  // Done may come before the data here; the ranks have all sent when the barrier is passed, and a
  // completion that is asked for comes after those before it.
  Exchange last(rank);
  line.receive(last, 0, 1000);
  line.send(last, 0, 1000);
  last.run();
  for (std::size_t i = 0; i < 20; ++i) line.check(*receives[i], i, 1000);
  barrier(rank);
  return {};
}

Finding many_comms(Rank& rank) {
  constexpr std::size_t kBytes = 32 << 10, kMessages = 4;
  const auto comms = static_cast<std::size_t>(rank.settings.comms);
  const auto links = ring(rank, rank.settings.comms);
  std::vector<Buffer> out, in;
  Exchange exchange(rank);
  const auto fill_part = [&](Buffer& buffer, std::size_t comm, std::size_t part) {
    const auto bytes = buffer.span().subspan(part * kBytes, kBytes);
    fill(bytes, seed_of(rank, rank.number, comm * kMessages + part));
    return Slot{bytes.data(), kBytes, rank.number, buffer.memory()};
  };
  for (std::size_t i = 0; i < comms; ++i) {
    out.emplace_back(links.out[i], kMessages * kBytes);
    in.emplace_back(links.in[i], kMessages * kBytes);
    for (std::size_t part = 0; part < kMessages; ++part) {
      exchange.receive(links.in[i],
                       {{in[i].data() + part * kBytes, kBytes, rank.previous(), in[i].memory()}});
      exchange.send(links.out[i], fill_part(out[i], i, part));
    }
  }
  exchange.run();
  for (std::size_t i = 0; i < comms; ++i)
    for (std::size_t part = 0; part < kMessages; ++part)
      in[i].check(part * kBytes, kBytes, seed_of(rank, rank.previous(), i * kMessages + part));
  barrier(rank);
  return fmt::format("{} connections to the next rank", comms);
}

Finding register_meanwhile(Rank& rank) {
  constexpr std::size_t kMessages = 100, kBytes = 16 << 10;
  Line line(rank, kMessages, kBytes);
  std::atomic<bool> over{false};
  std::vector<std::byte> memory(1 << 20);
  auto times = rank.service_meanwhile([&] {
    int count = 0;
    for (; !over || count < 10; ++count)
      for (const auto* comm : {&line.links.out[0], &line.links.in[0]}) {
        void* known = nullptr;
        const std::size_t from = 4096 * (count % 16);
        expect(rank.net().register_host(comm->get(), memory.data() + from, 100'000, &known),
               "regMr");
        expect(rank.net().deregister(comm->get(), known), "deregMr");
      }
    return count;
  });
  try {
    const std::vector<std::size_t> sizes(kMessages, kBytes);
    for (int i = 0; i < 3; ++i) transfer(rank, line, sizes, kBytes);
  } catch (...) {
    over = true;
    times.wait_for(std::chrono::seconds(1));
    throw;
  }
  over = true;
  return fmt::format("{} registrations meanwhile", 2 * times.get());
}

Finding flush(Rank& rank) {
  Line line(rank, 1, 1000);
  transfer(rank, line, {1000}, 1000);
  void* request = nullptr;
  const auto result =
      rank.net().flush(line.links.in[0].get(), line.in.data(), 1000, line.in.memory(), &request);
  if (result != Result::success) return {"iflush: " + text_of(result), true};
  const base::Deadline deadline(rank.patience());
  for (int done = request == nullptr; !done;) {
    expect(rank.net().test(request, &done, nullptr), "test of a flush");
    if (deadline.passed()) fault("a flush is not done within {} s", rank.settings.patience);
  }
  barrier(rank);
  return std::string(request ? "with a request" : "nothing to wait for");
}

}  // namespace heddle::net_check::messages
