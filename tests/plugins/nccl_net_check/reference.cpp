#include "reference.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace heddle::net_reference {

bool fault(std::string_view name) {
  const char* ordered = std::getenv("NCCL_NET_REFERENCE_FAULT");
  return ordered && name == ordered;
}

Comm::~Comm() { close(socket_); }

void Comm::lose() {
  lost_ = true;
  if (fault("silent-loss")) return;
  for (auto& request : requests_)
    if (request->state == Request::State::waiting) request->state = Request::State::failed;
}

Request* Comm::new_request(std::vector<Slot> slots) {
  requests_.push_back(std::make_unique<Request>());
  requests_.back()->comm = this;
  requests_.back()->slots = std::move(slots);
  return requests_.back().get();
}

void Comm::release(Request* request) {
  std::erase_if(requests_, [&](const auto& one) { return one.get() == request; });
}

Request* Comm::send(std::byte* data, std::uint64_t bytes, int tag, bool* refused) {
  progress();
  if (lost_) {
    auto* request = new_request({{data, bytes, tag}});
    if (!fault("silent-loss")) request->state = Request::State::failed;
    return request;
  }
  // Within the first group alone.
  std::size_t slot = 0;
  for (;; ++slot) {
    if (slot == credits_.size()) {
      *refused = fault("impatient");
      return nullptr;
    }
    if (!credits_[slot].used && (credits_[slot].tag == tag || fault("tags"))) break;
    if (credits_[slot].last_of_group) return nullptr;
  }
  if (bytes > credits_[slot].bytes) {
    if (!fault("truncate")) {
      *refused = true;
      return nullptr;
    }
    bytes = credits_[slot].bytes;
  }
  auto* request = new_request({{data, bytes, tag}});
  if (bytes == 0 && fault("zero")) {
    request->state = Request::State::done;
    return request;
  }
  Outgoing one{std::vector<std::byte>(sizeof(Header)), data, bytes, 0, request};
  if (fault("early-done")) {
    request->state = Request::State::done;
    one.request = nullptr;
  }
  const Header header{slot, bytes};
  std::memcpy(one.head.data(), &header, sizeof(header));
  outgoing_.push_back(std::move(one));
  credits_[slot].used = true;
  const auto last = std::find_if(credits_.begin(), credits_.end(),
                                 [](const Credit& credit) { return credit.last_of_group; });
  if (std::all_of(credits_.begin(), last + 1, [](const Credit& credit) { return credit.used; }))
    credits_.erase(credits_.begin(), last + 1);
  progress();
  return request;
}

Request* Comm::receive(std::vector<Slot> slots) {
  progress();
  if (fault("few") && requests_.size() >= 4) return nullptr;
  auto* request = new_request(std::move(slots));
  if (fault("early-receive")) request->state = Request::State::done;
  if (lost_) {
    if (!fault("silent-loss")) request->state = Request::State::failed;
    return request;
  }
  Outgoing one;
  for (std::size_t i = 0; i < request->slots.size(); ++i) {
    const Credit credit{request->slots[i].bytes, request->slots[i].tag, false,
                        i + 1 == request->slots.size()};
    one.head.resize((i + 1) * sizeof(Credit));
    std::memcpy(one.head.data() + i * sizeof(Credit), &credit, sizeof(credit));
  }
  outgoing_.push_back(std::move(one));
  if (fault("order") && requests_.size() >= 2) {
    auto& before = requests_[requests_.size() - 2]->slots;
    if (before[0].bytes == request->slots[0].bytes && before[0].received == 0)
      std::swap(before, request->slots);
  }
  progress();
  return request;
}

bool Comm::write_some(Outgoing& one) {
  while (one.written < one.head.size() + one.bytes) {
    const bool in_head = one.written < one.head.size();
    const auto* from =
        in_head ? one.head.data() + one.written : one.data + (one.written - one.head.size());
    const auto most =
        in_head ? one.head.size() - one.written : one.head.size() + one.bytes - one.written;
    const auto written = ::send(socket_, from, most, MSG_NOSIGNAL);
    if (written < 0) {
      if (errno != EAGAIN) lose();
      return false;
    }
    one.written += static_cast<std::uint64_t>(written);
  }
  if (one.request) one.request->state = Request::State::done;
  return true;
}

