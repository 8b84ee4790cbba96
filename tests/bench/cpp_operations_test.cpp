// Every operation of the C++ API by ranges, blocking and not, between three ranks; groups, scaled
// sums, and the sizes that are refused.
#include <exception>
#include <functional>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/text.hpp"
#include "catch.hpp"
#include "heddle/heddle.hpp"
#include "support/errors.hpp"

using heddle::Communicator;
using heddle::Error;
using heddle::Op;
using heddle::test::what_of;
using Floats = std::vector<float>;
using Counts = std::vector<std::size_t>;

namespace {

constexpr int kRanks = 3;

// Catch2's macros are not for several threads at once: ranks throw instead.
void same(const Floats& got, const Floats& expected, const char* what) {
  if (got == expected) return;
  std::string text = std::string(what) + ":";
  for (const float value : got) text += ' ' + std::to_string(value);
  throw std::runtime_error(text);
}

void on_ranks(const std::function<void(Communicator&)>& body) {
  const heddle::UniqueId id = heddle::UniqueId::make();
  std::vector<std::exception_ptr> failures(kRanks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      std::optional<Communicator> communicator;
      try {
        communicator.emplace(Communicator::from_unique_id(id, kRanks, rank));
        body(*communicator);
      } catch (...) {
        failures[static_cast<std::size_t>(rank)] = std::current_exception();
        if (communicator) communicator->abort();  // the others shall end too
      }
    });
  for (std::thread& thread : threads) thread.join();
  // An abort makes the others fail as well: the first cause is what is no Error.
  for (const std::exception_ptr& failure : failures) {
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      UNSCOPED_INFO(error.what());
    }
  }
  CHECK(std::count(failures.begin(), failures.end(), nullptr) == kRanks);
}

// The blocking call and the one that is waited for, each into zeros of `size`.
template <typename Blocking, typename Asynchronous>
void both(const char* what, std::size_t size, const Floats& expected, Blocking blocking,
          Asynchronous asynchronous) {
  Floats receive(size);
  blocking(receive);
  same(receive, expected, what);
  receive.assign(size, 0);
  asynchronous(receive).wait();
  same(receive, expected, what);
}

}  // namespace

TEST_CASE("operations with a root, by ranges") {
  on_ranks([](Communicator& world) {
    const auto rank = static_cast<float>(world.rank());
    for (int root = 0; root < kRanks; ++root) {
      const bool at_root = world.rank() == root;
      const auto r = static_cast<float>(root);
      const Floats nothing;
      const Floats send = {rank, 10 + rank}, from_root = at_root ? send : nothing;
      both(
          "broadcast", 2, {r, 10 + r}, [&](Floats& out) { world.broadcast(from_root, out, root); },
          [&](Floats& out) { return world.broadcast_async(from_root, out, root); });
      const std::size_t at = at_root ? 1 : 0;
      both(
          "reduce", 2 * at, at_root ? Floats{3, 33} : nothing,
          [&](Floats& out) { world.reduce(send, out, Op::sum, root); },
          [&](Floats& out) { return world.reduce_async(send, out, Op::sum, root); });
      both(
          "gather", 6 * at, at_root ? Floats{0, 10, 1, 11, 2, 12} : nothing,
          [&](Floats& out) { world.gather(send, out, root); },
          [&](Floats& out) { return world.gather_async(send, out, root); });
      const Floats parts = at_root ? Floats{r, 1, r, 2, r, 3} : nothing;
      both(
          "scatter", 2, {r, rank + 1}, [&](Floats& out) { world.scatter(parts, out, root); },
          [&](Floats& out) { return world.scatter_async(parts, out, root); });
      Floats buffer = send;
      world.broadcast(buffer, root);
      same(buffer, {r, 10 + r}, "broadcast in place");
      buffer = send;
      world.broadcast_async(buffer, root).wait();
      same(buffer, {r, 10 + r}, "broadcast_async in place");
      buffer = send;
      world.reduce(buffer, Op::max, root);
      same(buffer, at_root ? Floats{2, 12} : send, "reduce in place");
      buffer = send;
      world.reduce_async(buffer, Op::min, root).wait();
      same(buffer, at_root ? Floats{0, 10} : send, "reduce_async in place");
    }
  });
}

