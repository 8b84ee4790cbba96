// The library itself as what is measured.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <vector>

#include "harness/names.hpp"
#include "harness/pattern.hpp"
#include "harness/session.hpp"
#include "heddle/mpi.hpp"

namespace heddle::bench {
namespace {

class LibrarySession : public Session {
 public:
  LibrarySession(Communicator communicator, const Options& options)
      : communicator_(std::move(communicator)), registration_(options.registration) {}
  LibrarySession(const LibrarySession&) = delete;
  LibrarySession& operator=(const LibrarySession&) = delete;
  // Leaving is collective: a rank that an exception ends would wait for others that wait for it.
  ~LibrarySession() override {
    if (std::uncaught_exceptions() <= exceptions_) return;
    try {
      communicator_.abort();
    } catch (const Error&) {
      // It had failed already; the exception that is under way says why.
    }
  }

  void all_reduce(const Call& call) override {
    communicator_.all_reduce(call.send, call.receive, call.count, call.type, op_of(call));
  }
  void all_gather(const Call& call) override {
    communicator_.all_gather(call.send, call.receive, call.count, call.type);
  }
  void reduce_scatter(const Call& call) override {
    communicator_.reduce_scatter(call.send, call.receive, call.count, call.type, op_of(call));
  }
  void broadcast(const Call& call) override {
    communicator_.broadcast(call.send, call.receive, call.count, call.type, call.root);
  }
  void reduce(const Call& call) override {
    communicator_.reduce(call.send, call.receive, call.count, call.type, op_of(call), call.root);
  }
  void gather(const Call& call) override {
    communicator_.gather(call.send, call.receive, call.count, call.type, call.root);
  }
  void scatter(const Call& call) override {
    communicator_.scatter(call.send, call.receive, call.count, call.type, call.root);
  }
  void all_to_all(const Call& call) override {
    communicator_.all_to_all(call.send, call.receive, call.count, call.type);
  }
  void exchange(const Call& call, int to, int from) override {
    group([&] {
      communicator_.send(call.send, call.count, call.type, to);
      communicator_.receive(call.receive, call.count, call.type, from);
    });
  }
  void* allocate(std::size_t bytes) override {
    HostBuffer<std::uint8_t>& buffer = buffers_.emplace_back(bytes);
    if (registration_) registrations_.push_back(communicator_.register_buffer(buffer));
    return buffer.data();
  }
  std::string network() const override { return "Network: " + communicator_.network(); }
  int library_version() const override {
    int version = 0;
    detail::check(heddleGetVersion(&version));
    return version;
  }

 private:
  ReduceOp op_of(const Call& call) {
    if (call.op != kMulSum) return call.op;
    auto found = sums_.find(call.type);
    if (found == sums_.end()) {
      const auto scalar = mulsum_scalar(call.type, communicator_.rank());
      found =
          sums_.emplace(call.type, communicator_.pre_scaled_sum(scalar.data(), call.type)).first;
    }
    return found->second;
  }

  const int exceptions_ = std::uncaught_exceptions();
  // Destroyed from the last to the first: the communicator before the memory that it may use.
  std::vector<HostBuffer<std::uint8_t>> buffers_;
  Communicator communicator_;
  bool registration_;
  std::vector<Registration> registrations_;
  std::map<heddleDataType_t, PreScaledSum> sums_;
};

}  // namespace

std::unique_ptr<Session> join_by_mpi(const Options& options) {
  return std::make_unique<LibrarySession>(from_mpi(MPI_COMM_WORLD, {settings_of(options)}),
                                          options);
}

std::unique_ptr<Session> join_by_id(const Options& options, Control& control) {
  std::vector<heddleUniqueId> ids(static_cast<std::size_t>(control.ranks()));
  const heddleUniqueId mine = control.rank() == 0 ? UniqueId::make().get() : heddleUniqueId{};
  control.all_gather(&mine, ids.data(), sizeof mine);
  const auto id =
      UniqueId::from_string({ids[0].internal, strnlen(ids[0].internal, sizeof ids[0].internal)});
  return std::make_unique<LibrarySession>(
      Communicator::from_unique_id(id, control.ranks(), control.rank(), {settings_of(options)}),
      options);
}

}  // namespace heddle::bench