std::uint64_t Comm::read_some(void* place, std::uint64_t bytes) {
  if (bytes == 0) return 0;
  const auto got = recv(socket_, place, bytes, 0);
  if (got > 0) return static_cast<std::uint64_t>(got);
  if (got == 0 || errno != EAGAIN) lose();
  return 0;
}

Request* Comm::first_waiting() {
  for (auto& request : requests_)
    if (std::any_of(request->slots.begin(), request->slots.end(),
                    [](const Slot& slot) { return !slot.whole; }))
      return request.get();
  return nullptr;
}

void Comm::message_is_there(Request& request, Slot& slot) {
  slot.whole = true;
  in_message_ = false;
  if (fault("corrupt") && slot.received >= 1000) slot.data[slot.received / 2] ^= std::byte{1};
  if (fault("overrun")) slot.data[slot.received] = std::byte{0};
  if (fault("size")) ++slot.received;
  if (std::all_of(request.slots.begin(), request.slots.end(),
                  [](const Slot& one) { return one.whole; }))
    request.state = Request::State::done;
}

// Whether anything came. A sender reads credits, a receiver headers and what they announce.
bool Comm::read_part() {
  if (in_message_) {
    auto* request = first_waiting();
    if (!request) return lose(), false;
    auto& slot = request->slots[header_.slot];
    const auto got = read_some(slot.data + slot.received, header_.bytes - slot.received);
    slot.received += got;
    if (slot.received == header_.bytes) message_is_there(*request, slot);
    return got > 0 || !in_message_;
  }
  std::array<std::byte, sizeof(Header)> some{};
  static_assert(sizeof(Header) == sizeof(Credit));
  const auto got = read_some(some.data(), some.size() - head_.size());
  head_.insert(head_.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(got));
  if (head_.size() < some.size()) return got > 0;
  if (sends_) {
    Credit credit{};
    std::memcpy(&credit, head_.data(), sizeof(credit));
    credits_.push_back(credit);
  } else {
    std::memcpy(&header_, head_.data(), sizeof(header_));
    in_message_ = true;
  }
  head_.clear();
  return true;
}

void Comm::progress() {
  while (!lost_ && !outgoing_.empty() && write_some(outgoing_.front())) outgoing_.pop_front();
  while (!lost_ && read_part()) {
  }
}

namespace {

sockaddr_un address_of(const std::string& name, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

}  // namespace

Listener* open_listener() {
  static std::atomic<int> number{0};
  auto listener = std::make_unique<Listener>();
  listener->name =
      "nccl-net-reference-" + std::to_string(getpid()) + "-" + std::to_string(number++);
  listener->socket = new_socket();
  socklen_t length = 0;
  const auto address = address_of(listener->name, length);
  if (bind(listener->socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(listener->socket, 16) != 0) {
    close(listener->socket);
    return nullptr;
  }
  return listener.release();
}

void close_listener(Listener* listener) {
  close(listener->socket);
  delete listener;
}

Comm* accept(Listener& listener) {
  if (fault("accept-blocks")) fcntl(listener.socket, F_SETFL, 0);
  const int socket = accept4(listener.socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket >= 0 && fault("connect-blocks")) (void)!write(socket, "!", 1);
  return socket < 0 ? nullptr : new Comm(socket, false);
}

Comm* connect(const std::string& name, bool* refused) {
  const int socket = new_socket();
  socklen_t length = 0;
  const auto address = address_of(name, length);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    *refused = errno != EAGAIN;
    close(socket);
    return nullptr;
  }
  if (fault("connect-blocks")) {
    char accepted = 0;
    fcntl(socket, F_SETFL, 0);
    (void)!read(socket, &accepted, 1);
    fcntl(socket, F_SETFL, O_NONBLOCK);
  }
  return new Comm(socket, true);
}

}  // namespace heddle::net_reference
