// Whether a sender should write slots around its caches (streaming stores). A plain store must
// first take the line from the cache of the core that read the slot before. Where the two cores
// share a cache that is faster than memory by a third; between cores of different cache complexes
// or sockets it is slower by a factor of four (measured on an AMD EPYC), and no table tells where a
// virtual machine's processors are just now. So the sender compares how long either way takes it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace heddle::transport {

class StreamingChoice {
 public:
  // Shorter messages stay in the caches.
  static constexpr std::size_t kLeastBytes = 16 * 1024;

  // How to write the next long message: as chosen, or the other way to know what that would cost
  // (every other one of the first, then few).
  bool next() {
    constexpr unsigned kFirst = 12, kTryEvery = 32;
    const unsigned n = count_++;
    const bool is_try = n < kFirst ? n % 2 == 1 : n % kTryEvery == 0;
    return is_try ? !stream_ : stream_;
  }

  // A long message took so long to write.
  void took(bool streamed, double nanoseconds_per_byte) {
    (streamed ? streamed_ : cached_).add(nanoseconds_per_byte);
    if (!cached_.known() || !streamed_.known()) return;
    const double ratio = streamed_.median() / cached_.median();
    if (ratio < kClearlyFaster) stream_ = true;
    if (ratio > kHardlyFaster) stream_ = false;
  }

 private:
  // Nothing changes in between.
  static constexpr double kClearlyFaster = 0.6, kHardlyFaster = 0.8;

  // The last few: an interruption makes some much longer.
  class Samples {
   public:
    void add(double sample) { last_[count_++ % last_.size()] = sample; }
    bool known() const { return count_ >= 5; }
    double median() const {
      const auto used = static_cast<std::ptrdiff_t>(std::min(count_, last_.size()));
      auto sorted = last_;
      std::nth_element(sorted.begin(), sorted.begin() + used / 2, sorted.begin() + used);
      return sorted[static_cast<std::size_t>(used / 2)];
    }

   private:
    std::array<double, 9> last_{};
    std::size_t count_ = 0;
  };

  Samples cached_, streamed_;  // ns a byte
  bool stream_ = false;
  unsigned count_ = 0;
};

}  // namespace heddle::transport
