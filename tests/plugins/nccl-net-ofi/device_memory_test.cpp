// What of memory the plugin offers to NCCL, by provider and driver; whose a pointer is; flushes.
#include "nccl-net-ofi/device_memory.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "emulated_cuda/memory.hpp"
#include "support/base_errors.hpp"

using namespace heddle;
using namespace heddle::nccl_net;
using emulated_cuda::Setting;
using test::error_of;
using transport::fabric::ChosenProvider;
using transport::fabric::MemoryOwner;

namespace {

ChosenProvider provider(bool device_memory) {
  ChosenProvider chosen{};
  chosen.name = "some-provider";
  chosen.rma = true;
  chosen.device_memory = device_memory;
  if (!device_memory) chosen.why_no_device_memory = "it has no FI_HMEM";
  return chosen;
}

DeviceMemorySupport support_with(const char* words) {
  const Setting setting(words);
  return device_memory_support(provider(true));
}

constexpr MemoryKind kHost{};
constexpr MemoryKind kCuda{.where = MemoryKind::Where::cuda};

}  // namespace

TEST_CASE("all that is needed is there: CUDA's memory is offered") {
  const bool dmabuf = transport::fabric::knows_dmabuf();
  const DeviceMemorySupport all = support_with("devices=2");
  CHECK(all.why_not.empty());
  CHECK(all.pointer_bits() == (dmabuf ? 7 : 3));
  CHECK(support_with("no-dmabuf").pointer_bits() == 3);
  CHECK(support_with("no-flush,ordered").pointer_bits() == (dmabuf ? 7 : 3));
  CHECK(support_with("no-gdr").cuda == dmabuf);
  CHECK(all.must_flush);
  CHECK_FALSE(support_with("ordered").must_flush);
}

TEST_CASE("whatever lacks, the host's memory is offered and the reason told") {
  const auto reason = [](const DeviceMemorySupport& support) {
    CHECK(support.pointer_bits() == 1);
    CHECK_FALSE(support.must_flush);
    return support.why_not;
  };
  CHECK(reason(device_memory_support(provider(false))) ==
        "provider some-provider: it has no FI_HMEM");
  ChosenProvider by_messages = provider(true);
  by_messages.rma = false;
  CHECK(reason(device_memory_support(by_messages)) ==
        "provider some-provider is used without RDMA writes");
  CHECK_THAT(reason(support_with("devices=0")), Catch::Contains("no CUDA-capable device"));
  CHECK_THAT(reason(support_with("no-gdr,no-dmabuf")),
             Catch::Contains("CUDA device 0 has no GPUDirect RDMA"));
  CHECK_THAT(reason(support_with("no-flush")), Catch::Contains("cannot be flushed"));
  CHECK_THAT(reason(support_with("unknown-attributes")), Catch::Contains("no GPUDirect RDMA"));
  const DeviceMemory without(provider(true), nullptr, "no CUDA driver: none here");
  CHECK(reason(without.support()) == "no CUDA driver: none here");
  // A driver without the function to flush, whatever the GPU could do.
  std::string why_not;
  auto old = device::cuda::open_driver(why_not, EMULATED_OLD_CUDA);
  INFO(why_not);
  REQUIRE(old != nullptr);
  CHECK_THAT(reason(DeviceMemory(provider(true), old, "").support()),
             Catch::Contains("cannot be flushed"));
}

TEST_CASE("memory is what was said, or it is refused") {
  const Setting two("devices=2");
  const auto memory = open_device_memory(provider(true));
  REQUIRE(memory->support().cuda);
  const emulated_cuda::Memory device(8192, 1), managed(4096, 0, true);
  std::byte host[64];
  CHECK(memory->owner_of(host, sizeof host, kHost).is_host());
  CHECK(memory->owner_of(managed.data(), 64, kHost).is_host());
  const MemoryOwner owner = memory->owner_of(device.data() + 5, 100, kCuda);
  CHECK(owner.kind == MemoryOwner::Kind::cuda);
  CHECK(owner.device == 1);
  CHECK(owner.dmabuf == -1);
  const auto refused = [&](const void* data, std::size_t bytes, const MemoryKind& kind) {
    return error_of([&] { memory->owner_of(data, bytes, kind); }, heddleInvalidArgument);
  };
  CHECK_THAT(refused(device.data(), 64, kHost),
             Catch::Contains("as host memory: it is of CUDA device 1"));
  CHECK_THAT(refused(host, 64, kCuda), Catch::Contains("CUDA does not know it"));
  CHECK_THAT(refused(managed.data(), 64, kCuda), Catch::Contains("managed memory"));
  CHECK_THAT(refused(device.data(), 1 << 20, kCuda), Catch::Contains("its end is not of"));
  const MemoryKind file{.where = MemoryKind::Where::cuda, .dmabuf = 7, .offset = 4096};
  if (memory->support().dmabuf) {
    CHECK(memory->owner_of(device.data(), 64, file).dmabuf == 7);
    CHECK(memory->owner_of(device.data(), 64, file).offset == 4096);
  } else {
    CHECK_THAT(refused(device.data(), 64, file), Catch::Contains("dmabuf is not supported"));
  }
}

TEST_CASE("where CUDA's memory is not offered it is refused with the reason") {
  const auto memory = open_device_memory(provider(false));
  std::byte host[64];
  CHECK(memory->owner_of(host, sizeof host, kHost).is_host());
  CHECK_THAT(error_of([&] { memory->owner_of(host, sizeof host, kCuda); }, heddleInvalidArgument),
             Catch::Contains("host memory only, because provider some-provider"));
}

TEST_CASE("what was received is flushed where that is needed") {
  const int before = emulated_cuda::flushes();
  {
    const Setting ordered("ordered");
    const auto memory = open_device_memory(provider(true));
    CHECK_FALSE(memory->needs_flush(0));
    memory->flush(0);
    CHECK(emulated_cuda::flushes() == before);
  }
  const auto memory = open_device_memory(provider(true));
  CHECK(memory->needs_flush(0));
  memory->flush(0);
  CHECK(emulated_cuda::flushes() == before + 1);
}
