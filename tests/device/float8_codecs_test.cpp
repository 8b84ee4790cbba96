// The conversions of the 8-bit floats, of every instruction set and of the C++ API, against the
// plain model: all 256 values, and on both sides of every boundary at which rounding changes.
#include "device/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/float8_codecs_test.cpp"
#include "hwy/foreach_target.h"
// foreach_target.h comes first.
#include "device/codecs-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heddle::device {
namespace HWY_NAMESPACE {
namespace {

// Both ways through a vector of lanes, and through full vectors of bytes where there are such.
template <class Codec>
void decode_all(const uint8_t* from, float* into, float* into_parts) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint8_t, hn::ScalableTag<float>> d8;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < 256; i += lanes) {
    hn::StoreU(Codec::decode(d, hn::LoadU(d8, from + i)), d, into + i);
  }
  std::copy(into, into + 256, into_parts);
  if constexpr (Codec::kParts == 4) {
    for (std::size_t i = 0; i < 256; i += 4 * lanes) {
      const auto v =
          hn::LoadU(hn::Repartition<typename Codec::Stored, hn::ScalableTag<float>>(), from + i);
      float part[HWY_MAX_BYTES];
      hn::StoreU(Codec::template decode_part<0>(d, v), d, part);
      hn::StoreU(Codec::template decode_part<1>(d, v), d, part + lanes);
      hn::StoreU(Codec::template decode_part<2>(d, v), d, part + 2 * lanes);
      hn::StoreU(Codec::template decode_part<3>(d, v), d, part + 3 * lanes);
      for (std::size_t k = 0; k < 4 * lanes; ++k) into_parts[i + k] = part[k % 4 * lanes + k / 4];
    }
  }
}

// `count` is a multiple of 4 vectors.
template <class Codec>
void encode_all(const float* from, std::size_t count, uint8_t* into, uint8_t* into_parts) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint8_t, hn::ScalableTag<float>> d8;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) {
    hn::StoreU(Codec::encode(d, hn::LoadU(d, from + i)), d8, into + i);
  }
  std::copy(into, into + count, into_parts);
  if constexpr (Codec::kParts == 4) {
    for (std::size_t i = 0; i < count; i += 4 * lanes) {
      float part[HWY_MAX_BYTES];
      for (std::size_t k = 0; k < 4 * lanes; ++k) part[k % 4 * lanes + k / 4] = from[i + k];
      const auto v =
          Codec::encode_parts(d, hn::LoadU(d, part), hn::LoadU(d, part + lanes),
                              hn::LoadU(d, part + 2 * lanes), hn::LoadU(d, part + 3 * lanes));
      hn::StoreU(v, hn::Repartition<typename Codec::Stored, hn::ScalableTag<float>>(),
                 into_parts + i);
    }
  }
}

}  // namespace

void decode_e4m3(const uint8_t* from, float* into, float* parts) {
  decode_all<Float8e4m3>(from, into, parts);
}
void decode_e5m2(const uint8_t* from, float* into, float* parts) {
  decode_all<Float8e5m2>(from, into, parts);
}
void encode_e4m3(const float* from, std::size_t count, uint8_t* into, uint8_t* parts) {
  encode_all<Float8e4m3>(from, count, into, parts);
}
void encode_e5m2(const float* from, std::size_t count, uint8_t* into, uint8_t* parts) {
  encode_all<Float8e5m2>(from, count, into, parts);
}

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <random>

#include "catch.hpp"
#include "heddle/element.hpp"
#include "reference.hpp"

