// NCCL 2.21: no table, but a choice that NCCL follows without a word, whatever it could have run in
// its place. So nothing is chosen against NCCL_ALGO and NCCL_PROTO, nor where CollNet is there.
#include "nccl-tuner/context.hpp"

namespace heddle::nccl_tuner {
namespace {

abi::Result collective(void* context, abi::Function function, std::size_t bytes, int collnet,
                       int /*nvls*/, int /*operations*/, int* algorithm, int* protocol,
                       int* /*channels*/) noexcept {
  const auto* const known = static_cast<const Context*>(context);
  if (known == nullptr || known->prices() == nullptr || known->user_chose() || collnet != 0)
    return abi::Result::success;
  if (const auto choice = choose(*known->prices(), function, bytes)) {
    *algorithm = choice->algorithm;
    *protocol = choice->protocol;
  }
  return abi::Result::success;
}

}  // namespace
}  // namespace heddle::nccl_tuner

extern "C" {
[[gnu::visibility("default")]] extern const heddle::nccl_tuner::abi::TunerV2 ncclTunerPlugin_v2;
const heddle::nccl_tuner::abi::TunerV2 ncclTunerPlugin_v2 = {
    heddle::nccl_tuner::kName,
    heddle::nccl_tuner::make_context,
    heddle::nccl_tuner::collective,
    heddle::nccl_tuner::drop_context,
};
}
