#include "model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <mutex>

#include "elements.hpp"

namespace heddle::test {
namespace {

using base::Collective;

// Such that eight of them add up to a number that the type holds exactly.
std::uint64_t value_range(base::DataType type) {
  switch (type) {
    case heddleInt8: return 15;
    case heddleUint8:
    case heddleBfloat16: return 30;
    case heddleFloat16: return 200;
    case heddleFloat8e4m3: return 3;
    case heddleFloat8e5m2: return 2;
    default: return 100'000;
  }
}

// Such that the type holds each of them, where nothing is added.
std::uint64_t lone_value_range(base::DataType type) {
  switch (type) {
    case heddleInt8: return 128;
    case heddleUint8: return 256;
    case heddleFloat8e4m3: return 17;
    case heddleFloat8e5m2: return 9;
    default: return value_range(type);
  }
}

double combine(base::RedOp op, double a, double b) {
  switch (op) {
    case heddleProd: return a * b;
    case heddleMin: return std::min(a, b);
    case heddleMax: return std::max(a, b);
    default: return a + b;
  }
}

// Whether `got` is `expected`, up to the one rounding that an average of floats has.
bool agrees(const Operation& operation, double got, double expected) {
  const bool rounds =
      base::reduces(operation.collective) && operation.op == heddleAvg && is_float(operation.type);
  if (!rounds) return got == expected;
  // Two units in the last place: the expected value is cut off, and a division may be a
  // multiplication by the reciprocal.
  return std::abs(got - expected) <=
         std::ldexp(std::abs(expected), 2 - significant_bits(operation.type));
}

std::size_t sum(const std::vector<std::size_t>& counts) {
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  return total;
}

}  // namespace

std::size_t uneven_count(std::size_t longest, int from, int to) {
  switch ((from + 3 * to) % 4) {
    case 0: return longest / 2;
    case 1: return longest;
    case 2: return 0;
    default: return std::min<std::size_t>(longest, 1);
  }
}

namespace {

bool spreads(Collective collective) { return base::input_blocks(collective, 2) > 1; }
bool collects(Collective collective) { return base::output_blocks(collective, 2) > 1; }

}  // namespace

// Elements that a rank's contribution has for `to`, or of `from` in a result.
std::size_t Model::count_of(int from, int to) const {
  const Collective collective = operation_.collective;
  if (!operation_.uneven || !(spreads(collective) || collects(collective))) return operation_.count;
  return uneven_count(operation_.count, collects(collective) ? from : 0,
                      spreads(collective) ? to : 0);
}

std::vector<std::size_t> Model::input_counts(int rank) const {
  const auto& [collective, type, op, ranks, count, root, uneven, scaled] = operation_;
  std::vector<std::size_t> counts;
  for (int to = 0; to < base::input_blocks(collective, ranks, rank, root); ++to)
    counts.push_back(count_of(rank, to));
  return counts;
}

std::vector<std::size_t> Model::output_counts(int rank) const {
  const auto& [collective, type, op, ranks, count, root, uneven, scaled] = operation_;
  std::vector<std::size_t> counts;
  for (int from = 0; from < base::output_blocks(collective, ranks, rank, root); ++from)
    counts.push_back(count_of(from, rank));
  return counts;
}

// What makes every partial sum exact also in the types that hold few numbers.
double Model::scale_value(int rank) const {
  if (value_range(operation_.type) > 1000) return rank + 2;
  constexpr double kScales[] = {2, 0, 1, 1};  // of four ranks in a row: 4 in all
  return kScales[rank % 4];
}

double Model::input_value(int rank, int block, std::size_t index) const {
  const auto at = static_cast<std::size_t>(block) * operation_.count + index;
  const bool reduces = base::reduces(operation_.collective);
  if (reduces && operation_.op == heddleProd) {
    // Powers of two of which at most two of eight ranks have one at a place; int8 holds four.
    const double sign = is_signed(operation_.type) && (at / 7 + rank) % 3 == 0 ? -1 : 1;
    return sign * ((at + static_cast<std::size_t>(rank)) % 4 == 0 ? 2 : 1);
  }
  // Weyl steps by two odd constants: neighbours and ranks differ.
  const std::uint64_t mixed = (at + 1) * 0x9E3779B97F4A7C15U + (rank + 1) * 0xBF58476D1CE4E5B9U;
  const std::uint64_t range =
      reduces ? value_range(operation_.type) : lone_value_range(operation_.type);
  const auto value = static_cast<double>((mixed >> 32) % range);
  const bool order = operation_.op == heddleMin || operation_.op == heddleMax;
  return order && is_signed(operation_.type) ? value - static_cast<double>(range / 2) : value;
}

double Model::output_value(int rank, int block, std::size_t index) const {
  switch (operation_.collective) {
    case Collective::all_gather:
    case Collective::gather: return input_value(block, 0, index);
    case Collective::broadcast: return input_value(operation_.root, 0, index);
    case Collective::scatter: return input_value(operation_.root, rank, index);
    case Collective::all_to_all: return input_value(block, rank, index);
    default: break;
  }
  const int part = operation_.collective == Collective::reduce_scatter ? rank : 0;
  const auto contribution = [&](int from) {
    return input_value(from, part, index) * (operation_.scaled ? scale_value(from) : 1);
  };
  double result = contribution(0);
  for (int from = 1; from < operation_.ranks; ++from)
    result = combine(operation_.op, result, contribution(from));
  if (operation_.op != heddleAvg) return result;
  return is_float(operation_.type) ? result / operation_.ranks
                                   : std::trunc(result / operation_.ranks);
}

Model::Model(const Operation& operation)
    : operation_(operation), alike_(!spreads(operation.collective)) {
  const std::size_t size = base::size_of(operation.type);
  const auto fill = [&](const std::vector<std::size_t>& counts, const auto& value) {
    std::vector<std::byte> bytes(sum(counts) * size);
    std::byte* at = bytes.data();
    for (std::size_t block = 0; block < counts.size(); ++block)
      for (std::size_t i = 0; i < counts[block]; ++i, at += size)
        encode(operation.type, value(static_cast<int>(block), i), at);
    return bytes;
  };
  for (int rank = 0; rank < operation.ranks; ++rank) {
    inputs_.push_back(fill(input_counts(rank),
                           [&](int block, std::size_t i) { return input_value(rank, block, i); }));
    encode(operation.type, scale_value(rank), scales_.emplace_back(size).data());
  }
  for (int rank = 0; rank < operation.ranks; ++rank) {
    const int who = alike_ && base::has_root(operation.collective) ? operation.root : rank;
    outputs_.push_back(fill(output_counts(who),
                            [&](int block, std::size_t i) { return output_value(who, block, i); }));
    if (alike_) break;
  }
}

std::span<const std::byte> Model::output(int rank) const {
  return outputs_[alike_ ? 0 : static_cast<std::size_t>(rank)];
}

std::string Model::wrong(int rank, std::size_t first, std::span<const std::byte> data) const {
  const std::size_t size = base::size_of(operation_.type);
  const auto expected = output(rank).subspan(first * size, data.size());
  if (std::equal(data.begin(), data.end(), expected.begin())) return "";
  for (std::size_t at = 0; at < data.size(); at += size) {
    const double got = decode(operation_.type, data.data() + at);
    const double want = decode(operation_.type, expected.data() + at);
    if (!agrees(operation_, got, want))
      return fmt::format("rank {}: output[{}] is {}, must be {}", rank, first + at / size, got,
                         want);
  }
  return "";
}

std::shared_ptr<const Model> shared_model(const Operation& operation) {
  static std::mutex mutex;
  static std::deque<std::shared_ptr<const Model>> recent;
  constexpr std::size_t kKept = 4;  // ranks that are threads are rarely further apart
  const std::lock_guard lock(mutex);
  for (const auto& model : recent)
    if (model->operation() == operation) return model;
  if (recent.size() == kKept) recent.pop_front();
  return recent.emplace_back(std::make_shared<const Model>(operation));
}

}  // namespace heddle::test
