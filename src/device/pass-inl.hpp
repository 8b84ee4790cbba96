// The one pass over memory: for any number of sources and destinations, codec and operation.
// Compiled once for each instruction set, hence no #pragma once.
//
// A range is cut into blocks of four vectors, single vectors and a rest. Each is read from every
// source before it is written to any destination, so that a destination may be a source. The rest
// never touches memory outside the range: masked where masked-off lanes cannot fault, in steps of 8
// bytes and then one by one elsewhere.
#if defined(HEDDLE_DEVICE_PASS_INL_HPP_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEDDLE_DEVICE_PASS_INL_HPP_
#undef HEDDLE_DEVICE_PASS_INL_HPP_
#else
#define HEDDLE_DEVICE_PASS_INL_HPP_
#endif

#include <cstddef>
#include <cstdint>

#include "device/kernels.hpp"
#include "device/operations-inl.hpp"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heddle::device {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Pointers of one side of a move, all advanced by some bytes. A fixed number (kFixed > 0) is kept
// in registers: stores through byte pointers would make the compiler load the arrays again each
// time.
template <class Pointer, int kFixed>
struct Ends {
  Pointer pointers[kFixed];
  HWY_INLINE Ends(const Pointer* from, std::size_t, std::size_t advance) {
    for (int i = 0; i < kFixed; ++i) pointers[i] = from[i] + advance;
  }
  HWY_INLINE std::size_t size() const { return kFixed; }
  HWY_INLINE Pointer operator[](std::size_t i) const { return pointers[i]; }
};

template <class Pointer>
struct Ends<Pointer, 0> {
  const Pointer* pointers;
  std::size_t count;
  std::size_t advance;
  HWY_INLINE Ends(const Pointer* from, std::size_t size, std::size_t by)
      : pointers(from), count(size), advance(by) {}
  HWY_INLINE std::size_t size() const { return count; }
  HWY_INLINE Pointer operator[](std::size_t i) const { return pointers[i] + advance; }
};

// The division of avg. By a power of two it is a multiplication with the same result.
template <typename Lane>
struct Divisor {
  enum class How { none, multiply, divide } how = How::none;
  Lane value = 1;
  explicit HWY_INLINE Divisor(int by) {
    if (by == 1) return;
    const bool power = (by & (by - 1)) == 0;
    how = power ? How::multiply : How::divide;
    value = power ? Lane(1) / static_cast<Lane>(by) : static_cast<Lane>(by);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V apply(D d, V v) const {
    if constexpr (hwy::IsFloat<Lane>()) {
      if (how == How::multiply) return hn::Mul(v, hn::Set(d, value));
      if (how == How::divide) return hn::Div(v, hn::Set(d, value));
    }
    return v;
  }
};

// What happens to a source's lanes before the operation.
struct Unscaled {
  explicit HWY_INLINE Unscaled(const KernelArguments&) {}
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V apply(D, V v, std::size_t) const {
    return v;
  }
};

// Sources that are not scaled are multiplied by one, which changes no bit of a number.
template <class Codec>
struct Scaled {
  using Lane = typename Codec::Lane;
  Lane scale;
  std::size_t scaled_source;
  explicit HWY_INLINE Scaled(const KernelArguments& task)
      : scaled_source(static_cast<std::size_t>(task.scaled_source)) {
    const hn::CappedTag<Lane, 1> d;
    const hn::Rebind<typename Codec::Stored, hn::CappedTag<Lane, 1>> ds;
    const auto* from = reinterpret_cast<const typename Codec::Stored*>(task.scale);
    scale = hn::GetLane(Codec::decode(d, hn::LoadU(ds, from)));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V apply(D d, V v, std::size_t source) const {
    return Prod::apply(d, v, hn::Set(d, source == scaled_source ? scale : Lane(1)));
  }
};

template <class Codec, class Operation, int kSources, int kDestinations, class Scaling = Unscaled>
class Pass {
  using Stored = typename Codec::Stored;
  using Lane = typename Codec::Lane;
  using Full = hn::ScalableTag<Lane>;

 public:
  explicit HWY_INLINE Pass(const KernelArguments& task)
      : from_(task.sources, task.source_count, task.skip * sizeof(Stored)),
        to_(task.destinations, task.destination_count, 0),
        divisor_(task.divide_by),
        scaling_(task) {}

