// A tiny client that uses the emulated adapters by plain libfabric, as any application would.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "lower.hpp"

namespace client {

using emulated_efa::Clock;
using emulated_efa::Info;
using emulated_efa::Owner;

// The environment of one test: adapters, seed, fabric, and a script from its text.
class Setting {
 public:
  explicit Setting(const std::string& script = "", const std::string& seed = "0",
                   const std::string& fabric = "efa");
  ~Setting();
  Setting(const Setting&) = delete;

 private:
  std::string path_;
};

// What a good application asks for.
Info good_hints(std::uint64_t caps = FI_MSG | FI_RMA);
// Empty when nothing fits.
Info ask(const fi_info* hints);

struct Seen {
  fi_cq_tagged_entry entry{};  // of a completion
  int error = 0;               // fi_errno, of an error completion
  int status = 0;              // its prov_errno
  std::string text;
};

class Client {
 public:
  // With FI_HMEM in `caps`: for memory of devices too.
  explicit Client(int adapter, std::uint64_t caps = FI_MSG | FI_RMA);

  std::vector<std::uint8_t> address() const;
  fi_addr_t insert(const std::vector<std::uint8_t>& address);

  fid_mr* reg(void* at, std::size_t bytes, std::uint64_t access);
  void* desc(fid_mr* region) { return fi_mr_desc(region); }

  // What has completed, at most one; moves things on.
  std::optional<Seen> poll();

  fid_ep* ep() const { return endpoint_.get(); }
  fid_domain* domain() const { return domain_.get(); }
  fid_av* av() const { return peers_.get(); }
  const fi_info& info() const { return *info_; }
  void close_region(fid_mr* region);
  // The adapter's endpoint goes away.
  void close() { endpoint_ = Owner<fid_ep>(); }

 private:
  Info info_;
  Owner<fid_fabric> fabric_;
  Owner<fid_domain> domain_;
  Owner<fid_av> peers_;
  Owner<fid_cq> completions_;
  std::vector<Owner<fid_mr>> regions_;
  Owner<fid_ep> endpoint_;
};

// Two adapters of this process, that know each other; `from` writes to and sends to `to`.
struct Pair {
  explicit Pair(std::uint64_t caps = FI_MSG | FI_RMA, bool acquainted = true);

  // Polls both until `done` or the time is over; what they saw is in seen_from and seen_to.
  bool wait(const std::function<bool()>& done, double seconds = 10);
  // One completion of the writer's.
  Seen next_from(double seconds = 10);
  long write(std::size_t offset, std::size_t bytes, std::uint64_t immediate,
             std::optional<std::uint64_t> key = {});

  std::vector<std::uint8_t> source, target;  // first: they outlive what writes to them
  Client from, to;
  fi_addr_t peer;  // `to`, as `from` has it
  fid_mr *source_region, *target_region;
  std::vector<Seen> seen_from, seen_to;
  fi_context2 contexts[4096];  // one an operation, in turn
  int used = 0;
};

}  // namespace client