TEST_CASE("operations without a root, by ranges") {
  on_ranks([](Communicator& world) {
    const auto rank = static_cast<float>(world.rank());
    const Floats own = {rank}, send = {10 * rank, 10 * rank + 1, 10 * rank + 2};
    both(
        "all_reduce", 3, {30, 33, 36}, [&](Floats& out) { world.all_reduce(send, out, Op::sum); },
        [&](Floats& out) { return world.all_reduce_async(send, out, Op::sum); });
    both(
        "all_gather", 3, {0, 1, 2}, [&](Floats& out) { world.all_gather(own, out); },
        [&](Floats& out) { return world.all_gather_async(own, out); });
    both(
        "reduce_scatter", 1, {30 + 3 * rank},
        [&](Floats& out) { world.reduce_scatter(send, out, Op::sum); },
        [&](Floats& out) { return world.reduce_scatter_async(send, out, Op::sum); });
    both(
        "all_to_all", 3, {rank, 10 + rank, 20 + rank},
        [&](Floats& out) { world.all_to_all(send, out); },
        [&](Floats& out) { return world.all_to_all_async(send, out); });
    world.barrier();
    world.barrier_async().wait();
  });
}

TEST_CASE("blocks of different lengths, by ranges") {
  on_ranks([](Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    const Counts counts = {1, 0, 2}, displacements = {3, 0, 0};
    const Floats own(counts[rank], static_cast<float>(rank) + 1);
    both(
        "all_gather_v", 3, {1, 3, 3}, [&](Floats& out) { world.all_gather_v(own, out, counts); },
        [&](Floats& out) { return world.all_gather_v_async(own, out, counts); });
    both(
        "all_gather_v, displaced", 4, {3, 3, 0, 1},
        [&](Floats& out) {
          world.all_gather_v(own, out, {counts, displacements});
        },
        [&](Floats& out) {
          return world.all_gather_v_async(own, out, {counts, displacements});
        });
    const Floats send = {1, 2, 3};
    const Floats reduced[] = {{3}, {}, {6, 9}};
    both(
        "reduce_scatter_v", counts[rank], reduced[rank],
        [&](Floats& out) { world.reduce_scatter_v(send, out, counts, Op::sum); },
        [&](Floats& out) { return world.reduce_scatter_v_async(send, out, counts, Op::sum); });
    // Rank r sends r elements of its number to each rank.
    const Counts sends(kRanks, rank), receives = {0, 1, 2}, gaps = {0, 4, 1};
    const Floats parts(kRanks * rank, static_cast<float>(rank));
    both(
        "all_to_all_v", 3, {1, 2, 2},
        [&](Floats& out) { world.all_to_all_v(parts, sends, out, receives); },
        [&](Floats& out) { return world.all_to_all_v_async(parts, sends, out, receives); });
    both(
        "all_to_all_v, displaced", 5, {0, 2, 2, 0, 1},
        [&](Floats& out) {
          world.all_to_all_v(parts, sends, out, {receives, gaps});
        },
        [&](Floats& out) {
          return world.all_to_all_v_async(parts, sends, out, {receives, gaps});
        });
  });
}

TEST_CASE("sends, receives and groups of them") {
  on_ranks([](Communicator& world) {
    const int next = (world.rank() + 1) % kRanks, last = (world.rank() + kRanks - 1) % kRanks;
    const Floats send(100000, static_cast<float>(world.rank()));
    const Floats expected(100000, static_cast<float>(last));
    Floats receive(100000);
    heddle::group([&] {
      world.send(send, next);
      world.receive(receive, last);
    });
    same(receive, expected, "group");
    receive.assign(receive.size(), -1);
    heddle::group_async([&] {
      world.send(send, next);
      heddle::group([&] { world.receive(receive, last); });  // an inner group is part of the outer
    }).wait();
    same(receive, expected, "group_async");
    // One after another, so that nobody waits for nobody.
    receive.assign(receive.size(), -1);
    if (world.rank() == 0) world.send(send, 1);
    if (world.rank() == 1) world.receive(receive, 0);
    if (world.rank() == 1) world.send_async(send, 2).wait();
    if (world.rank() == 2) world.receive_async(receive, 1).wait();
    if (world.rank() > 0) same(receive, expected, "send and receive");
  });
}

