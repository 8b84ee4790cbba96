// One move with buffers that lie in every way that matters, checked against the plain model.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>
#include <string>

#include "catch.hpp"
#include "device/reduce.hpp"
#include "guarded.hpp"
#include "reference.hpp"
#include "targets.hpp"

namespace heddle::device {

using base::DataType;
using base::RedOp;
using reference::Problem;
using Bytes = std::vector<std::byte>;

// Where the buffers of a case lie, and how it writes.
struct Layout {
  std::size_t offset;  // of the first buffer behind a cache line; the others differ from it
  int alias;           // destination 0 is this source; -1: none
  unsigned streaming;
};

inline constexpr Layout kLayouts[] = {
    {0, -1, 0},    // aligned
    {1, 0, 0},     // unaligned, in place
    {0, -1, ~0u},  // aligned, all destinations streaming
    {8, -1, 2},    // the second destination streaming, from within a line
    {64, 1, 1},    // in place with the second source, streaming
    {3, 2, ~0u},   // in place with the third source, streaming, never aligned
};

template <typename T>
void put(Bytes& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
}

// Different in every element of every source. Integers fill their range, so that sums wrap; floats
// have both signs and fractions that do not fit the result, so that it is rounded.
inline Bytes make_source(DataType type, std::size_t count, unsigned source) {
  Bytes bytes(count * base::size_of(type));
  std::mt19937_64 random(source * 1000003u + static_cast<unsigned>(type));
  std::uniform_real_distribution<float> real(-3.0f, 3.0f);
  for (std::size_t i = 0; i < count; ++i) {
    switch (type) {
      case heddleFloat16: put(bytes, i, reference::float_to_half(real(random))); break;
      case heddleBfloat16: put(bytes, i, reference::float_to_bfloat(real(random))); break;
      case heddleFloat8e4m3:
        put(bytes, i, reference::float_to_float8<reference::kE4m3>(real(random)));
        break;
      case heddleFloat8e5m2:
        put(bytes, i, reference::float_to_float8<reference::kE5m2>(real(random)));
        break;
      case heddleFloat32: put(bytes, i, real(random)); break;
      case heddleFloat64: put(bytes, i, static_cast<double>(real(random)) / 3); break;
      case heddleInt8:
      case heddleUint8: put(bytes, i, static_cast<std::uint8_t>(random())); break;
      case heddleInt32:
      case heddleUint32: put(bytes, i, static_cast<std::uint32_t>(random())); break;
      default: put(bytes, i, random()); break;
    }
  }
  return bytes;
}

inline std::string describe(const KernelTable& kernels, const Problem& problem,
                            std::size_t destinations, const Layout& layout) {
  return fmt::format(
      "{} {} sources {} destinations {} count {} divide {} scaled {} offset {} alias {} "
      "streaming {:x} on {}",
      base::name_of(problem.type), base::name_of(problem.op), problem.sources, destinations,
      problem.count, problem.divide_by, problem.scaled_source, layout.offset, layout.alias,
      layout.streaming, kernels.target);
}

// Empty when all is right.
inline std::string check(const KernelTable& kernels, const Problem& problem,
                         const std::vector<Bytes>& values, const Bytes& expected,
                         std::size_t destinations, const Layout& layout) {
  const std::size_t bytes = expected.size();
  std::vector<RedZoned> buffers;
  buffers.reserve(values.size() + destinations);
  std::vector<const std::byte*> from;
  for (std::size_t i = 0; i < values.size(); ++i) {
    buffers.emplace_back(bytes, layout.offset + 5 * layout.offset * i % 61);
    if (bytes != 0) std::memcpy(buffers.back().data(), values[i].data(), bytes);
    from.push_back(buffers.back().data());
  }
  std::vector<std::byte*> to;
  for (std::size_t i = 0; i < destinations; ++i) {
    if (i == 0 && layout.alias >= 0 && layout.alias < problem.sources) {
      to.push_back(buffers[static_cast<std::size_t>(layout.alias)].data());
      continue;
    }
    buffers.emplace_back(bytes, layout.offset + 7 * layout.offset * i % 59);
    to.push_back(buffers.back().data());
  }
  reduce_with(kernels, {.sources = from,
                        .destinations = to,
                        .count = problem.count,
                        .type = problem.type,
                        .op = problem.op,
                        .divide_by = problem.divide_by,
                        .streaming = layout.streaming,
                        .scale = problem.scale,
                        .scaled_source = problem.scaled_source});
  for (std::size_t i = 0; i < destinations; ++i) {
    const std::size_t at =
        reference::first_difference(problem.type, to[i], expected.data(), problem.count);
    if (at != problem.count) {
      return fmt::format("destination {} element {}: {}", i, at,
                         describe(kernels, problem, destinations, layout));
    }
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].intact()) {
      return fmt::format("buffer {} overrun: {}", i,
                         describe(kernels, problem, destinations, layout));
    }
    const bool written = i >= values.size() || static_cast<int>(i) == layout.alias;
    if (!written && bytes != 0 && std::memcmp(from[i], values[i].data(), bytes) != 0) {
      return fmt::format("source {} changed: {}", i,
                         describe(kernels, problem, destinations, layout));
    }
  }
  return {};
}

inline void check_layouts(const Problem& problem) {
  std::vector<Bytes> values;
  for (int s = 0; s < problem.sources; ++s) {
    values.push_back(make_source(problem.type, problem.count, static_cast<unsigned>(s)));
  }
  const Bytes expected = reference::reduce(problem, values);
  for (const KernelTable& kernels : every_target()) {
    for (const std::size_t destinations : {1, 2, 3}) {
      for (const Layout& layout : kLayouts) {
        REQUIRE(check(kernels, problem, values, expected, destinations, layout) == "");
      }
    }
  }
}

}  // namespace heddle::device
