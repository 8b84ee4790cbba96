// Selection: the table answers every request, and what was asked for is taken or refused aloud.
#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "catch.hpp"
#include "collectives/select.hpp"

namespace heddle::collectives {
namespace {

constexpr auto kAllReduce = base::Collective::all_reduce;
constexpr auto kAllGather = base::Collective::all_gather;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("every row names an algorithm that has the collective, and can be reached") {
  for (const SelectionRow& row : selection_table()) {
    const Algorithm* algorithm = algorithm_named(row.algorithm);
    REQUIRE(algorithm != nullptr);
    CHECK(algorithm->supports(row.collective));
    CHECK(row.channels >= 1);
    CHECK(row.min_ranks <= row.max_ranks);
    // Its largest number of bytes is answered by this very row for some number of ranks, and with
    // hosts if it needs them.
    bool reached = false;
    for (const int ranks : {row.min_ranks, row.min_ranks + 7, std::min(row.max_ranks, 64)})
      for (const int ranks_per_host : {0, 4})
        if (ranks_per_host == 0 || ranks % ranks_per_host == 0)
          reached |= choose({.collective = row.collective,
                             .bytes = row.up_to_bytes,
                             .ranks = ranks,
                             .reach = row.place == Place::one_host ? Reach::local : Reach::fabric,
                             .ranks_per_host = ranks_per_host,
                             .rails = row.place == Place::several_rails ? 2 : 1})
                         .algorithm == algorithm;
    INFO(base::name_of(row.collective) << " " << row.algorithm << " " << row.min_ranks);
    CHECK(reached);
  }
}

TEST_CASE("every request is answered") {
  for (int c = 0; c < base::kCollectives; ++c)
    for (const Reach reach : {Reach::local, Reach::fabric})
      for (int ranks = 1; ranks <= 300; ++ranks)
        for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{8192},
                                  std::size_t{8193}, std::size_t{1} << 20, std::size_t{1} << 40,
                                  std::numeric_limits<std::size_t>::max()}) {
          const auto collective = static_cast<base::Collective>(c);
          const Selection selection = choose({collective, bytes, ranks, reach});
          REQUIRE(selection.algorithm != nullptr);
          REQUIRE(selection.algorithm->supports(collective));
          REQUIRE(selection.channels >= 1);
          REQUIRE_FALSE(selection.force_refused);
          REQUIRE_FALSE(selection.why.empty());
        }
}

TEST_CASE("what the table names can do the call") {
  for (int c = 0; c < base::kCollectives; ++c)
    for (const Reach reach : {Reach::local, Reach::fabric})
      for (const int ranks : {1, 2, 4, 12, 64, 4096})
        for (const std::size_t bytes :
             {std::size_t{64}, std::size_t{1} << 18, std::size_t{1} << 30})
          for (const bool uneven : {false, true}) {
            const auto collective = static_cast<base::Collective>(c);
            // An uneven all-reduce or broadcast has no blocks to differ.
            if (uneven && base::input_blocks(collective, 2) == base::output_blocks(collective, 2) &&
                collective != base::Collective::all_to_all)
              continue;
            const auto selection = choose({.collective = collective,
                                           .bytes = bytes,
                                           .ranks = ranks,
                                           .reach = reach,
                                           .ranks_per_host = 4,
                                           .uneven = uneven,
                                           .slot_bytes = 4096});
            const Shape shape{collective, ranks, selection.channels, 0, 4};
            INFO(selection.why << " " << ranks << " " << bytes << " " << uneven);
            CHECK(can_do(*selection.algorithm, shape));
            CHECK(selection.algorithm->parts(shape) * 64 <= 4096);
            if (uneven) CHECK(selection.algorithm->uneven);
          }
}

TEST_CASE("hosts that are alike are used, others are not") {
  const SelectionRequest alike{.collective = kAllReduce,
                               .bytes = 1 << 26,
                               .ranks = 16,
                               .reach = Reach::fabric,
                               .ranks_per_host = 8};
  CHECK(choose(alike).algorithm->name == "hierarchical");
  SelectionRequest few = alike;
  few.ranks = 4;
  few.ranks_per_host = 2;
  CHECK(choose(few).algorithm->name == "hierarchical");
  few.bytes = 8;
  CHECK(choose(few).algorithm->name == "recursive-doubling");
  CHECK(choose(few).channels == 1);
  // Not in a single host of that shape, nor where every rank has a host.
  SelectionRequest one = alike;
  one.ranks = 8;
  CHECK(choose(one).algorithm->name != "hierarchical");
  SelectionRequest apart = alike;
  apart.ranks_per_host = 1;
  CHECK(choose(apart).algorithm->name == "ring");
  SelectionRequest unlike = alike;
  unlike.ranks_per_host = 0;
  CHECK(choose(unlike).algorithm->name == "ring");
}