  HWY_INLINE void run(std::size_t end, unsigned streaming) {
    std::size_t at = 0;
    if (HWY_UNLIKELY(streaming != 0)) at = align(end, streaming);
    const Full d;
    const std::size_t lanes = hn::Lanes(d);
    for (; end - at >= 4 * lanes; at += 4 * lanes) block(d, at);
    for (; end - at >= lanes; at += lanes) vector(d, at);
    if (at != end) rest(at, end - at);
    if (HWY_UNLIKELY(streaming_ != 0)) hwy::FlushStream();
  }

 private:
  template <class D>
  HWY_INLINE hn::Vec<D> load(D d, std::size_t source, std::size_t at) const {
    const hn::Rebind<Stored, D> ds;
    const Stored* from = reinterpret_cast<const Stored*>(from_[source]) + at;
    return scaling_.apply(d, Codec::decode(d, hn::LoadU(ds, from)), source);
  }

  // The k-th vector of lanes of the block at `at`.
  template <int k, class D>
  HWY_INLINE hn::Vec<D> load_part(D d, std::size_t source, std::size_t at) const {
    const std::size_t lanes = hn::Lanes(d);
    if constexpr (Codec::kParts > 1) {
      constexpr int parts = Codec::kParts;
      const hn::Repartition<Stored, D> ds;
      const Stored* from =
          reinterpret_cast<const Stored*>(from_[source]) + at + k / parts * parts * lanes;
      const auto lanes_of_part = Codec::template decode_part<k % parts>(d, hn::LoadU(ds, from));
      return scaling_.apply(d, lanes_of_part, source);
    } else {
      return load(d, source, at + k * lanes);
    }
  }

  template <class DS>
  HWY_INLINE void store(DS ds, hn::Vec<DS> v, Stored* to, bool stream) const {
    // A smaller vector, as the 4 halves of 4 floats are, would be streamed with what lies behind
    // it.
    constexpr bool kCanStream = hn::MaxLanes(DS()) * sizeof(Stored) >= HWY_STREAM_MULTIPLE;
    if (kCanStream && stream) {
      hn::Stream(v, ds, to);
    } else {
      hn::StoreU(v, ds, to);
    }
  }

  HWY_INLINE Stored* destination(std::size_t i, std::size_t at) const {
    return reinterpret_cast<Stored*>(to_[i]) + at;
  }
  HWY_INLINE bool streams(std::size_t i) const { return i < 32 && (streaming_ >> i & 1) != 0; }

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void store_block(D d, std::size_t at, V v0, V v1, V v2, V v3) const {
    if constexpr (Codec::kParts == 4) {
      const hn::Repartition<Stored, D> ds;
      const auto stored = Codec::encode_parts(d, v0, v1, v2, v3);
      for (std::size_t i = 0; i < to_.size(); ++i)
        store(ds, stored, destination(i, at), streams(i));
    } else if constexpr (Codec::kParts == 2) {
      const hn::Repartition<Stored, D> ds;
      const auto s0 = Codec::encode_parts(d, v0, v1);
      const auto s1 = Codec::encode_parts(d, v2, v3);
      for (std::size_t i = 0; i < to_.size(); ++i) {
        Stored* to = destination(i, at);
        const bool stream = streams(i);
        store(ds, s0, to, stream);
        store(ds, s1, to + hn::Lanes(ds), stream);
      }
    } else {
      const hn::Rebind<Stored, D> ds;
      const std::size_t lanes = hn::Lanes(d);
      const auto s0 = Codec::encode(d, v0);
      const auto s1 = Codec::encode(d, v1);
      const auto s2 = Codec::encode(d, v2);
      const auto s3 = Codec::encode(d, v3);
      for (std::size_t i = 0; i < to_.size(); ++i) {
        Stored* to = destination(i, at);
        const bool stream = streams(i);
        store(ds, s0, to, stream);
        store(ds, s1, to + lanes, stream);
        store(ds, s2, to + 2 * lanes, stream);
        store(ds, s3, to + 3 * lanes, stream);
      }
    }
  }

  template <class D>
  HWY_INLINE void block(D d, std::size_t at) const {
    auto v0 = load_part<0>(d, 0, at);
    auto v1 = load_part<1>(d, 0, at);
    auto v2 = load_part<2>(d, 0, at);
    auto v3 = load_part<3>(d, 0, at);
    for (std::size_t i = 1; i < from_.size(); ++i) {
      v0 = Operation::apply(d, v0, load_part<0>(d, i, at));
      v1 = Operation::apply(d, v1, load_part<1>(d, i, at));
      v2 = Operation::apply(d, v2, load_part<2>(d, i, at));
      v3 = Operation::apply(d, v3, load_part<3>(d, i, at));
    }
    store_block(d, at, divisor_.apply(d, v0), divisor_.apply(d, v1), divisor_.apply(d, v2),
                divisor_.apply(d, v3));
  }

