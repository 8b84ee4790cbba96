#include "nccl_net_check/comm.hpp"

#include <sched.h>

#include <exception>
#include <span>

namespace heddle::net_check {

Comm& Comm::operator=(Comm&& other) noexcept {
  std::swap(rank_, other.rank_);
  std::swap(kind_, other.kind_);
  std::swap(comm_, other.comm_);
  return *this;
}

Comm::~Comm() {
  if (comm_ && std::uncaught_exceptions() == 0) close_anyhow();
}

Result Comm::close_now() {
  void* comm = forget();
  return rank_->service([this, comm] {
    switch (kind_) {
      case Kind::listen: return rank_->net().close_listen(comm);
      case Kind::send: return rank_->net().close_send(comm);
      case Kind::receive: break;
    }
    return rank_->net().close_receive(comm);
  });
}

void Comm::close() {
  static constexpr const char* kCalls[] = {"closeListen", "closeSend", "closeRecv"};
  expect(close_now(), kCalls[static_cast<int>(kind_)]);
}

void Comm::close_anyhow() { close_now(); }

Listener listen(Rank& rank) {
  Listener result;
  result.comm = rank.service([&] {
    void* comm = nullptr;
    expect(rank.net().listen(rank.context(), rank.settings.device, result.handle, &comm), "listen");
    if (!comm) fault("listen: success without a comm");
    return Comm(rank, Comm::Kind::listen, comm);
  });
  return result;
}

Comm try_connect(Rank& rank, Handle& handle) {
  return rank.service([&] {
    void* comm = nullptr;
    expect(rank.net().connect(rank.context(), rank.settings.device, handle, &comm), "connect");
    return Comm(rank, Comm::Kind::send, comm);
  });
}

Comm try_accept(const Comm& listener) {
  return listener.rank().service([&] {
    void* comm = nullptr;
    expect(listener.rank().net().accept(listener.get(), &comm), "accept");
    return Comm(listener.rank(), Comm::Kind::receive, comm);
  });
}

namespace {

// On the service thread. Whether the comm came.
bool advance(Rank& rank, Pending& one) {
  void* comm = nullptr;
  if (one.connect)
    expect(rank.net().connect(rank.context(), rank.settings.device, *one.connect, &comm),
           "connect");
  else
    expect(rank.net().accept(one.accept->get(), &comm), "accept");
  one.comm = Comm(rank, one.connect ? Comm::Kind::send : Comm::Kind::receive, comm);
  return comm != nullptr;
}

}  // namespace

void finish(Rank& rank, std::vector<Pending>& pending) {
  rank.service([&] {
    std::size_t left = pending.size();
    base::Deadline deadline(rank.patience());
    while (left > 0) {
      bool moved = false;
      for (auto& one : pending)
        if (!one.comm && advance(rank, one)) {
          moved = true;
          --left;
        }
      if (moved) deadline = base::Deadline(rank.patience());
      if (deadline.passed())
        fault("{} of {} connects and accepts gave no comm within {} s", left, pending.size(),
              rank.settings.patience);
      sched_yield();
    }
  });
}

Pair loopback(Rank& rank) {
  auto listener = listen(rank);
  Handle handle = listener.handle;
  std::vector<Pending> pending(2);
  pending[0].connect = &handle;
  pending[1].accept = &listener.comm;
  finish(rank, pending);
  listener.comm.close();
  return {std::move(pending[0].comm), std::move(pending[1].comm)};
}

namespace {

std::vector<Listener> listen_many(Rank& rank, int peer, int comms) {
  std::vector<Listener> listeners;
  std::vector<Handle> handles;
  for (int i = 0; i < comms; ++i) {
    listeners.push_back(listen(rank));
    handles.push_back(listeners.back().handle);
  }
  rank.mail.send(peer, std::as_bytes(std::span(handles)));
  return listeners;
}

// The comms of some of what is finished.
std::vector<Comm> taken(std::span<Pending> finished) {
  std::vector<Comm> comms;
  for (auto& one : finished) comms.push_back(std::move(one.comm));
  return comms;
}

}  // namespace

Links ring(Rank& rank, int comms) {
  const auto many = static_cast<std::size_t>(comms);
  auto listeners = listen_many(rank, rank.previous(), comms);
  std::vector<Handle> handles(many);
  rank.mail.receive(rank.next(), std::as_writable_bytes(std::span(handles)), rank.patience());
  std::vector<Pending> pending(2 * many);
  for (std::size_t i = 0; i < many; ++i) {
    pending[i].connect = &handles[i];
    pending[many + i].accept = &listeners[i].comm;
  }
  finish(rank, pending);
  for (auto& listener : listeners) listener.comm.close();
  const std::span all(pending);
  return {taken(all.first(many)), taken(all.last(many))};
}

std::vector<Comm> send_comms_to(Rank& rank, int peer, int comms) {
  std::vector<Handle> handles(static_cast<std::size_t>(comms));
  rank.mail.receive(peer, std::as_writable_bytes(std::span(handles)), rank.patience());
  std::vector<Pending> pending(handles.size());
  for (std::size_t i = 0; i < handles.size(); ++i) pending[i].connect = &handles[i];
  finish(rank, pending);
  return taken(pending);
}

std::vector<Comm> receive_comms_from(Rank& rank, int peer, int comms) {
  auto listeners = listen_many(rank, peer, comms);
  std::vector<Pending> pending(listeners.size());
  for (std::size_t i = 0; i < listeners.size(); ++i) pending[i].accept = &listeners[i].comm;
  finish(rank, pending);
  for (auto& listener : listeners) listener.comm.close();
  return taken(pending);
}

Comm send_comm_to(Rank& rank, int peer) { return std::move(send_comms_to(rank, peer, 1).front()); }

Comm receive_comm_from(Rank& rank, int peer) {
  return std::move(receive_comms_from(rank, peer, 1).front());
}

}  // namespace heddle::net_check
