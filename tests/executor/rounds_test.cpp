#include "collectives/rounds.hpp"

#include "base/types.hpp"
#include "catch.hpp"

using heddle::collectives::Chunk;
using heddle::collectives::chunk_of;
using heddle::collectives::cut_into_rounds;
using heddle::collectives::kPieceAlign;
using heddle::collectives::Rounds;

namespace {

// Walks all chunks in order: they must tile the block and fit a slot.
void require_tiling(std::size_t count, std::size_t element_bytes, std::size_t pieces,
                    std::size_t slot_bytes) {
  CAPTURE(count, element_bytes, pieces, slot_bytes);
  const Rounds cut = cut_into_rounds(count, element_bytes, pieces, slot_bytes);
  std::size_t next = 0;
  for (std::size_t round = 0; round < cut.rounds; ++round) {
    std::size_t in_round = 0;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const Chunk chunk = chunk_of(cut, count, round, piece);
      if (chunk.count == 0) continue;
      const bool fits = chunk.offset == next && chunk.count * element_bytes <= slot_bytes &&
                        chunk.offset * element_bytes % kPieceAlign == 0;
      if (!fits) FAIL("round " << round << " piece " << piece << " at " << chunk.offset);
      next += chunk.count;
      in_round += chunk.count;
    }
    if (in_round == 0) FAIL("round " << round << " is empty");
  }
  REQUIRE(next == count);
}

}  // namespace

TEST_CASE("chunks tile a block, in order, and fit the slots") {
  for (const std::size_t element : {1, 2, 4, 8}) {
    for (const std::size_t pieces : {1, 2, 3, 5, 8, 12, 64}) {
      for (const std::size_t slot : {64, 100, 4096}) {
        for (const std::size_t count :
             {1, 2, 7, 15, 16, 17, 31, 33, 63, 64, 65, 1000, 4097, 100003}) {
          require_tiling(count, element, pieces, slot);
        }
      }
    }
  }
}

TEST_CASE("rounds are equal and no more than the slots ask for") {
  // 10 slots' worth and one element: eleven rounds, none of them nearly empty.
  const Rounds cut = cut_into_rounds(10 * 1024 + 1, 4, 1, 4096);
  REQUIRE(cut.rounds == 11);
  REQUIRE(cut.segment == 944);  // 931 up to a multiple of 16
  REQUIRE(chunk_of(cut, 10 * 1024 + 1, 10, 0).count == 801);
  // Exactly what fits is one round less than one more element.
  REQUIRE(cut_into_rounds(4 * 1024, 4, 4, 4096).rounds == 1);
  REQUIRE(cut_into_rounds(4 * 1024 + 1, 4, 4, 4096).rounds == 2);
  // A short message uses the first pieces.
  const Rounds small = cut_into_rounds(10, 4, 8, 4096);
  REQUIRE(chunk_of(small, 10, 0, 0).count == 10);
  REQUIRE(chunk_of(small, 10, 0, 1).count == 0);
}

TEST_CASE("nothing to move is no round") {
  REQUIRE(cut_into_rounds(0, 8, 4, 4096).rounds == 0);
  STATIC_REQUIRE(cut_into_rounds(1, 8, 4, 4096).rounds == 1);
}

TEST_CASE("over-2^31: rounds and chunks of 2^40 elements over 4096 ranks") {
  for (int type = 0; type < heddleNumTypes; ++type) {
    const std::size_t element = heddle::base::size_of(static_cast<heddle::base::DataType>(type));
    for (const std::size_t pieces : {std::size_t{1}, std::size_t{4096} * 64}) {
      for (const std::size_t odd : {0, 1, 12345}) {
        const std::size_t count = (std::size_t{1} << 40) + odd;
        const std::size_t slot = std::size_t{1} << 20;
        const Rounds cut = cut_into_rounds(count, element, pieces, slot);
        REQUIRE(cut.rounds * cut.segment >= count);
        REQUIRE((cut.rounds - 1) * cut.segment < count);
        REQUIRE(cut.piece * element <= slot);
        const Chunk last = chunk_of(cut, count, cut.rounds - 1, 0);
        REQUIRE(last.offset == (cut.rounds - 1) * cut.segment);
        REQUIRE(last.count > 0);
        // The bytes of all blocks together still fit the address arithmetic.
        REQUIRE((std::size_t{4095} * count + last.offset) * element / element ==
                std::size_t{4095} * count + last.offset);
      }
    }
  }
}
