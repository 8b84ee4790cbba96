// Processes that meet for the first time, or ask each other for new endpoints, where rails have
// had several.
#include "support.hpp"

using namespace fabric_test;

namespace {

constexpr PipeOptions kOptions{8, 1 << 20};

base::Settings quick() {
  base::Settings with = settings("tcp");
  with.rail_timeout = 0.5;
  return with;
}

void renew(FabricTransport& fabric, std::size_t rail) {
  const auto endpoints = [&] { return fabric.rail_metrics()[rail].new_endpoints; };
  const auto before = endpoints();
  fabric.renew_rail(static_cast<int>(rail), "the test wants it");
  eventually(fabric, "a new endpoint", [&] { return endpoints() > before; });
}

bool all_up(const FabricTransport& fabric) {
  return std::ranges::all_of(fabric.rail_metrics(),
                             [](const auto& rail) { return rail.links_up == rail.links; });
}

}  // namespace

TEST_CASE("processes that know each other's old endpoints only find each other") {
  struct Case {
    std::vector<std::size_t> here, there;  // rails renewed since the addresses were published
  };
  for (const Case& renewed :
       {Case{{0, 1}, {}}, Case{{}, {0, 1}}, Case{{0}, {1}}, Case{{0, 1}, {0}}}) {
    INFO(renewed.here.size() << " here, " << renewed.there.size() << " there");
    auto a = open_rails(quick(), 2), b = open_rails(quick(), 2);
    const std::string address[2] = {a->address(), b->address()};
    for (const std::size_t rail : renewed.here) renew(*a, rail);
    for (const std::size_t rail : renewed.there) renew(*b, rail);
    std::unique_ptr<SendPipe> out;
    std::unique_ptr<ReceivePipe> in;
    CHECK_NOTHROW(both(
        [&] {
          out = connect(*a, address[1], key(0, 1), kOptions);
          send(*a, *out, 0, 0, 1 << 20);
          flush(*a, *out);
          eventually(*a, "all links", [&] { return all_up(*a); });
        },
        [&] {
          in = accept(*b, address[0], key(0, 1), kOptions);
          expect(*b, *in, 0, 0, 1 << 20);
          eventually(*b, "all links", [&] { return all_up(*b); });
        }));
    both([&] { out.reset(), a.reset(); }, [&] { in.reset(), b.reset(); });
  }
}

// Rank 1's rail gets a new endpoint while it writes to rank 0, so it wants rank 0's end of the rail
// closed, by which rank 2 is reached.
TEST_CASE("an endpoint that is some process's only way is not closed for another's sake") {
  constexpr int kRounds = 20;
  std::string refusal;
  for (int round = 0; round < kRounds && refusal.empty(); ++round) {
    auto target = open_rails(quick(), 2), asker = open_rails(quick(), 2);
    auto single = open_rails(quick(), 1);
    const std::string address = target->address();
    std::unique_ptr<SendPipe> asking, other;
    std::unique_ptr<ReceivePipe> from_asker, from_other;
    both(
        [&] {
          from_asker = accept(*target, asker->address(), key(1, 0), kOptions);
          from_other = accept(*target, single->address(), key(2, 0), kOptions);
        },
        [&] {
          asking = connect(*asker, address, key(1, 0), kOptions);
          other = connect(*single, address, key(2, 0), kOptions);
        });
    for (int i = 0; i < kOptions.slots / 2; ++i) send(*asker, *asking, 1, i, 1 << 20);
    asker->renew_rail(0, "the test wants it");
    try {
      eventually(*asker, "an end", [&] {
        target->progress();
        return asking->flushed();
      });
    } catch (const base::Error& error) {
      refusal = error.what();  // none where all had arrived before
    }
    CHECK_NOTHROW(both([&] { send(*single, *other, 2, 0, 1 << 20), flush(*single, *other); },
                       [&] { expect(*target, *from_other, 2, 0, 1 << 20); }));
    CHECK(target->rail_metrics()[0].new_endpoints == 0);
    both(
        [&] {
          asking.reset(), other.reset();
          asker.reset(), single.reset();
        },
        [&] {
          from_asker.reset(), from_other.reset();
          target.reset();
        });
  }
  CHECK_THAT(refusal, Catch::Matchers::Contains("rail lo0") &&
                          Catch::Matchers::Contains("others reach it over that rail alone"));
}
