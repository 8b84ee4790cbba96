// What the real provider refuses, this one refuses: limits, registration, keys.
#include <sys/mman.h>

#include <algorithm>

#include "client.hpp"
#include "errors.hpp"

using namespace client;
using namespace emulated_efa;

TEST_CASE("a write with an immediate arrives whole") {
  const Setting setting;
  Pair pair;
  const std::size_t bytes = GENERATE(1, 1000, 1 << 20);
  REQUIRE(pair.write(0, bytes, 0xdeadbeef) == 0);
  REQUIRE(pair.wait([&] { return !pair.seen_from.empty() && !pair.seen_to.empty(); }));
  CHECK(pair.seen_from[0].error == 0);
  CHECK(pair.seen_from[0].entry.op_context == &pair.contexts[0]);
  CHECK(pair.seen_from[0].entry.flags == (FI_RMA | FI_WRITE));
  CHECK(pair.seen_to[0].entry.data == 0xdeadbeef);
  CHECK(pair.seen_to[0].entry.flags == (FI_REMOTE_CQ_DATA | FI_RMA | FI_REMOTE_WRITE));
  CHECK(pair.seen_to[0].entry.len == bytes);
  CHECK(pair.seen_to[0].entry.op_context == nullptr);
  CHECK(std::equal(pair.source.begin(), pair.source.begin() + static_cast<long>(bytes),
                   pair.target.begin()));
  CHECK(std::all_of(pair.target.begin() + static_cast<long>(bytes), pair.target.end(),
                    [](std::uint8_t byte) { return byte == 0; }));
}

TEST_CASE("a passive target is written to without its calls") {
  const Setting setting;
  Pair pair;
  REQUIRE(pair.write(0, 1000, 1) == 0);
  const auto end = Clock::now() + std::chrono::seconds(10);
  std::optional<Seen> seen;
  while (!seen && Clock::now() < end) seen = pair.from.poll();
  REQUIRE(seen);
  CHECK(seen->error == 0);
  CHECK(pair.target[999] == pair.source[999]);
}

TEST_CASE("limits are enforced at the post") {
  const Setting setting;
  Pair pair;
  CHECK(pair.write(0, 8, std::uint64_t{1} << 32) == -FI_EINVAL);
  CHECK(fi_inject(pair.from.ep(), pair.source.data(), 4096, pair.peer) == 0);
  CHECK(fi_inject(pair.from.ep(), pair.source.data(), 4097, pair.peer) == -FI_EINVAL);
  CHECK(fi_send(pair.from.ep(), pair.source.data(), 8, pair.from.desc(pair.source_region), 99,
                nullptr) == -FI_EINVAL);
  iovec pieces[5];
  void* desc[5];
  for (int i = 0; i < 5; ++i) {
    pieces[i] = {pair.source.data() + i, 1};
    desc[i] = pair.from.desc(pair.source_region);
  }
  CHECK(fi_sendv(pair.from.ep(), pieces, desc, 4, pair.peer, &pair.contexts[0]) == 0);
  CHECK(fi_sendv(pair.from.ep(), pieces, desc, 5, pair.peer, &pair.contexts[1]) == -FI_EINVAL);
  CHECK(fi_tsend(pair.from.ep(), pair.source.data(), 8, pair.from.desc(pair.source_region),
                 pair.peer, 1, nullptr) == -FI_EOPNOTSUPP);
  CHECK(fi_read(pair.from.ep(), pair.source.data(), 8, nullptr, pair.peer, 0, 0, nullptr) ==
        -FI_ENOSYS);
}

TEST_CASE("queues are as deep as they say") {
  const Setting setting("hang 0 at 0s");
  Pair pair;
  const std::size_t depth = pair.from.info().tx_attr->size;
  std::size_t taken = 0;
  while (pair.write(0, 8, 1) == 0) REQUIRE(++taken <= depth);
  CHECK(taken == depth);
  CHECK(pair.write(0, 8, 1) == -FI_EAGAIN);
  const std::size_t receives = pair.to.info().rx_attr->size;
  const auto receive = [&] {
    return fi_recv(pair.to.ep(), pair.target.data(), 8, pair.to.desc(pair.target_region),
                   FI_ADDR_UNSPEC, nullptr);
  };
  for (std::size_t i = 0; i < receives; ++i) REQUIRE(receive() == 0);
  CHECK(receive() == -FI_EAGAIN);
}

