#include "harness/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "harness/names.hpp"

namespace heddle::bench {
namespace {

constexpr std::size_t kTurn = 911;  // of the table from one period to the next
// Tolerance of avg on floats, in units of the last place.
template <typename Bits>
constexpr unsigned kUlps = sizeof(Bits) == 1 ? 1 : 2;

// SplitMix64's finalizer (Steele, Lea, Flood 2014): every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Integers up to this are exact in the type.
template <typename T>
constexpr double kExact = std::is_same_v<T, float>         ? 0x1p24
                          : std::is_same_v<T, double>      ? 0x1p53
                          : std::is_same_v<T, float16>     ? 0x1p11
                          : std::is_same_v<T, bfloat16>    ? 0x1p8
                          : std::is_same_v<T, float8_e4m3> ? 0x1p4
                                                           : 0x1p3;

int scalar_of(int rank) { return 1 + rank % 2; }

struct Source {
  std::optional<Op> op;
  int ranks;
  unsigned seed;

  std::uint64_t random(int rank, std::size_t index) const {
    return mix((static_cast<std::uint64_t>(seed) << 56) ^
               (static_cast<std::uint64_t>(static_cast<unsigned>(rank)) << 24) ^ (index + 1));
  }
  // With many ranks only some contribute to a position, so that partial results stay exact, and
  // fewer where the type holds few integers, so that these still differ.
  template <typename T>
  int contributors() const {
    if (op == Op::prod) return std::min(ranks, 8);
    if constexpr (std::is_integral_v<T>)
      return std::min(ranks, 64);
    else
      return std::min(ranks, static_cast<int>(std::min(64.0, kExact<T> / 2 / largest_scalar())));
  }
  int largest_scalar() const { return op == kMulSum ? 2 : 1; }
  int scalar(int rank) const { return op == kMulSum ? scalar_of(rank) : 1; }
  template <typename T>
  bool contributes(int rank, std::size_t index) const {
    return static_cast<int>((static_cast<std::size_t>(rank) + index) %
                            static_cast<std::size_t>(ranks)) < contributors<T>();
  }
};

// Uniform in [low, low + span).
std::int64_t ranged(std::uint64_t random, std::int64_t low, std::uint64_t span) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + random % span);
}

template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return T(static_cast<float>(value));
}
template <typename T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, double>)
    return value;
  else
    return static_cast<double>(static_cast<float>(value));
}

// One rank's value at one place of the table, for floats.
template <typename T>
requires(!std::is_integral_v<T>) T value_at(const Source& source, int rank, std::size_t index) {
  const std::uint64_t random = source.random(rank, index);
  if (source.op == Op::prod) {
    if (!source.contributes<T>(rank, index)) return from_double<T>(1);
    constexpr double factors[] = {1, 2, 0.5, -1, -2, -0.5};
    return from_double<T>(factors[random % 6]);
  }
  double bound = kExact<T> - 1;
  if (source.op == Op::sum || source.op == Op::avg || source.op == kMulSum) {
    if (!source.contributes<T>(rank, index)) return from_double<T>(0);
    bound = std::floor(kExact<T> / source.contributors<T>() / source.largest_scalar());
  }
  const auto half = static_cast<std::int64_t>(bound);
  return from_double<T>(
      static_cast<double>(ranged(random, -half, static_cast<std::uint64_t>(2 * half + 1))));
}

template <typename T>
requires std::is_integral_v<T> T value_at(const Source& source, int rank, std::size_t index) {
  const std::uint64_t random = source.random(rank, index);
  if (source.op == Op::prod) return static_cast<T>(random | 1);
  if (source.op != Op::avg) return static_cast<T>(random);
  // The sum of an average must not wrap: what a wrapped sum's average is, is nobody's business.
  if (!source.contributes<T>(rank, index)) return 0;
  const auto bound = static_cast<std::uint64_t>(std::numeric_limits<T>::max()) /
                     static_cast<std::uint64_t>(source.contributors<T>());
  if constexpr (std::is_unsigned_v<T>)
    return static_cast<T>(bound == UINT64_MAX ? random : random % (bound + 1));
  else
    return static_cast<T>(ranged(random, -static_cast<std::int64_t>(bound), 2 * bound + 1));
}

