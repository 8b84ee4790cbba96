#include "communicator/resolve.hpp"

#include <netdb.h>

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/thread.hpp"

namespace heddle::communicator {
namespace {

std::vector<SocketAddress> look_up(const base::HostPort& place, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(place.port);
  if (getaddrinfo(place.host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    addresses.emplace_back();
    std::memcpy(&addresses.back().storage, one->ai_addr, one->ai_addrlen);
    addresses.back().size = one->ai_addrlen;
  }
  return addresses;
}

// Owned by the caller and by the thread that asks, whichever is there last.
struct Answer {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::vector<SocketAddress>> addresses;
};

}  // namespace

std::vector<SocketAddress> ask_system(const base::HostPort& place) { return look_up(place, 0); }

std::optional<std::vector<SocketAddress>> resolve(const base::HostPort& place,
                                                  const base::Deadline& deadline,
                                                  const Resolver& resolver) {
  if (auto numeric = look_up(place, AI_NUMERICHOST); !numeric.empty()) return numeric;
  const auto answer = std::make_shared<Answer>();
  base::start_thread("heddle-resolve", [answer, place, resolver] {
    auto addresses = resolver(place);
    const std::lock_guard lock(answer->mutex);
    answer->addresses = std::move(addresses);
    answer->changed.notify_all();
  }).detach();
  std::unique_lock lock(answer->mutex);
  answer->changed.wait_until(lock, deadline.at(), [&] { return answer->addresses.has_value(); });
  return answer->addresses;
}

}  // namespace heddle::communicator
