// NCCL 2.22 and 2.23: a table of costs in place of a choice.
#include "nccl-tuner/context.hpp"

namespace heddle::nccl_tuner {
namespace {

abi::Result collective(void* context, abi::Function function, std::size_t bytes, int /*operations*/,
                       float** table, int algorithms, int protocols, int* /*channels*/) noexcept {
  return fill_table(context, function, bytes, table, algorithms, protocols);
}

}  // namespace
}  // namespace heddle::nccl_tuner

extern "C" {
[[gnu::visibility("default")]] extern const heddle::nccl_tuner::abi::TunerV3 ncclTunerPlugin_v3;
const heddle::nccl_tuner::abi::TunerV3 ncclTunerPlugin_v3 = {
    heddle::nccl_tuner::kName,
    heddle::nccl_tuner::make_context,
    heddle::nccl_tuner::collective,
    heddle::nccl_tuner::drop_context,
};
}