template <typename T>
requires(!std::is_integral_v<T>) T reduced_at(const Source& source, std::size_t index) {
  double result = to_double(value_at<T>(source, 0, index)) * source.scalar(0);
  for (int rank = 1; rank < source.ranks; ++rank) {
    const double value = to_double(value_at<T>(source, rank, index)) * source.scalar(rank);
    switch (*source.op) {
      case Op::prod: result *= value; break;
      case Op::max: result = std::max(result, value); break;
      case Op::min: result = std::min(result, value); break;
      default: result += value;
    }
  }
  return from_double<T>(source.op == Op::avg ? result / source.ranks : result);
}

template <typename T>
requires std::is_integral_v<T> T reduced_at(const Source& source, std::size_t index) {
  // Sums and products wrap: computed modulo 2^64 and cut to the type.
  const T first = value_at<T>(source, 0, index);
  T extreme = first;
  auto wrapped = static_cast<std::uint64_t>(first) * static_cast<std::uint64_t>(source.scalar(0));
  for (int rank = 1; rank < source.ranks; ++rank) {
    const T value = value_at<T>(source, rank, index);
    switch (*source.op) {
      case Op::prod: wrapped *= static_cast<std::uint64_t>(value); break;
      case Op::max: extreme = std::max(extreme, value); break;
      case Op::min: extreme = std::min(extreme, value); break;
      default:
        wrapped +=
            static_cast<std::uint64_t>(value) * static_cast<std::uint64_t>(source.scalar(rank));
    }
  }
  if (source.op == Op::max || source.op == Op::min) return extreme;
  if (source.op != Op::avg) return static_cast<T>(wrapped);
  if constexpr (std::is_unsigned_v<T>)
    return static_cast<T>(wrapped / static_cast<std::uint64_t>(source.ranks));
  else
    return static_cast<T>(static_cast<std::int64_t>(wrapped) / source.ranks);
}

// Calls `body` with a value of the C++ type.
template <typename Body>
auto with_type(heddleDataType_t type, Body body) {
  switch (type) {
    case heddleInt8: return body(std::int8_t{});
    case heddleUint8: return body(std::uint8_t{});
    case heddleInt32: return body(std::int32_t{});
    case heddleUint32: return body(std::uint32_t{});
    case heddleInt64: return body(std::int64_t{});
    case heddleUint64: return body(std::uint64_t{});
    case heddleFloat16: return body(float16{});
    case heddleFloat32: return body(float{});
    case heddleFloat64: return body(double{});
    case heddleBfloat16: return body(bfloat16{});
    case heddleFloat8e4m3: return body(float8_e4m3{});
    case heddleFloat8e5m2: return body(float8_e5m2{});
    default: throw Error(heddleInvalidArgument, "unknown data type " + std::to_string(type));
  }
}

template <typename T, typename At>
std::vector<std::byte> build_table(At at) {
  std::vector<std::byte> table(2 * kPatternPeriod * sizeof(T));
  for (std::size_t i = 0; i < kPatternPeriod; ++i) {
    const T value = at(i);
    std::memcpy(table.data() + i * sizeof(T), &value, sizeof(T));
  }
  std::memcpy(table.data() + table.size() / 2, table.data(), table.size() / 2);
  return table;
}

// Splits [position, position + count) into stretches that lie whole in the table, and calls
// `body(offset from position, index in the table, length)`.
template <typename Body>
void for_stretches(std::size_t position, std::size_t count, Body body) {
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = position + done;
    const std::size_t place = at % kPatternPeriod;
    const std::size_t turn = at / kPatternPeriod % kPatternPeriod * kTurn;
    const std::size_t length = std::min(kPatternPeriod - place, count - done);
    body(done, (place + turn) % kPatternPeriod, length);
    done += length;
  }
}

template <typename Bits>
std::size_t count_different(const std::byte* got, const std::byte* expected, std::size_t count) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i)
    wrong += std::memcmp(got + i * sizeof(Bits), expected + i * sizeof(Bits), sizeof(Bits)) != 0;
  return wrong;
}

