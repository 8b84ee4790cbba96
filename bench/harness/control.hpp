// What the ranks of a benchmark tell each other beside the collective under test: a barrier, and
// small records from everyone to everyone. By MPI, or by memory shared with the parent that forked
// them; never by the library that is being measured.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace heddle::bench {

inline constexpr std::size_t kRecordBytes = 512;  // at most, of one rank's record
inline constexpr double kControlTimeout = 600;    // seconds that a rank waits for the others

class Control {
 public:
  virtual ~Control() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  // Collective. Fails with heddleTimeout when the others do not come in kControlTimeout.
  virtual void barrier() = 0;
  // Collective: `receive` gets ranks() records of `bytes`, which is at most kRecordBytes.
  virtual void all_gather(const void* send, void* receive, std::size_t bytes) = 0;
  // Whether nobody has said this of a failure yet, as far as is known: what all ranks meet is then
  // told once.
  virtual bool is_news(std::string_view failure) = 0;

  std::vector<double> all_gather(double value) {
    std::vector<double> values(static_cast<std::size_t>(ranks()));
    all_gather(&value, values.data(), sizeof value);
    return values;
  }
};

// Anonymous memory that processes forked after its making share.
class SharedRegion {
 public:
  explicit SharedRegion(int ranks);
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;
  ~SharedRegion();

 private:
  friend class SharedControl;
  struct Layout;
  std::size_t bytes_;
  Layout* layout_;
};

class SharedControl : public Control {
 public:
  using Control::all_gather;
  // The region must outlive it.
  SharedControl(SharedRegion& region, int rank, int ranks);
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  void barrier() override;
  void all_gather(const void* send, void* receive, std::size_t bytes) override;
  bool is_news(std::string_view failure) override;

 private:
  SharedRegion::Layout& layout_;
  int rank_, ranks_;
};

// Over MPI_COMM_WORLD, which must be initialised and must outlive it.
std::unique_ptr<Control> mpi_control();

}  // namespace heddle::bench
