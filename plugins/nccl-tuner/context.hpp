// What the plugin keeps for one communicator, and how it starts: the machine of
// HEDDLE_TUNING_FILE, priced once for all communicators of a shape.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "nccl-tuner/abi.hpp"
#include "nccl-tuner/fill.hpp"
#include "nccl-tuner/prices.hpp"

namespace heddle::nccl_tuner {

inline constexpr const char* kName = "Heddle";

// Thread rule: everything may be called from any thread, at once.
class Context {
 public:
  // Reads the environment and the machine file. Whatever is wrong is told to `log` (which may be
  // null), each text once in the process, and the context then does nothing: an error would end
  // the job (abi.hpp).
  Context(std::size_t ranks, std::size_t nodes, abi::Logger log) noexcept;

  // Null when NCCL's own costs are to stay.
  const Prices* prices() const noexcept { return prices_.get(); }
  // Whether NCCL_ALGO or NCCL_PROTO is set. Tables show what it forbids; v2 has none.
  bool user_chose() const noexcept { return user_chose_; }

 private:
  std::shared_ptr<const Prices> prices_;
  bool user_chose_ = false;
};

// What the versions share. A null context, or table, is one to leave alone.
abi::Result make_context(std::size_t ranks, std::size_t nodes, abi::Logger log,
                         void** context) noexcept;
abi::Result fill_table(void* context, abi::Function function, std::size_t bytes, float** table,
                       int algorithms, int protocols) noexcept;
abi::Result drop_context(void* context) noexcept;

}  // namespace heddle::nccl_tuner
