// Comms over the fabric, both ends in one process.
#include "nccl-net-ofi/comm.hpp"

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "catch.hpp"

using namespace heddle;
using namespace heddle::nccl_net;

namespace {

struct Comms {
  std::shared_ptr<Endpoint> endpoint;
  std::unique_ptr<SendComm> sender;
  std::unique_ptr<ReceiveComm> receiver;

  explicit Comms(int most_grouped) {
    base::Settings settings;
    settings.provider = "tcp";
    settings.iface = "lo";
    endpoint = open_endpoint(settings, {"lo"}, most_grouped);
    const auto listener = endpoint->listen();
    std::array<std::byte, kHandleBytes> handle{};
    std::ranges::copy(listener->handle(), handle.begin());
    const base::Deadline deadline(base::Seconds(10));
    while (!(sender && receiver) && !deadline.passed()) {
      if (!sender) sender = endpoint->connect(handle);
      if (!receiver) receiver = listener->accept();
    }
    REQUIRE((sender && receiver));
  }
};

template <typename Try>
bool eventually(Try attempt) {
  const base::Deadline deadline(base::Seconds(10));
  while (!attempt())
    if (deadline.passed()) return false;
  return true;
}

}  // namespace

TEST_CASE("a sender has a request for every buffer of as many receives as a receiver has") {
  constexpr int kGrouped = 4;
  Comms comms(kGrouped);
  constexpr std::size_t kBytes = 16, kAll = std::size_t{kMostRequests} * kGrouped;
  std::vector<std::byte> out(kAll * kBytes), in(kAll * kBytes);
  for (std::size_t i = 0; i < kAll; ++i)
    std::memset(out.data() + i * kBytes, static_cast<int>(i), kBytes);
  Memory* const from = comms.sender->register_memory(out.data(), out.size(), {});
  Memory* const into = comms.receiver->register_memory(in.data(), in.size(), {});
  std::vector<Request*> receives, sends;
  while (receives.size() < kMostRequests) {
    std::array<ReceiveBuffer, kGrouped> buffers;
    for (std::size_t i = 0; i < kGrouped; ++i)
      buffers[i] = {in.data() + (receives.size() * kGrouped + i) * kBytes, kBytes,
                    static_cast<int>(i), into};
    Request* const request = comms.receiver->receive(buffers);
    REQUIRE(request != nullptr);
    receives.push_back(request);
  }
  CHECK(comms.receiver->receive(std::array<ReceiveBuffer, 1>{{{in.data(), 1, 0, into}}}) ==
        nullptr);
  // None is tested before all are sent, as NCCL may.
  REQUIRE(eventually([&] {
    Request* const request = comms.sender->send(out.data() + sends.size() * kBytes, kBytes,
                                                static_cast<int>(sends.size() % kGrouped), from);
    if (request != nullptr) sends.push_back(request);
    return sends.size() == kAll;
  }));
  for (Request* const request : sends) REQUIRE(eventually([&] { return test(*request, nullptr); }));
  for (Request* const request : receives) {
    std::array<int, kGrouped> sizes{};
    REQUIRE(eventually([&] { return test(*request, sizes.data()); }));
    CHECK(sizes == std::array<int, kGrouped>{16, 16, 16, 16});
  }
  CHECK(out == in);
}

// NCCL registers the program's buffers from one thread while another sends. For the thread
// sanitizer.
TEST_CASE("memory comes and goes while another thread sends") {
  Comms comms(1);
  std::vector<std::byte> out(4096, std::byte{5}), in(4096), others(1 << 16);
  Memory* const from = comms.sender->register_memory(out.data(), out.size(), {});
  Memory* const into = comms.receiver->register_memory(in.data(), in.size(), {});
  std::atomic<bool> over{false};
  std::thread registering([&] {
    while (!over) {
      comms.sender->deregister(comms.sender->register_memory(others.data(), others.size(), {}));
      comms.receiver->deregister(comms.receiver->register_memory(others.data(), others.size(), {}));
    }
  });
  bool right = true;
  for (int i = 0; i < 500 && right; ++i) {
    const std::array<ReceiveBuffer, 1> buffer{{{in.data(), in.size(), 3, into}}};
    Request* receive = nullptr;
    Request* send = nullptr;
    right = eventually([&] {
      if (receive == nullptr) receive = comms.receiver->receive(buffer);
      if (send == nullptr) send = comms.sender->send(out.data(), out.size(), 3, from);
      return receive != nullptr && send != nullptr;
    });
    int size = 0;
    right = right && eventually([&] { return test(*receive, &size); }) && size == 4096;
    right = right && eventually([&] { return test(*send, nullptr); });
  }
  over = true;
  registering.join();
  CHECK(right);
}
