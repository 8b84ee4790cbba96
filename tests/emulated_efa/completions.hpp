// The completion queue, and the event queue (which never has anything to say). Under the domain's
// lock, which its calls take.
#pragma once

#include <rdma/fi_eq.h>

#include <cstdint>
#include <deque>
#include <string>

namespace emulated_efa {

class Domain;

struct Completion {
  void* context;
  std::uint64_t flags;
  std::size_t bytes;
  void* buffer;
  std::uint64_t data;
  std::uint64_t tag;
  fi_addr_t source;
};

class CompletionQueue : public fid_cq {
 public:
  // 0 or a negative fi_errno.
  static int open(Domain& domain, const fi_cq_attr* attributes, void* context, fid_cq** opened);

  // More than the queue holds is lost, and an FI_EOVERRUN error stands in its place.
  void push(const Completion& completion);
  // `status` is EFA's; `error` the fi_errno where it is not the status's.
  void push_error(const Completion& completion, int status, int error, std::size_t cut = 0);

  // fi_cq_readfrom and friends; `sources` may be null.
  long read(void* entries, std::size_t count, fi_addr_t* sources);
  long read_error(fi_cq_err_entry& entry);

  Domain& domain() const { return domain_; }
  int users = 0;  // endpoints bound to it

 private:
  struct Failure {
    fi_cq_err_entry entry;
    std::string text;
  };
  CompletionQueue(Domain& domain, const fi_cq_attr& attributes, void* context);

  Domain& domain_;
  fi_cq_format format_;
  std::size_t room_;
  bool overrun_ = false;
  std::deque<Completion> ready_;
  std::deque<Failure> failures_;
  std::string last_text_;  // err_data of the failure read last
};

int open_event_queue(fid_fabric* fabric, fi_eq_attr* attributes, fid_eq** opened, void* context);

}  // namespace emulated_efa
