#include "transport/shared_memory/streaming_choice.hpp"

#include "catch.hpp"

using heddle::transport::StreamingChoice;

namespace {

struct Costs {
  double cached, streamed;
};

// How many of `messages` are streamed where writing costs so much.
int streamed_of(StreamingChoice& choice, int messages, const Costs& costs) {
  int streamed = 0;
  for (int i = 0; i < messages; ++i) {
    const bool stream = choice.next();
    choice.took(stream, stream ? costs.streamed : costs.cached);
    streamed += stream ? 1 : 0;
  }
  return streamed;
}

}  // namespace

TEST_CASE("slots are streamed where that is clearly faster, and both ways are tried on") {
  StreamingChoice choice;
  const int first = streamed_of(choice, 64, {0.5, 0.07});
  CHECK(first > 64 - 12);
  const int later = streamed_of(choice, 320, {0.5, 0.07});
  CHECK(later == 310);
}

TEST_CASE("slots stay in the caches where that is as fast") {
  StreamingChoice choice;
  streamed_of(choice, 64, {0.07, 0.08});
  CHECK(streamed_of(choice, 320, {0.07, 0.08}) == 10);
  StreamingChoice equal;
  streamed_of(equal, 64, {0.07, 0.05});
  CHECK(streamed_of(equal, 320, {0.07, 0.05}) == 10);
}

TEST_CASE("the choice follows the processors when they move") {
  StreamingChoice choice;
  streamed_of(choice, 64, {0.07, 0.08});
  streamed_of(choice, 320, {0.5, 0.07});
  CHECK(streamed_of(choice, 320, {0.5, 0.07}) == 310);
  streamed_of(choice, 320, {0.07, 0.08});
  CHECK(streamed_of(choice, 320, {0.07, 0.08}) == 10);
}

TEST_CASE("a few interruptions decide nothing") {
  StreamingChoice choice;
  streamed_of(choice, 64, {0.07, 0.08});
  for (int i = 0; i < 4; ++i) choice.took(false, 50);
  CHECK(streamed_of(choice, 31, {0.07, 0.08}) <= 1);
}
