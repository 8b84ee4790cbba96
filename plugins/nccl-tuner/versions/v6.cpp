// NCCL 2.30: v5, and a say in the size of a chunk, which stays NCCL's: it knows its buffers.
#include "nccl-tuner/context.hpp"

namespace heddle::nccl_tuner {
namespace {

abi::Result init(void** context, std::uint64_t /*communicator*/, std::size_t ranks,
                 std::size_t nodes, abi::Logger log, abi::NvlinkDomains* /*domains*/,
                 abi::Constants* /*constants*/) noexcept {
  return make_context(ranks, nodes, log, context);
}

abi::Result collective(void* context, abi::Function function, std::size_t bytes, int /*operations*/,
                       float** table, int algorithms, int protocols, int /*registered*/,
                       int* /*channels*/) noexcept {
  return fill_table(context, function, bytes, table, algorithms, protocols);
}

}  // namespace
}  // namespace heddle::nccl_tuner

extern "C" {
[[gnu::visibility("default")]] extern const heddle::nccl_tuner::abi::TunerV6 ncclTunerPlugin_v6;
const heddle::nccl_tuner::abi::TunerV6 ncclTunerPlugin_v6 = {
    heddle::nccl_tuner::kName,
    heddle::nccl_tuner::init,
    heddle::nccl_tuner::collective,
    heddle::nccl_tuner::drop_context,
    nullptr,
};
}
