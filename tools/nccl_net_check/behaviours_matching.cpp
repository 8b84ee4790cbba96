// Which receive a message goes to, and what happens when the two differ in length.
#include <algorithm>
#include <array>
#include <cstdio>
#include <random>

#include "nccl_net_check/behaviour.hpp"
#include "nccl_net_check/exchange.hpp"

namespace heddle::net_check::matching {
namespace {

void barrier(Rank& rank) { rank.mail.barrier(rank.patience()); }

}  // namespace

Finding receive_larger(Rank& rank) {
  const auto links = ring(rank);
  constexpr std::array<std::array<std::size_t, 2>, 6> kSentPosted = {
      {{1, 4096}, {100, 101}, {5000, 1 << 20}, {70'000, 70'001}, {1 << 20, 4 << 20}, {0, 1 << 20}}};
  const Buffer out(links.out[0], 1 << 20);
  Buffer in(links.in[0], 4 << 20);
  for (const auto& [sent, posted] : kSentPosted) {
    in.blank();
    fill(out.span().first(sent), rank.settings.seed + sent + rank.number);
    Exchange exchange(rank);
    const auto& receive = exchange.receive(links.in[0], in, posted);
    exchange.send(links.out[0], out, sent);
    exchange.run();
    if (receive.sizes[0] != static_cast<int>(sent))
      fault("{} bytes into a receive of {}: test says {}", sent, posted, receive.sizes[0]);
    in.check(0, sent, rank.settings.seed + sent + rank.previous());
    in.check_untouched_but(0, sent);
    barrier(rank);
  }
  return {};
}

namespace {

// How one end of a message that does not fit ended.
struct Ending {
  bool over = false, failed = false;
  int bytes = 0;  // as test says
  std::array<char, 64> text{};
};

// This end's, and then the other's; each gets some time, and a little more once the other failed.
std::array<Ending, 2> endings(Rank& rank, Exchange& exchange) {
  base::Deadline deadline{base::Seconds(std::min(2.0, rank.settings.patience))};
  const auto& operation = exchange.operations().front();
  const int peer = 1 - rank.number;
  std::array<Ending, 2> both{};
  bool told = false, heard = false;
  while (!told || !heard) {
    if (!told) exchange.step();
    if (!told && (operation.over || deadline.passed())) {
      both[0] = {operation.over, operation.failed_in != nullptr, operation.sizes[0], {}};
      std::snprintf(both[0].text.data(), both[0].text.size(), "%s", operation.state().c_str());
      rank.mail.send(peer, both[0]);
      told = true;
    }
    if (!heard && (told || rank.mail.arrived(peer))) {
      both[1] = rank.mail.receive<Ending>(peer, rank.patience() + base::Seconds(2));
      heard = true;
      if (both[1].failed) deadline = base::Deadline{base::Seconds(0.3)};
    }
  }
  return both;
}

// What to say of it; throws Failure. `truncated` is set when that is what the plugin does.
std::string judge(const Rank& rank, const Ending& sender, const Ending& receiver, std::size_t sent,
                  std::size_t posted, bool& truncated) {
  const auto text = fmt::format("{} B into {}: sender {}, receiver {}", sent, posted,
                                sender.text.data(), receiver.text.data());
  if (sender.failed || receiver.failed) return text;
  if (!sender.over || !receiver.over) fault("{}: no error on either side", text);
  if (receiver.bytes != static_cast<int>(posted))
    fault("{}, which test says has {} bytes", text, receiver.bytes);
  truncated = true;
  if (!rank.properties().registration_is_global)
    fault("{} B into {}: truncated without an error", sent, posted);
  return fmt::format("{} B into {}: truncates", sent, posted);
}

}  // namespace

Finding receive_smaller(Rank& rank) {
  constexpr std::array<std::array<std::size_t, 2>, 4> kSentPosted = {
      {{64, 16}, {1, 0}, {64 << 10, 1 << 10}, {4 << 20, 100'000}}};
  std::string text;
  bool truncated = false;
  for (const auto& [sent, posted] : kSentPosted) {
    Exchange exchange(rank);
    if (rank.number == 0) {
      auto comm = send_comm_to(rank, 1);
      Buffer out(comm, sent);
      fill(out.span(), rank.settings.seed);
      barrier(rank);
      exchange.send(comm, out, sent);
      const auto [sender, receiver] = endings(rank, exchange);
      text += (text.empty() ? "" : "; ") + judge(rank, sender, receiver, sent, posted, truncated);
      out.deregister();
      comm.close_anyhow();
    } else {
      auto comm = receive_comm_from(rank, 0);
      Buffer in(comm, posted);
      exchange.receive(comm, in, posted);
      exchange.post_all();
      barrier(rank);
      endings(rank, exchange);
      in.check_untouched_but(0, posted);
      in.deregister();
      comm.close_anyhow();
    }
    barrier(rank);
  }
  return {text, truncated};
}

namespace {

// A grouped receive and the messages for it: tags by buffer, buffers in the order of sending.
struct Group {
  std::vector<int> tags;
  std::vector<std::size_t> sent_to;
};

std::vector<Group> groups(std::size_t most, std::uint64_t seed) {
  std::vector<Group> result;
  std::mt19937_64 random(seed);
  for (std::size_t count = 2; count <= most; ++count) {
    Group apart, same, mixed;
    for (std::size_t i = 0; i < count; ++i) {
      apart.tags.push_back(static_cast<int>(100 + 7 * i));
      same.tags.push_back(3);
      mixed.tags.push_back(static_cast<int>(i % 3));
      apart.sent_to.push_back(count - 1 - i);
      same.sent_to.push_back(i);
      mixed.sent_to.push_back(i);
    }
    // Messages of one tag keep their order; those of different tags take any.
    std::shuffle(mixed.sent_to.begin(), mixed.sent_to.end(), random);
    for (int tag = 0; tag < 3; ++tag) {
      std::vector<std::size_t> of_tag;
      for (const auto slot : mixed.sent_to)
        if (mixed.tags[slot] == tag) of_tag.push_back(slot);
      std::sort(of_tag.begin(), of_tag.end());
      auto next = of_tag.begin();
      for (auto& slot : mixed.sent_to)
        if (mixed.tags[slot] == tag) slot = *next++;
    }
    result.insert(result.end(), {apart, same, mixed, apart});
  }
  return result;
}

std::size_t bytes_of(std::size_t group, std::size_t slot) {
  constexpr std::array<std::size_t, 5> kSizes = {0, 17, 4096, 100'000, 64};
  return kSizes[(group + slot) % kSizes.size()];
}

}  // namespace

Finding grouped(Rank& rank) {
  const auto most = std::min(rank.properties().most_grouped, nccl_abi::kMostGrouped);
  if (most < 2) throw Skipped("maxRecvs is 1");
  constexpr std::size_t kPosted = 128 << 10;
  const auto all = groups(static_cast<std::size_t>(most), rank.settings.seed);
  const auto links = ring(rank);
  const auto whole = all.size() * most * kPosted;
  const Buffer out(links.out[0], whole), in(links.in[0], whole);
  const auto seed_of = [&](int from, std::size_t at) {
    return rank.settings.seed + 1'000'000 * from + at;
  };
  const auto at_of = [&](std::size_t group, std::size_t slot) {
    return (group * most + slot) * kPosted;
  };
  Exchange exchange(rank);
  std::vector<Operation*> receives;
  for (std::size_t g = 0; g < all.size(); ++g) {
    std::vector<Slot> slots;
    for (std::size_t s = 0; s < all[g].tags.size(); ++s)
      slots.push_back({in.data() + at_of(g, s), kPosted, all[g].tags[s], in.memory()});
    receives.push_back(&exchange.receive(links.in[0], slots));
    for (const auto s : all[g].sent_to) {
      const auto at = at_of(g, s);
      fill(out.span().subspan(at, bytes_of(g, s)), seed_of(rank.number, at));
      exchange.send(links.out[0], {out.data() + at, bytes_of(g, s), all[g].tags[s], out.memory()});
    }
  }
  exchange.run();
  for (std::size_t g = 0; g < all.size(); ++g)
    for (std::size_t s = 0; s < all[g].tags.size(); ++s) {
      if (receives[g]->sizes[s] != static_cast<int>(bytes_of(g, s)))
        fault("buffer {} of a group of {}: {} bytes were sent, test says {}", s, all[g].tags.size(),
              bytes_of(g, s), receives[g]->sizes[s]);
      in.check(at_of(g, s), bytes_of(g, s), seed_of(rank.previous(), at_of(g, s)));
    }
  barrier(rank);
  return fmt::format("{} groups of 2 to {}", all.size(), most);
}

Finding tags(Rank& rank) {
  constexpr std::size_t kBytes = 5000;
  const auto seed_of = [&](int tag) { return rank.settings.seed + 10 * tag; };
  if (rank.number == 1) {
    const auto comm = receive_comm_from(rank, 0);
    const Buffer one(comm, kBytes), two(comm, kBytes);
    Exchange exchange(rank);
    exchange.receive(comm, one, kBytes, 1);
    exchange.receive(comm, two, kBytes, 2);
    exchange.post_all();
    barrier(rank);
    exchange.run();
    const bool swapped =
        !first_wrong(one.span(), seed_of(2)) && !first_wrong(two.span(), seed_of(1));
    if (swapped && rank.properties().most_grouped > 1)
      fault("a message with tag 2 was delivered to the receive of tag 1");
    if (!swapped) {
      one.check(0, kBytes, seed_of(1));
      two.check(0, kBytes, seed_of(2));
    }
    barrier(rank);
    // NCCL, too, tells such a plugin apart by nothing but maxRecvs.
    return swapped ? Finding("tags are ignored, which maxRecvs 1 allows", true) : Finding();
  }
  const auto comm = send_comm_to(rank, 1);
  const Buffer one(comm, kBytes), two(comm, kBytes);
  fill(one.span(), seed_of(1));
  fill(two.span(), seed_of(2));
  barrier(rank);
  Exchange early(rank), exchange(rank);
  auto& second = early.send(comm, two, kBytes, 2);
  const base::Deadline deadline{base::Seconds(0.1)};
  while (!second.request && !second.failed_in && !deadline.passed()) early.step();
  if (second.failed_in) fault("the tag of a later receive: {}", second.state());
  const bool accepted = second.request != nullptr;
  exchange.send(comm, one, kBytes, 1);
  if (!accepted) exchange.send(comm, two, kBytes, 2);
  exchange.run();
  if (accepted) early.run();
  barrier(rank);
  return std::string(accepted ? "accepted before its turn" : "no request before its turn");
}

}  // namespace heddle::net_check::matching