TEST_CASE("efa-direct: sends of one packet, small injects, no injected writes") {
  const Setting setting("", "0", "efa-direct");
  Pair pair;
  void* desc = pair.from.desc(pair.source_region);
  CHECK(fi_send(pair.from.ep(), pair.source.data(), 8760, desc, pair.peer, &pair.contexts[0]) == 0);
  CHECK(fi_send(pair.from.ep(), pair.source.data(), 8761, desc, pair.peer, &pair.contexts[0]) ==
        -FI_EMSGSIZE);
  CHECK(fi_inject(pair.from.ep(), pair.source.data(), 33, pair.peer) == -FI_EINVAL);
  CHECK(fi_inject_write(pair.from.ep(), pair.source.data(), 1, pair.peer,
                        reinterpret_cast<std::uint64_t>(pair.target.data()),
                        fi_mr_key(pair.target_region)) == -FI_EINVAL);
  // Without a context there is no completion.
  REQUIRE(fi_write(pair.from.ep(), pair.source.data(), 8, desc, pair.peer,
                   reinterpret_cast<std::uint64_t>(pair.target.data()),
                   fi_mr_key(pair.target_region), nullptr) == 0);
  REQUIRE(pair.wait([&] { return pair.target[7] != 0; }));
  CHECK_FALSE(pair.wait([&] { return pair.seen_from.size() > 1; }, 0.05));
}

TEST_CASE("local memory must be registered, for this use and still") {
  const Setting setting;
  Pair pair;
  fid_ep* const ep = pair.from.ep();
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(pair.target.data());
  const std::uint64_t key = fi_mr_key(pair.target_region);
  std::vector<std::uint8_t> elsewhere(64, 9);
  const auto write = [&](const void* buffer, std::size_t bytes, void* desc) {
    return fi_write(ep, buffer, bytes, desc, pair.peer, at, key, &pair.contexts[0]);
  };
  // No descriptor at all.
  CHECK(write(pair.source.data(), 8, nullptr) == -FI_EINVAL);
  CHECK(fi_recv(pair.to.ep(), pair.target.data(), 8, nullptr, FI_ADDR_UNSPEC, nullptr) ==
        -FI_EINVAL);
  // Another memory's, too short a one, one for receiving, one that is no more, one that never was.
  void* const good = pair.from.desc(pair.source_region);
  fid_mr* const receive_only = pair.from.reg(elsewhere.data(), 64, FI_RECV);
  fid_mr* const closed = pair.from.reg(elsewhere.data(), 64, FI_WRITE);
  void* const stale = pair.from.desc(closed);
  pair.from.close_region(closed);
  const auto fails = [&](const void* buffer, std::size_t bytes, void* desc) {
    if (write(buffer, bytes, desc) != 0) return false;
    const Seen seen = pair.next_from();
    return seen.error == FI_EINVAL && seen.status == kLocalKey;
  };
  CHECK(fails(elsewhere.data(), 64, good));
  CHECK(fails(pair.source.data() + pair.source.size() - 4, 8, good));
  CHECK(fails(elsewhere.data(), 64, pair.from.desc(receive_only)));
  CHECK(fails(elsewhere.data(), 64, stale));
  CHECK(fails(elsewhere.data(), 64, &pair));
  CHECK(pair.target[0] == 0);
}

TEST_CASE("memory that is not there, or too much of it, is not registered") {
  const Setting setting("memlock 8192");
  Client client(0);
  fid_mr* region = nullptr;
  std::vector<std::uint8_t> memory(16384);
  const auto reg = [&](void* at, std::size_t bytes) {
    return fi_mr_reg(client.domain(), at, bytes, FI_SEND, 0, 0, 0, &region, nullptr);
  };
  CHECK(reg(nullptr, 8) == -FI_EINVAL);
  CHECK(reg(memory.data(), 0) == -FI_EINVAL);
  CHECK(reg(memory.data(), 8193) == -FI_ENOMEM);
  void* gone = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(gone != MAP_FAILED);
  REQUIRE(munmap(gone, 4096) == 0);
  CHECK(reg(gone, 4096) == -FI_EFAULT);
  REQUIRE(reg(memory.data(), 8192) == 0);
  fid_mr* const first = region;
  CHECK(reg(memory.data(), 1) == -FI_ENOMEM);
  REQUIRE(fi_close(&first->fid) == 0);
  REQUIRE(reg(memory.data(), 1) == 0);
  REQUIRE(fi_close(&region->fid) == 0);
}