// Sign and magnitude to two's complement, where the next float is the next integer.
template <typename Bits>
Bits ordered(Bits bits) {
  constexpr Bits kSign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  return (bits & kSign) != 0 ? Bits(kSign - bits) : bits;
}

template <typename Bits>
std::size_t count_distant(const std::byte* got, const std::byte* expected, std::size_t count) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits a, b;
    std::memcpy(&a, got + i * sizeof(Bits), sizeof(Bits));
    std::memcpy(&b, expected + i * sizeof(Bits), sizeof(Bits));
    wrong += Bits(ordered(a) - ordered(b) + kUlps<Bits>) > 2 * kUlps<Bits>;
  }
  return wrong;
}

template <typename Bits>
std::size_t count_wrong(const void* got, const std::vector<std::byte>& table, std::size_t position,
                        std::size_t count, bool exact) {
  std::size_t wrong = 0;
  for_stretches(position, count, [&](std::size_t offset, std::size_t index, std::size_t length) {
    const auto* here = static_cast<const std::byte*>(got) + offset * sizeof(Bits);
    const auto* expected = table.data() + index * sizeof(Bits);
    if (std::memcmp(here, expected, length * sizeof(Bits)) == 0) return;
    wrong += exact ? count_different<Bits>(here, expected, length)
                   : count_distant<Bits>(here, expected, length);
  });
  return wrong;
}

std::size_t count_wrong(heddleDataType_t type, const void* got, const std::vector<std::byte>& table,
                        std::size_t position, std::size_t count, bool exact) {
  switch (size_of(type)) {
    case 1: return count_wrong<std::uint8_t>(got, table, position, count, exact);
    case 2: return count_wrong<std::uint16_t>(got, table, position, count, exact);
    case 4: return count_wrong<std::uint32_t>(got, table, position, count, exact);
    default: return count_wrong<std::uint64_t>(got, table, position, count, exact);
  }
}

}  // namespace

std::size_t wrong_poison(const void* got, std::size_t count, heddleDataType_t type) {
  static const std::vector<std::byte> poison(8 * 2 * kPatternPeriod, std::byte{kPoison});
  return count_wrong(type, got, poison, 0, count, true);
}

std::vector<std::byte> mulsum_scalar(heddleDataType_t type, int rank) {
  return with_type(type, [&]<typename T>(T) {
    T value{};
    if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(scalar_of(rank));
    else
      value = from_double<T>(scalar_of(rank));
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  });
}

Pattern::Pattern(heddleDataType_t type, std::optional<Op> op, int ranks, unsigned seed)
    : type_(type), op_(op), ranks_(ranks), seed_(seed) {
  if (!op) return;
  reduced_ = with_type(type, [&]<typename T>(T) {
    return build_table<T>([&](std::size_t index) {
      return reduced_at<T>({op_, ranks_, seed_}, index);
    });
  });
}

Pattern::Table Pattern::contribution(int rank) const {
  return with_type(type_, [&]<typename T>(T) {
    return build_table<T>([&](std::size_t index) {
      return value_at<T>({op_, ranks_, seed_}, rank, index);
    });
  });
}

void Pattern::fill(void* out, int rank, std::size_t position, std::size_t count) const {
  const Table table = contribution(rank);
  const std::size_t bytes = size_of(type_);
  for_stretches(position, count, [&](std::size_t offset, std::size_t index, std::size_t length) {
    std::memcpy(static_cast<std::byte*>(out) + offset * bytes, table.data() + index * bytes,
                length * bytes);
  });
}

std::size_t Pattern::wrong_copy(const void* got, int rank, std::size_t position,
                                std::size_t count) const {
  return count_wrong(type_, got, contribution(rank), position, count, true);
}

std::size_t Pattern::wrong_reduced(const void* got, std::size_t position, std::size_t count) const {
  const bool exact = !(op_ == Op::avg && is_float(type_));
  return count_wrong(type_, got, reduced_, position, count, exact);
}

}  // namespace heddle::bench
