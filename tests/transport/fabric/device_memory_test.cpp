// Memory of devices over the emulated EFA and the stand-in for libcuda: it faults when the host
// touches it, so what arrives has gone through the registrations.
#include "transport/fabric/device_memory.hpp"

#include "emulated_cuda/memory.hpp"
#include "support.hpp"
#include "support/base_errors.hpp"
#include "support/descriptors.hpp"
#include "transport/fabric/rail.hpp"

using namespace fabric_test;
using namespace heddle::transport::fabric;
using test::error_of;

namespace {

// HEDDLE_EMULATED_EFA_HMEM for as long as it lives, and 2 GPUs.
class Offer {
 public:
  explicit Offer(const char* what) {
    setenv("HEDDLE_EMULATED_EFA", "2", 1);
    setenv("HEDDLE_EMULATED_EFA_HMEM", what, 1);
  }
  Offer(const Offer&) = delete;
  ~Offer() { unsetenv("HEDDLE_EMULATED_EFA_HMEM"); }

 private:
  emulated_cuda::Setting two_{"devices=2"};
};

ChosenProvider choose(DeviceMemory device_memory) {
  return choose_provider(settings("efa"), kLoopback, device_memory);
}

MemoryOwner on(int device, int dmabuf = -1, std::uint64_t offset = 0) {
  return {MemoryOwner::Kind::cuda, device, dmabuf, offset};
}

std::vector<std::byte> bytes_of(std::size_t count, int seed) {
  std::vector<std::byte> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = pattern(seed, 0, i);
  return result;
}

// Rails of two adapters that write to each other's memory.
struct TwoRails {
  TwoRails() : TwoRails(choose(DeviceMemory::wanted)) {}
  explicit TwoRails(const ChosenProvider& chosen)
      : from(chosen.adapters.at(0), 0, options()), to(chosen.adapters.at(1), 1, options()) {
    introduce();
  }

  static RailOptions options() {
    return {.message_bytes = 4096, .ask_for_delivery = false, .renews_domain = true};
  }
  void introduce() {
    peer = from.insert(to.address());
    to.insert(from.address());
  }
  void renew() {
    for (Rail* rail : {&from, &to}) {
      rail->close_endpoint();
      rail->close_completions();
    }
    for (Rail* rail : {&from, &to}) rail->reopen();
    introduce();
  }

  // Writes and waits for both ends; the text of an error completion, or "".
  std::string write(std::byte* data, std::size_t bytes, const MemoryRegion& source,
                    const std::byte* target, const MemoryRegion& known) {
    Request request{};
    request.verb = Verb::write;
    request.data = data;
    request.bytes = bytes;
    request.desc = source.desc();
    request.to = peer;
    request.remote = reinterpret_cast<std::uint64_t>(target);
    request.key = known.key();
    request.tag = 77;
    from.post(request);
    bool sent = false, arrived = false;
    const auto start = base::Clock::now();
    while (!sent || !arrived) {
      if (base::seconds_since(start) > 10) return "nothing came in time";
      fi_cq_data_entry entries[4];
      std::size_t count = 0;
      if (from.poll(entries, count) == Rail::Polled::error) {
        Rail::Failure failure;
        return from.read_error(failure) ? failure.text : "an error without a text";
      }
      sent = sent || count > 0;
      to.poll(entries, count);
      arrived = arrived || count > 0;
    }
    return "";
  }

  Rail from, to;
  fi_addr_t peer;
};

}  // namespace

TEST_CASE("where the provider has no device memory, that is told and the host's goes on") {
  const Offer offer("none");
  const ChosenProvider chosen = choose(DeviceMemory::wanted);
  CHECK_FALSE(chosen.device_memory);
  CHECK_THAT(chosen.why_no_device_memory,
             Catch::Contains("grants it no FI_HMEM on rdmap16s27, rdmap32s27"));
  TwoRails rails(chosen);
  emulated_cuda::Memory memory(4096);
  CHECK_THAT(error_of([&] { rails.from.register_memory(memory.data(), 4096, Access::both, on(0)); },
                      heddleInvalidArgument),
             Catch::Contains("cannot register 4096 bytes of CUDA device 0: it was opened for the "
                             "host's memory only"));
  std::vector<std::byte> host(4096);
  CHECK_NOTHROW(rails.from.register_memory(host.data(), 4096, Access::both));
}