TEST_CASE("a group whose body throws does nothing, and the next one works") {
  on_ranks([](Communicator& world) {
    Floats values = {1, 2};
    bool thrown = false;
    try {
      heddle::group([&] {
        world.all_reduce(values, Op::sum);
        throw std::out_of_range("mine");
      });
    } catch (const std::out_of_range&) {
      thrown = true;
    }
    if (!thrown) throw std::runtime_error("the body's exception is lost");
    same(values, {1, 2}, "after the throw");
    const std::string text = what_of<Error>([&] {
      heddle::group([&] {
        world.all_reduce(values, Op::sum);
        world.all_gather(values, values);
      });
    });
    if (!has(text, "all_gather: send holds 2 elements")) throw std::runtime_error(text);
    same(values, {1, 2}, "after the failed call");
    if (!heddle::group_async([] {}).done()) throw std::runtime_error("an empty group is not done");
    heddle::group_async([] {}).wait();
    heddle::group([&] { world.all_reduce(values, Op::sum); });
    same(values, {3, 6}, "the next group");
  });
}

TEST_CASE("scaled sums stand wherever an op does, and move") {
  on_ranks([](Communicator& world) {
    const auto rank = static_cast<float>(world.rank());
    heddle::PreScaledSum made = world.pre_scaled_sum(rank + 1);
    const heddle::PreScaledSum scaled = std::move(made);
    const Floats ones = {1, 2, 3}, sums = {6, 12, 18};
    both(
        "all_reduce", 3, sums, [&](Floats& out) { world.all_reduce(ones, out, scaled); },
        [&](Floats& out) { return world.all_reduce_async(ones, out, scaled); });
    both(
        "reduce_scatter", 1, {6 * (rank + 1)},
        [&](Floats& out) { world.reduce_scatter(ones, out, scaled); },
        [&](Floats& out) { return world.reduce_scatter_async(ones, out, scaled); });
    Floats buffer = ones;
    world.reduce(buffer, scaled, 1);
    same(buffer, world.rank() == 1 ? sums : ones, "reduce");
    const std::vector<double> doubles = {1};
    std::vector<double> out(1);
    const std::string text = what_of<Error>([&] { world.all_reduce(doubles, out, scaled); });
    if (!has(text, "float")) throw std::runtime_error(text);
  });
}

TEST_CASE("sizes that fit no operation are refused, with both named") {
  on_ranks([](Communicator& world) {
    Floats three(3), four(4), nine(9);
    const Counts counts = {1, 2, 3}, two = {1, 2}, far = {0, 0, 9};
    const auto expect = [&](const std::string& got, const char* part) {
      if (!has(got, part)) throw std::runtime_error(got + " lacks " + part);
    };
    if (world.rank() == 0) {
      expect(what_of<Error>([&] { world.broadcast(three, four, 0); }),
             "broadcast: send holds 3 elements and receive 4; they must be equal");
      expect(what_of<Error>([&] { world.reduce(four, three, Op::sum, 0); }),
             "reduce: send holds 4 elements and receive 3; they must be equal");
      expect(what_of<Error>([&] { world.gather(four, nine, 0); }),
             "gather: send holds 4 elements and receive 9; receive must hold 3 times as many, a "
             "part per rank");
      expect(what_of<Error>([&] { world.scatter(nine, four, 0); }),
             "scatter: send holds 9 elements and receive 4; send must hold 3 times as many");
      expect(what_of<Error>([&] { world.reduce_scatter_v(nine, three, counts, Op::sum); }),
             "receive holds 3 elements; the count of this rank, 0, is 1");
    }
    expect(what_of<Error>([&] { world.all_to_all(four, four); }),
           "all_to_all: send holds 4 elements and receive 4; they must be equal and a multiple of "
           "3, a part per rank");
    expect(what_of<Error>([&] { world.all_to_all(three, nine); }),
           "send holds 3 elements and receive 9");
    expect(what_of<Error>([&] { world.all_gather_v(nine, nine, counts); }),
           "all_gather_v: send holds 9 elements; the count of this rank");
    const Floats own(counts[static_cast<std::size_t>(world.rank())]);
    expect(what_of<Error>([&] { world.all_gather_v(own, three, counts); }),
           "all_gather_v: receive holds 3 elements; its blocks end at 6");
    expect(what_of<Error>([&] {
             world.all_gather_v(own, nine, {counts, far});
           }),
           "its blocks end at 12");
    expect(what_of<Error>([&] { world.all_gather_v(Floats(own), nine, two); }),
           "counts holds 2 entries of 3 ranks; allowed: one a rank");
    expect(what_of<Error>([&] {
             world.all_to_all_v(nine, counts, nine, {counts, two});
           }),
           "displacements holds 2 entries of 3 ranks");
  });
}