TEST_CASE("large all-reduces over several rails go on as many channels, up to four") {
  SelectionRequest request{
      .collective = kAllReduce, .bytes = 1 << 26, .ranks = 2, .reach = Reach::fabric, .rails = 1};
  CHECK(choose(request).channels == 1);
  request.rails = 3;
  CHECK(choose(request).channels == 3);
  CHECK(contains(choose(request).why, "or one a rail"));
  request.rails = 32;
  CHECK(choose(request).channels == 4);
  request.forced_channels = 7;
  CHECK(choose(request).channels == 7);
  request.forced_channels = 0;
  request.bytes = 1024;
  CHECK(choose(request).channels == 1);
  // A row that was not measured with several channels keeps its own.
  request.collective = base::Collective::all_to_all;
  request.bytes = 1 << 26;
  CHECK(choose(request).channels == 1);
}

TEST_CASE("large messages of two ranks go by ring, small ones by one-shot") {
  for (const Reach reach : {Reach::local, Reach::fabric}) {
    CHECK(choose({kAllReduce, 8, 2, reach}).algorithm->name == "one-shot");
    CHECK(choose({kAllReduce, std::size_t{1} << 28, 2, reach}).algorithm->name == "ring");
  }
}

TEST_CASE("the table is printed a row a line") {
  const std::string text = selection_text();
  CHECK(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) ==
        selection_table().size());
  CHECK(contains(text,
                 "all-reduce, several hosts, 33 or more ranks, up to 8 MiB: tree on 1 channel\n"));
  CHECK(contains(choose({kAllReduce, 8, 2, Reach::local}).why, "all-reduce, one host, "));
}

TEST_CASE("what is forced is taken") {
  for (const Algorithm& algorithm : algorithms()) {
    if (!can_do(algorithm, {kAllReduce, 4, 1})) continue;
    const Selection selection = choose({kAllReduce, 1000, 4, Reach::local, algorithm.name, 3});
    CHECK(selection.algorithm->name == algorithm.name);
    CHECK(selection.channels == 3);
    CHECK_FALSE(selection.force_refused);
    CHECK(contains(selection.why, "was asked for"));
    CHECK(contains(selection.why, "channels 3"));
  }
  const Selection by_table = choose({kAllReduce, 1000, 4, Reach::local});
  CHECK(choose({kAllReduce, 1000, 4, Reach::local, "auto"}).algorithm == by_table.algorithm);
}

TEST_CASE("usable is what can do the call and has room for its chunks in a slot") {
  const Algorithm& bruck = *algorithm_named("bruck");
  SelectionRequest request{base::Collective::all_to_all, 8, 256, Reach::fabric};
  CHECK(usable(bruck, request));  // slots of a size that is not known hold anything
  request.slot_bytes = 128 * 64;
  CHECK(usable(bruck, request));  // up to 128 of the 256 blocks in a message
  --request.slot_bytes;
  CHECK_FALSE(usable(bruck, request));
  request.slot_bytes = 0;
  request.uneven = true;
  CHECK(usable(bruck, request) == bruck.uneven);
  request.collective = kAllReduce;
  CHECK_FALSE(usable(bruck, request));
}

TEST_CASE("a forced algorithm without the collective gives way to the table and says so") {
  const Selection selection = choose({kAllGather, 1000, 4, Reach::fabric, "tree"});
  CHECK(selection.force_refused);
  CHECK(selection.algorithm == choose({kAllGather, 1000, 4, Reach::fabric}).algorithm);
  CHECK(contains(selection.why, "tree was asked for but has no all-gather"));
}

TEST_CASE("a name that no algorithm has, and channels below 0, are errors") {
  try {
    choose({kAllReduce, 1000, 4, Reach::local, "rnig"});
    FAIL("accepted");
  } catch (const base::Error& error) {
    CHECK(error.code() == heddleInvalidArgument);
    CHECK(contains(error.what(), "\"rnig\""));
    CHECK(contains(error.what(), "auto, ring, tree, one-shot, two-shot"));
  }
  CHECK_THROWS_AS(choose({kAllReduce, 1000, 4, Reach::local, "ring", -1}), base::Error);
}

}  // namespace
}  // namespace heddle::collectives