  template <class D>
  HWY_INLINE void vector(D d, std::size_t at) const {
    const hn::Rebind<Stored, D> ds;
    auto v = load(d, 0, at);
    for (std::size_t i = 1; i < from_.size(); ++i) v = Operation::apply(d, v, load(d, i, at));
    const auto stored = Codec::encode(d, divisor_.apply(d, v));
    for (std::size_t i = 0; i < to_.size(); ++i) hn::StoreU(stored, ds, destination(i, at));
  }

#if HWY_MEM_OPS_MIGHT_FAULT

  HWY_NOINLINE void rest(std::size_t at, std::size_t count) const {
    const std::size_t end = at + count;
    const hn::CappedTag<Lane, 8 / sizeof(Stored)> eight;
    for (; end - at >= hn::Lanes(eight); at += hn::Lanes(eight)) vector(eight, at);
    for (; at != end; ++at) vector(hn::CappedTag<Lane, 1>(), at);
  }

#else

  HWY_NOINLINE void rest(std::size_t at, std::size_t count) const {
    const Full d;
    const hn::Rebind<Stored, Full> ds;
    while (count > 0) {
      const std::size_t now = HWY_MIN(count, hn::Lanes(d));
      const auto mask = hn::FirstN(ds, now);
      auto v = masked(d, ds, mask, 0, at);
      for (std::size_t i = 1; i < from_.size(); ++i) {
        v = Operation::apply(d, v, masked(d, ds, mask, i, at));
      }
      const auto stored = Codec::encode(d, divisor_.apply(d, v));
      for (std::size_t i = 0; i < to_.size(); ++i) {
        hn::BlendedStore(stored, mask, ds, destination(i, at));
      }
      at += now;
      count -= now;
    }
  }

  template <class D, class DS, class M>
  HWY_INLINE hn::Vec<D> masked(D d, DS ds, M mask, std::size_t source, std::size_t at) const {
    const Stored* from = reinterpret_cast<const Stored*>(from_[source]) + at;
    return scaling_.apply(d, Codec::decode(d, hn::MaskedLoad(mask, ds, from)), source);
  }

#endif

  // Reduces up to the first cache line of the first streaming destination and returns how many
  // elements that took. Destinations that do not lie on a line there (or are not aligned to their
  // elements) are written with ordinary stores: a vector can only be streamed whole and aligned.
  HWY_NOINLINE std::size_t align(std::size_t count, unsigned streaming) {
    constexpr std::size_t kLine = 64;
    std::size_t peel = 0;
    for (std::size_t i = 0; i < to_.size() && i < 32; ++i) {
      if ((streaming >> i & 1) == 0) continue;
      const auto address = reinterpret_cast<std::uintptr_t>(to_[i]);
      if (streaming_ == 0) {
        const std::size_t bytes = (kLine - address % kLine) % kLine;
        peel = bytes / sizeof(Stored);
        if (bytes % sizeof(Stored) != 0 || peel >= count) return 0;
      }
      if ((address + peel * sizeof(Stored)) % kLine == 0) streaming_ |= 1u << i;
    }
    if (peel != 0) rest(0, peel);
    return peel;
  }

  const Ends<const std::byte*, kSources> from_;
  const Ends<std::byte*, kDestinations> to_;
  const Divisor<Lane> divisor_;
  const Scaling scaling_;
  unsigned streaming_ = 0;  // destinations that the blocks stream
};

template <class Codec, class Operation>
void reduce_kernel(const KernelArguments& task) {
  if (task.source_count == 2 && task.destination_count == 1) {
    Pass<Codec, Operation, 2, 1>(task).run(task.count, task.streaming);
  } else {
    Pass<Codec, Operation, 0, 0>(task).run(task.count, task.streaming);
  }
}

template <class Codec>
void scaled_sum_kernel(const KernelArguments& task) {
  Pass<Codec, Sum, 0, 0, Scaled<Codec>>(task).run(task.count, task.streaming);
}

}  // namespace HWY_NAMESPACE
}  // namespace heddle::device
HWY_AFTER_NAMESPACE();

#endif