namespace heddle::device {
namespace {

HWY_EXPORT(decode_e4m3);
HWY_EXPORT(decode_e5m2);
HWY_EXPORT(encode_e4m3);
HWY_EXPORT(encode_e5m2);

template <typename Body>
void on_every_target(Body body) {
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    INFO("on " << hwy::TargetName(target));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

bool same(float a, float b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

template <const reference::Format8& kFormat, typename Element, typename Decode>
void check_decode(Decode decode) {
  std::uint8_t all[256];
  for (int i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  on_every_target([&] {
    float got[256], parts[256];
    decode(all, got, parts);
    for (int i = 0; i < 256; ++i) {
      Element element;
      element.bits = all[i];
      const float expected = reference::float8_to_float<kFormat>(all[i]);
      INFO(fmt::format("{:02x} is {}, got {}, in parts {}", i, expected, got[i], parts[i]));
      CHECK(same(got[i], expected));
      CHECK(same(parts[i], expected));
      CHECK(same(static_cast<float>(element), expected));
    }
  });
}

// Both signs of: every value, every middle between two, what follows the largest, each with the
// floats next to it; the ends and the specials of float; and many at random.
template <const reference::Format8& kFormat>
std::vector<float> boundaries() {
  std::vector<float> values = {0.0F,
                               INFINITY,
                               NAN,
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::min(),
                               std::numeric_limits<float>::denorm_min()};
  const auto add = [&](double value) {
    const auto exact = static_cast<float>(value);
    REQUIRE(static_cast<double>(exact) == value);
    values.insert(values.end(),
                  {std::nextafter(exact, 0.0F), exact, std::nextafter(exact, INFINITY)});
  };
  for (int m = 0; m <= kFormat.largest; ++m) {
    const double value = kFormat.value[static_cast<std::size_t>(m)];
    const double next = m < kFormat.largest
                            ? kFormat.value[static_cast<std::size_t>(m) + 1]
                            : 2 * value - kFormat.value[static_cast<std::size_t>(m) - 1];
    add(value);
    add((value + next) / 2);
    add(next);
  }
  std::mt19937 random(20240607);
  for (int i = 0; i < 1 << 17; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    values.push_back(reference::load<float>(&bits));
  }
  const std::size_t half = values.size();
  for (std::size_t i = 0; i < half; ++i) values.push_back(-values[i]);
  values.resize((values.size() + 255) / 256 * 256);
  return values;
}

template <const reference::Format8& kFormat, typename Element, typename Encode>
void check_encode(Encode encode) {
  const std::vector<float> values = boundaries<kFormat>();
  std::vector<std::uint8_t> got(values.size()), parts(values.size());
  on_every_target([&] {
    encode(values.data(), values.size(), got.data(), parts.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint8_t expected = reference::float_to_float8<kFormat>(values[i]);
      // The C++ API keeps the sign of a NaN.
      const auto element = static_cast<std::uint8_t>(Element(values[i]).bits &
                                                     (std::isnan(values[i]) ? 0x7f : 0xff));
      if (got[i] == expected && parts[i] == expected && element == expected) continue;
      FAIL(fmt::format("{:a} is {:02x}, got {:02x}, in parts {:02x}, in C++ {:02x}", values[i],
                       expected, got[i], parts[i], element));
    }
  });
}

TEST_CASE("every 8-bit float means in every instruction set what the format says") {
  check_decode<reference::kE4m3, float8_e4m3>([](auto... a) {
    HWY_DYNAMIC_DISPATCH(decode_e4m3)(a...);
  });
  check_decode<reference::kE5m2, float8_e5m2>([](auto... a) {
    HWY_DYNAMIC_DISPATCH(decode_e5m2)(a...);
  });
}

TEST_CASE("floats become the nearest 8-bit float on both sides of every boundary") {
  check_encode<reference::kE4m3, float8_e4m3>([](auto... a) {
    HWY_DYNAMIC_DISPATCH(encode_e4m3)(a...);
  });
  check_encode<reference::kE5m2, float8_e5m2>([](auto... a) {
    HWY_DYNAMIC_DISPATCH(encode_e5m2)(a...);
  });
}

TEST_CASE("the model of the 8-bit floats has the specification's landmarks") {
  using reference::float8_to_float;
  using reference::float_to_float8;
  using reference::kE4m3;
  using reference::kE5m2;
  CHECK(float8_to_float<kE4m3>(0x7e) == 448);
  CHECK(float8_to_float<kE4m3>(0x38) == 1);
  CHECK(float8_to_float<kE4m3>(0x08) == 0x1p-6F);
  CHECK(float8_to_float<kE4m3>(0x01) == 0x1p-9F);
  CHECK(std::isnan(float8_to_float<kE4m3>(0xff)));
  CHECK(float8_to_float<kE5m2>(0x7b) == 57344);
  CHECK(float8_to_float<kE5m2>(0x3c) == 1);
  CHECK(float8_to_float<kE5m2>(0x04) == 0x1p-14F);
  CHECK(float8_to_float<kE5m2>(0x01) == 0x1p-16F);
  CHECK(float8_to_float<kE5m2>(0xfc) == -INFINITY);
  CHECK(std::isnan(float8_to_float<kE5m2>(0x7d)));
  CHECK(float_to_float8<kE4m3>(1e9F) == 0x7e);
  CHECK(float_to_float8<kE4m3>(-INFINITY) == 0xfe);
  CHECK(float_to_float8<kE5m2>(INFINITY) == 0x7b);
  CHECK(float_to_float8<kE5m2>(1.125F) == 0x3c);
  CHECK(float_to_float8<kE5m2>(1.375F) == 0x3e);
  // e5m2 is the upper half of a binary16.
  for (int bits = 0; bits < 256; ++bits) {
    const float half = reference::half_to_float(static_cast<std::uint16_t>(bits << 8));
    CHECK(same(float8_to_float<kE5m2>(static_cast<std::uint8_t>(bits)), half));
  }
}

}  // namespace
}  // namespace heddle::device
#endif