TEST_CASE("a wrong key is an error at the writer and nothing at the target") {
  const Setting setting;
  Pair pair;
  std::vector<std::uint8_t> shelf(4096);
  fid_mr* const not_for_writes = pair.to.reg(shelf.data(), shelf.size(), FI_SEND);
  fid_mr* const closed = pair.to.reg(shelf.data(), shelf.size(), FI_REMOTE_WRITE);
  const std::uint64_t closed_key = fi_mr_key(closed);
  pair.to.close_region(closed);
  const std::uint64_t good = fi_mr_key(pair.target_region);
  struct Wrong {
    std::uint64_t at, key;
  };
  const auto target = reinterpret_cast<std::uint64_t>(pair.target.data());
  const auto shelf_at = reinterpret_cast<std::uint64_t>(shelf.data());
  for (const Wrong& wrong :
       {Wrong{target, good + 1}, Wrong{target, good + (std::uint64_t{1} << 32)},
        Wrong{target + (1 << 20) - 50, good}, Wrong{target - 1, good}, Wrong{0, good},
        Wrong{~std::uint64_t{0} - 10, good}, Wrong{shelf_at, fi_mr_key(not_for_writes)},
        Wrong{shelf_at, closed_key}}) {
    REQUIRE(fi_writedata(pair.from.ep(), pair.source.data(), 100,
                         pair.from.desc(pair.source_region), 5, pair.peer, wrong.at, wrong.key,
                         &pair.contexts[0]) == 0);
    const Seen seen = pair.next_from();
    CHECK(seen.error == FI_EINVAL);
    CHECK(seen.status == kRemoteAddress);
    CHECK_THAT(seen.text, Catch::Matchers::Contains("emulated"));
  }
  CHECK(pair.seen_to.empty());
  CHECK(std::ranges::all_of(pair.target, [](std::uint8_t byte) { return byte == 0; }));
  CHECK(std::ranges::all_of(shelf, [](std::uint8_t byte) { return byte == 0; }));
  // The endpoint is as good as before.
  REQUIRE(pair.write(0, 100, 5) == 0);
  CHECK(pair.next_from().error == 0);
}

TEST_CASE("a target that does not know the writer refuses it") {
  const Setting setting;
  Pair pair(FI_MSG | FI_RMA, false);
  REQUIRE(pair.write(0, 8, 1) == 0);
  const Seen seen = pair.next_from();
  CHECK(seen.error == FI_ENOTCONN);
  CHECK(seen.status == kUnknownPeer);
  pair.to.insert(pair.from.address());
  REQUIRE(pair.write(0, 8, 1) == 0);
  CHECK(pair.next_from().error == 0);
}

TEST_CASE("keys do not come again soon and have no order") {
  const Setting setting;
  Client client(0);
  std::vector<std::uint8_t> memory(64);
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 1000; ++i) {
    fid_mr* const region = client.reg(memory.data(), 64, FI_REMOTE_WRITE);
    keys.push_back(fi_mr_key(region));
    client.close_region(region);
  }
  CHECK(std::ranges::all_of(keys, [](std::uint64_t key) { return key >> 32 == 0; }));
  CHECK_FALSE(std::ranges::is_sorted(keys));
  std::ranges::sort(keys);
  CHECK(std::ranges::adjacent_find(keys) == keys.end());
}

TEST_CASE("messages meet receives, whichever is first, and are cut with an error") {
  const Setting setting;
  Pair pair(FI_MSG | FI_TAGGED);
  void* const out = pair.from.desc(pair.source_region);
  void* const in = pair.to.desc(pair.target_region);
  const std::size_t bytes = GENERATE(100, 200000);
  const auto send = [&](std::uint64_t tag) {
    return fi_tsend(pair.from.ep(), pair.source.data(), bytes, out, pair.peer, tag,
                    &pair.contexts[0]);
  };
  const auto receive = [&](std::uint64_t tag, std::size_t room) {
    return fi_trecv(pair.to.ep(), pair.target.data(), room, in, FI_ADDR_UNSPEC, tag, 0,
                    &pair.contexts[tag]);
  };
  REQUIRE(receive(7, bytes) == 0);
  REQUIRE(send(7) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 1 && pair.seen_from.size() == 1; }));
  CHECK(pair.seen_to[0].entry.len == bytes);
  CHECK(pair.seen_to[0].entry.op_context == &pair.contexts[7]);
  CHECK(pair.target[bytes - 1] == pair.source[bytes - 1]);
  REQUIRE(send(8) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_from.size() == 2; }));
  REQUIRE(receive(8, 50) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 2; }));
  CHECK(pair.seen_to[1].error == FI_ETRUNC);
  // A receive that is cancelled says so.
  REQUIRE(receive(9, 50) == 0);
  REQUIRE(fi_cancel(&pair.to.ep()->fid, &pair.contexts[9]) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 3; }));
  CHECK(pair.seen_to[2].error == FI_ECANCELED);
}
