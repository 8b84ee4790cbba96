// NCCL 2.24 to 2.27: v3, and whether the buffers are registered, which no price depends on.
#include "nccl-tuner/context.hpp"

namespace heddle::nccl_tuner {
namespace {

abi::Result collective(void* context, abi::Function function, std::size_t bytes, int /*operations*/,
                       float** table, int algorithms, int protocols, int /*registered*/,
                       int* /*channels*/) noexcept {
  return fill_table(context, function, bytes, table, algorithms, protocols);
}

}  // namespace
}  // namespace heddle::nccl_tuner

extern "C" {
[[gnu::visibility("default")]] extern const heddle::nccl_tuner::abi::TunerV4 ncclTunerPlugin_v4;
const heddle::nccl_tuner::abi::TunerV4 ncclTunerPlugin_v4 = {
    heddle::nccl_tuner::kName,
    heddle::nccl_tuner::make_context,
    heddle::nccl_tuner::collective,
    heddle::nccl_tuner::drop_context,
};
}
