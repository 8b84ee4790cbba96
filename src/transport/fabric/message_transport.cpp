#include "transport/fabric/message_transport.hpp"

namespace heddle::transport::fabric {

MessageTransport::MessageTransport(const base::Settings& settings, const ChosenProvider& provider,
                                   const MessageOptions& options)
    : core_(std::make_shared<Core>(settings, provider)),
      options_(options),
      handshake_(std::make_unique<Handshake>(*core_)),
      meeting_(std::make_unique<Meeting>(*core_)) {
  core_->log_opening(provider);
}

MessageTransport::~MessageTransport() {
  const std::lock_guard lock(core_->mutex);
  if (core_->has_failover()) core_->log_rails();
  meeting_.reset();
  handshake_.reset();
}

MessageTransport::Listener MessageTransport::listen() {
  const std::lock_guard lock(core_->mutex);
  Listener listener;
  listener.number = meeting_->listen(listener.handle);
  return listener;
}

void MessageTransport::unlisten(std::uint32_t listener) {
  const std::lock_guard lock(core_->mutex);
  meeting_->unlisten(listener);
  for (auto pending = accepting_.begin(); pending != accepting_.end();) {
    const auto next = std::next(pending);
    if (pending->number == listener) end(accepting_, pending);
    pending = next;
  }
}

ConnectionRequest MessageTransport::request_for(const Meeting::Acquaintance& acquaintance) const {
  const auto eager = options_.copies ? static_cast<std::uint32_t>(core_->eager_bytes()) : 0;
  return {acquaintance.key, {options_.window, eager, 0}, ConnectionRequest::Use::messages};
}

void MessageTransport::begin(Pendings& list, std::uint64_t number,
                             Meeting::Acquaintance acquaintance) {
  handshake_->add_secret(acquaintance.key.communicator, acquaintance.secret);
  list.push_back({number, std::move(acquaintance),
                  base::Deadline(base::Seconds(core_->settings().init_timeout))});
}

void MessageTransport::end(Pendings& list, Pendings::iterator pending) {
  handshake_->remove_secret(pending->acquaintance.key.communicator);
  list.erase(pending);
}

std::unique_ptr<MessageReceiver> MessageTransport::accept(std::uint32_t listener) {
  const std::lock_guard lock(core_->mutex);
  if (auto caller = meeting_->caller(listener)) begin(accepting_, listener, std::move(*caller));
  for (auto pending = accepting_.begin(); pending != accepting_.end();) {
    const auto next = std::next(pending);
    if (pending->number != listener) {
      pending = next;
      continue;
    }
    const Meeting::Acquaintance& caller = pending->acquaintance;
    try {
      ReceiveConnection* const connection = handshake_->accept(caller.address, request_for(caller));
      if (connection != nullptr) {
        end(accepting_, pending);
        return std::make_unique<MessageReceiver>(core_, *connection);
      }
      if (pending->deadline.passed())
        base::fail(heddleRemoteError,
                   "process {} of host {} has not connected in {:g} s (HEDDLE_INIT_TIMEOUT)",
                   caller.address.pid, caller.address.host, core_->settings().init_timeout);
    } catch (const base::Error& error) {
      base::log_warn("NET/OFI listener {} drops a caller: {}", listener, error.what());
      end(accepting_, pending);
    }
    pending = next;
  }
  return nullptr;
}

std::uint64_t MessageTransport::call(std::span<const std::byte> handle) {
  const std::lock_guard lock(core_->mutex);
  drop_forgotten();
  return meeting_->call(handle);
}

void MessageTransport::drop_forgotten() {
  for (auto pending = connecting_.begin(); pending != connecting_.end();) {
    const auto next = std::next(pending);
    if (base::seconds_since(pending->last_asked) > core_->settings().init_timeout) {
      const ProcessAddress& listener = pending->acquaintance.address;
      base::log_info("NET/OFI connecting to process {} of host {} is given up: nobody asks for it",
                     listener.pid, listener.host);
      end(connecting_, pending);
    }
    pending = next;
  }
}

std::unique_ptr<MessageSender> MessageTransport::connect(std::uint64_t call) {
  const std::lock_guard lock(core_->mutex);
  auto pending = std::ranges::find(connecting_, call, &Pending::number);
  if (pending == connecting_.end()) {
    auto listener = meeting_->answer(call);
    if (!listener) return nullptr;
    begin(connecting_, call, std::move(*listener));
    pending = std::prev(connecting_.end());
  }
  pending->last_asked = base::Clock::now();
  const Meeting::Acquaintance& listener = pending->acquaintance;
  try {
    SendConnection* const connection = handshake_->connect(listener.address, request_for(listener));
    if (connection == nullptr) {
      if (!pending->deadline.passed()) return nullptr;
      base::fail(heddleRemoteError,
                 "process {} of host {} has not accepted in {:g} s (HEDDLE_INIT_TIMEOUT)",
                 listener.address.pid, listener.address.host, core_->settings().init_timeout);
    }
    end(connecting_, pending);
    return std::make_unique<MessageSender>(core_, *connection);
  } catch (const base::Error&) {
    end(connecting_, pending);
    throw;
  }
}

std::unique_ptr<MessageMemory> MessageTransport::register_memory(std::byte* data, std::size_t bytes,
                                                                 Access access,
                                                                 const MemoryOwner& owner) {
  return std::make_unique<MessageMemory>(core_, data, bytes, access, owner);
}

void MessageTransport::renew_rail(int rail, const std::string& why) {
  const std::lock_guard lock(core_->mutex);
  core_->renew(rail, why);
}

}  // namespace heddle::transport::fabric