TEST_CASE("device memory is asked for only where it is wanted") {
  const Offer offer("cuda");
  CHECK_FALSE(choose(DeviceMemory::unused).device_memory);
  CHECK(choose(DeviceMemory::unused).why_no_device_memory.empty());
  CHECK((choose(DeviceMemory::unused).adapters[0].info->caps & FI_HMEM) == 0);
  const ChosenProvider chosen = choose(DeviceMemory::wanted);
  CHECK(chosen.device_memory);
  CHECK(chosen.adapters.size() == 2);
  for (const ChosenAdapter& one : chosen.adapters) {
    CHECK((one.info->caps & FI_HMEM) != 0);
    CHECK((one.info->domain_attr->mr_mode & FI_MR_HMEM) != 0);
  }
}

TEST_CASE("a provider that must call the devices' library has no device memory") {
  const Offer offer("copies");
  const ChosenProvider chosen = choose(DeviceMemory::wanted);
  // Before 1.18 nobody can ask.
  const bool asked = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION) >= FI_VERSION(1, 18);
  CHECK(chosen.device_memory == !asked);
  if (asked) {
    CHECK_THAT(chosen.why_no_device_memory, Catch::Contains("FI_OPT_CUDA_API_PERMITTED"));
    CHECK((chosen.adapters[0].info->caps & FI_HMEM) == 0);
  }
}

TEST_CASE("device memory is written to device memory, and after a new domain too") {
  const Offer offer("cuda");
  TwoRails rails;
  emulated_cuda::Memory source(300000, 0), target(300000, 1);
  const MemoryRegion from =
      rails.from.register_memory(source.data(), source.size(), Access::both, on(0));
  const MemoryRegion to =
      rails.to.register_memory(target.data(), target.size(), Access::both, on(1));
  for (int round = 0; round < 3; ++round) {
    if (round > 0) rails.renew();
    source.write(bytes_of(200000, round), 1000);
    REQUIRE(rails.write(source.data() + 1000, 200000, from, target.data() + 77, to) == "");
    CHECK(target.read(77, 200000) == bytes_of(200000, round));
  }
}

TEST_CASE("what an adapter refuses of device memory is told with whose it was said to be") {
  const Offer offer("cuda");
  TwoRails rails;
  emulated_cuda::Memory memory(8192, 1);
  std::vector<std::byte> host(8192);
  const auto refused = [&](std::byte* data, std::size_t bytes, const MemoryOwner& owner) {
    return error_of([&] { rails.from.register_memory(data, bytes, Access::both, owner); },
                    heddleSystemError);
  };
  CHECK_THAT(refused(memory.data(), 4096, {}),
             Catch::Contains("could not register 4096 bytes of the host: fi_mr_reg failed"));
  CHECK_THAT(refused(memory.data(), 4096, on(0)),
             Catch::Contains("could not register 4096 bytes of CUDA device 0: fi_mr_regattr "
                             "failed: Invalid argument"));
  CHECK_THAT(refused(host.data(), 4096, on(0)), Catch::Contains("of CUDA device 0"));
  CHECK_THAT(refused(memory.data(), 16384, on(1)), Catch::Contains("of CUDA device 1"));
  // The descriptor of other memory is no good.
  const MemoryRegion other = rails.from.register_memory(host.data(), 8192, Access::both);
  emulated_cuda::Memory target(8192);
  const MemoryRegion to = rails.to.register_memory(target.data(), 8192, Access::both, on(0));
  CHECK_THAT(rails.write(memory.data(), 64, other, target.data(), to),
             Catch::Contains("local memory is not registered"));
}

TEST_CASE("a dmabuf is the caller's to close, and kept as long as it may be registered again") {
  const Offer offer("cuda");
  TwoRails rails;
  emulated_cuda::Memory memory(16384, 1), target(16384);
  base::UniqueFd file(memory.dmabuf());
  const int before = test::open_descriptors();
  std::byte* const data = memory.data() + 8192;
  const auto add = [&] {
    return rails.from.register_memory(data, 4096, Access::both, on(1, file.get(), 8192));
  };
  if (!knows_dmabuf()) {
    CHECK_THAT(error_of(add, heddleInvalidArgument),
               Catch::Contains("of CUDA device 1 (dmabuf): dmabuf needs libfabric 1.20"));
    CHECK(test::open_descriptors() == before);
    return;
  }
  MemoryRegion from = add();
  CHECK(test::open_descriptors() == before + 1);
  file.reset();
  const MemoryRegion to = rails.to.register_memory(target.data(), 16384, Access::both, on(0));
  for (int round = 0; round < 2; ++round) {
    if (round > 0) rails.renew();
    memory.write(bytes_of(4096, round), 8192);
    REQUIRE(rails.write(data, 4096, from, target.data(), to) == "");
    CHECK(target.read(0, 4096) == bytes_of(4096, round));
  }
  const int held = test::open_descriptors();
  from.reset();
  CHECK(test::open_descriptors() == held - 1);
}
