// What a benchmark measures: the library, or a stand-in of it in the harness's own tests.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "harness/control.hpp"
#include "harness/options.hpp"
#include "heddle/heddle.hpp"

namespace heddle::bench {

// One operation, as heddle.h describes its buffers and count.
struct Call {
  const void* send;
  void* receive;
  std::size_t count;
  heddleDataType_t type;
  Op op;
  int root = 0;
};

class Session {
 public:
  virtual ~Session() = default;
  virtual void all_reduce(const Call& call) = 0;
  virtual void all_gather(const Call& call) = 0;
  virtual void reduce_scatter(const Call& call) = 0;
  virtual void broadcast(const Call& call) = 0;
  virtual void reduce(const Call& call) = 0;
  virtual void gather(const Call& call) = 0;
  virtual void scatter(const Call& call) = 0;
  virtual void all_to_all(const Call& call) = 0;
  // Sends to rank `to` and receives from rank `from`, both at once.
  virtual void exchange(const Call& call, int to, int from) = 0;
  // Memory for operations, touched, that lives as long as the session.
  virtual void* allocate(std::size_t bytes) = 0;
  // A line for the header: what carries the data.
  virtual std::string network() const = 0;
  virtual int library_version() const = 0;  // as HEDDLE_VERSION_CODE
};

// Joins all ranks of `control` into one communicator: over MPI, or by a unique id that rank 0
// makes.
std::unique_ptr<Session> join_by_mpi(const Options& options);
std::unique_ptr<Session> join_by_id(const Options& options, Control& control);

}  // namespace heddle::bench
