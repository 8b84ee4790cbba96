// NCCL 2.28 and 2.29: v4 with more to init, of which nothing is needed: what the constants say is
// in the costs, and the domains are the nodes.
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
[[gnu::visibility("default")]] extern const heddle::nccl_tuner::abi::TunerV5 ncclTunerPlugin_v5;
const heddle::nccl_tuner::abi::TunerV5 ncclTunerPlugin_v5 = {
    heddle::nccl_tuner::kName,
    heddle::nccl_tuner::init,
    heddle::nccl_tuner::collective,
    heddle::nccl_tuner::drop_context,
};
}
