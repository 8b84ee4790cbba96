// What the plugin says to memory that is not what it was said to be, to GPUs that adapters cannot
// reach, and to memory that is taken away while messages are under way on it. The plugin as it was
// built, in processes, over the emulated EFA and the stand-in for CUDA's driver.
#include "device_end.hpp"
#include "transport/fabric/device_memory.hpp"

namespace heddle::nccl_net::testing {
namespace {

using V12 = nccl_abi::NetV12;
using nccl_abi::kPointerCuda;
using nccl_abi::kPointerHost;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
void expect_has(const std::string& text, const std::string& part) {
  expect(has(text, part), "not there: " + part + "\nin: " + text);
}

// Both ends of a comm in this process.
struct Loop {
  End<V12> end;
  void *sender = nullptr, *receiver = nullptr;

  Loop() {
    Handle handle{};
    void* listener = nullptr;
    end.must(end.driver().listen(0, handle, &listener), "listen");
    while (sender == nullptr || receiver == nullptr) {
      if (sender == nullptr) end.must(end.driver().connect(0, handle, &sender), "connect");
      if (receiver == nullptr) end.must(end.driver().accept(listener, &receiver), "accept");
    }
  }
  // What the log says about memory that must be refused, by both ends.
  std::string refused(void* data, std::size_t bytes, int type) {
    std::string all;
    for (void* const comm : {sender, receiver}) {
      void* memory = nullptr;
      all += end.refused(end.net().regMr(comm, data, bytes, type, &memory), "regMr");
      expect(memory == nullptr, "a refused registration has a handle");
    }
    return all;
  }
};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// NCCL is told of the host's memory only, and why; GPU's memory is refused with the same reason.
void offers_host_memory_only(const std::string& why) {
  Loop loop;
  expect(loop.end.properties().ptrSupport == 1, loop.end.started());
  expect(loop.end.properties().forceFlush == 0, "flushes are asked for");
  expect_has(loop.end.started(), "INFO NET/OFI no GPU memory: ");
  expect_has(loop.end.started(), why);
  expect(count(loop.end.started(), why) == 1, "it is said twice\n" + loop.end.started());
  expect(!has(loop.end.started(), "WARN"), loop.end.started());
  Buffer host(Kind::host, 4096);
  expect_has(loop.refused(host.data(), 4096, kPointerCuda), why);
  void* memory = nullptr;
  loop.end.must(loop.end.net().regMr(loop.sender, host.data(), 4096, kPointerHost, &memory),
                "regMr of the host's memory");
}

std::string host_only(const Variables& variables, const std::string& why) {
  return run_process({"process", variables, [&](const Other&) { offers_host_memory_only(why); }});
}

// A receive that nobody answers, or a send that is under way, and its memory is gone at once.
void takes_memory_away(End<V12>& end, const Other& other, bool sends) {
  constexpr std::size_t kBytes = 8 << 20;
  std::optional<Buffer> buffer(std::in_place, Kind::cuda, kBytes);
  void* const memory = end.known(*buffer);
  void* const request = sends ? end.send(*buffer, memory, {kBytes, kBytes, 0, 0})
                              : end.receive(*buffer, memory, {kBytes, kBytes, 0, 0});
  if (!sends) other.meet();  // the sender may begin
  const auto start = base::Clock::now();
  end.must(end.net().deregMr(end.comm(), memory), "deregMr");
  buffer.reset();
  expect(base::seconds_since(start) < 5, "deregMr takes too long");
  int bytes = 0;
  const Result result = end.driver().wait(request, &bytes);
  expect(result == Result::success || has(logged(), "gave up"), "test told no reason");
}

}  // namespace

TEST_CASE("memory of another kind than was said is refused in words") {
  const auto work = [](const Other&) {
    Loop loop;
    Buffer device(Kind::cuda, 8192), host(Kind::host, 8192);
    expect_has(loop.refused(device.data(), 8192, kPointerHost),
               "as host memory: it is of CUDA device 0");
    expect_has(loop.refused(host.data(), 8192, kPointerCuda), "CUDA does not know it");
    expect_has(loop.refused(host.data(), 8192, 8), "memory of type 0x8");
    expect_has(loop.refused(device.data(), 1 << 20, kPointerCuda), "its end is not of");
    // Adapters know where one allocation ends and the next begins; CUDA calls both the device's.
    const Buffer next(Kind::cuda, 8192);
    expect_has(loop.refused(device.data(), 3 * 4096, kPointerCuda),
               "could not register 12288 bytes of CUDA device 0");
    if (transport::fabric::knows_dmabuf()) return;
    void* memory = nullptr;
    expect_has(loop.end.refused(loop.end.net().regMrDmaBuf(loop.sender, device.data(), 8192,
                                                           kPointerCuda, 0, 0, &memory),
                                "regMrDmaBuf"),
               "dmabuf is not supported");
  };
  CHECK(run_process({"process", emulated(2), work}) == "");
}

TEST_CASE("where adapters or the driver cannot reach GPUs, NCCL keeps to the host's memory") {
  CHECK(host_only({{"HEDDLE_PROVIDER", "tcp"}}, "grants it no FI_HMEM") == "");
  CHECK(host_only(emulated(2, 1, "none"), "grants it no FI_HMEM on rdmap16s27, rdmap32s27") == "");
  const auto driver = [](const char* words) {
    return emulated(2) + Variables{{"HEDDLE_EMULATED_CUDA", words}};
  };
  CHECK(host_only(driver("no-flush"), "what adapters write to CUDA device 0 cannot be flushed") ==
        "");
  CHECK(host_only(driver("no-gdr,no-dmabuf"), "CUDA device 0 has no GPUDirect RDMA") == "");
  CHECK(host_only(driver("devices=0"), "no CUDA-capable device") == "");
  CHECK(host_only(driver("broken"), "cuInit") == "");
#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
  CHECK(host_only(emulated(2, 1, "copies"), "FI_OPT_CUDA_API_PERMITTED") == "");
#endif
}

TEST_CASE("memory that is taken back ends its messages, and nobody touches it any more") {
  for (const bool sends : {false, true}) {
    const auto sender = [=](const Other& other) {
      End<V12> end;
      end.connect(other);
      if (sends) {
        takes_memory_away(end, other, true);
      } else {
        Buffer buffer(Kind::cuda, 8 << 20);
        void* const memory = end.known(buffer);
        other.meet();
        // It comes to be, or fails when the receiver's memory has gone.
        void* request = nullptr;
        Result result = Result::success;
        while (result == Result::success && request == nullptr)
          result = end.driver().send(end.comm(), buffer.data(), 8 << 20, 3, memory, &request);
        if (result == Result::success) end.driver().wait(request, nullptr);
        // A message that has failed may be in the adapters' hands until then.
        end.must(end.net().deregMr(end.comm(), memory), "deregMr");
      }
      other.meet();
      end.close_sender();
    };
    const auto receiver = [=](const Other& other) {
      End<V12> end;
      end.accept(other);
      if (sends) {
        Buffer buffer(Kind::cuda, 8 << 20);
        void* const memory = end.known(buffer);
        void* const request = end.receive(buffer, memory, {8 << 20, 8 << 20, 0, 0});
        end.driver().wait(request, nullptr);
        end.must(end.net().deregMr(end.comm(), memory), "deregMr");
      } else {
        takes_memory_away(end, other, false);
      }
      other.meet();
      end.close_receiver();
    };
    for (const int adapters : {1, 4})
      CHECK(run_processes({"sender", emulated(adapters), sender},
                          {"receiver", emulated(adapters), receiver}) == "");
  }
}

}  // namespace heddle::nccl_net::testing
