#include "transport/fabric/handshake.hpp"

#include <sodium.h>

#include <algorithm>

namespace heddle::transport::fabric {

namespace {

std::string label_of(const ConnectionRequest& request, const ProcessAddress& peer) {
  const PipeKey& key = request.key;
  const std::string what = request.use == ConnectionRequest::Use::messages
                               ? "message connection"
                               : fmt::format("fabric pipe from rank {} to rank {}, channel {}",
                                             key.from, key.to, key.channel);
  return fmt::format("{} (peer: process {} of host {})", what, peer.pid, peer.host);
}

Hello hello_for(const ConnectionRequest& request, const SendConnection& connection,
                const Core& core, const PipeSecret& secret) {
  Hello hello{};
  hello.communicator = request.key.communicator;
  hello.from = request.key.from;
  hello.to = request.key.to;
  hello.channel = request.key.channel;
  hello.connection = connection.id();
  hello.token = connection.token();
  hello.rails = static_cast<std::uint32_t>(connection.peer().link_count());
  hello.shape = request.shape;
  hello.from_instance = core.address().instance;
  hello.to_instance = connection.peer().address.instance;
  randombytes_buf(hello.nonce.data(), hello.nonce.size());
  seal(hello, secret);
  return hello;
}

bool is_for(const Hello& hello, const PipeKey& key, std::uint64_t from_instance) {
  return hello.communicator == key.communicator && hello.from == key.from && hello.to == key.to &&
         hello.channel == key.channel && hello.from_instance == from_instance;
}

}  // namespace

Handshake::~Handshake() {
  for (auto& [key, connection] : connecting_) give_up(*connection);
}

void Handshake::give_up(SendConnection& connection) {
  connection.fail(heddleAborted, "given up before it was connected");
  core_.retire(connection, {});
}

void Handshake::remove_secret(const CommunicatorId& communicator) {
  if (!secrets_.remove(communicator)) return;
  for (auto entry = connecting_.begin(); entry != connecting_.end();) {
    if (entry->first.communicator != communicator) {
      ++entry;
      continue;
    }
    give_up(*entry->second);
    entry = connecting_.erase(entry);
  }
  std::erase_if(core_.hellos, [&](const Hello& h) { return h.communicator == communicator; });
}

const PipeSecret& Handshake::secret_of(const PipeKey& key) const {
  const PipeSecret* const secret = secrets_.of(key.communicator);
  if (secret == nullptr)
    base::fail(heddleInvalidUsage,
               "a fabric pipe from rank {} to rank {} is asked for before the secret of its "
               "communicator is known",
               key.from, key.to);
  return *secret;
}

SendConnection& Handshake::start(const ProcessAddress& address, const ConnectionRequest& request) {
  Peer& peer = core_.peer(address);
  auto& connection = static_cast<SendConnection&>(core_.add(
      std::make_unique<SendConnection>(core_, peer, label_of(request, address), request.shape)));
  connecting_.emplace(request.key, &connection);
  if (!peer.dead.empty()) connection.fail(heddleRemoteError, peer.dead);
  connection.send_hello(hello_for(request, connection, core_, secret_of(request.key)));
  return connection;
}

SendConnection* Handshake::connect(const ProcessAddress& peer, const ConnectionRequest& request) {
  const PipeKey& key = request.key;
  const PipeSecret& secret = secret_of(key);
  const auto known = connecting_.find(key);
  SendConnection& connection = known != connecting_.end() ? *known->second : start(peer, request);
  core_.progress();
  try {
    connection.check();
    const std::optional<Welcome> welcome = connection.take_welcome();
    if (!welcome) return nullptr;
    if (!sealed_by(*welcome, secret) || !connection.expects(*welcome)) {
      base::log_warn("NET/OFI {}: drops a welcome with a wrong secret", connection.label());
      return nullptr;
    }
    connection.open(*welcome);
    connecting_.erase(key);
    return &connection;
  } catch (const base::Error&) {
    give_up(connection);
    connecting_.erase(key);
    throw;
  }
}

ReceiveConnection* Handshake::accept(const ProcessAddress& address,
                                     const ConnectionRequest& request) {
  const PipeSecret& secret = secret_of(request.key);
  Peer& peer = core_.peer(address);
  core_.progress();
  if (!peer.dead.empty())
    base::fail(heddleRemoteError, "{}: {}", label_of(request, address), peer.dead);
  const auto place = std::ranges::find_if(
      core_.hellos, [&](const Hello& h) { return is_for(h, request.key, address.instance); });
  if (place == core_.hellos.end()) return nullptr;
  const Hello hello = *place;
  core_.hellos.erase(place);
  if (!sealed_by(hello, secret)) {
    base::log_warn("NET/OFI {}: drops a hello with a wrong secret", label_of(request, address));
    return nullptr;
  }
  const Shape& shape = request.shape;
  auto& connection = static_cast<ReceiveConnection&>(core_.add(
      std::make_unique<ReceiveConnection>(core_, peer, label_of(request, address), shape, hello)));
  const auto refuse = [&](const std::string& reason) {
    connection.refuse(reason);
    core_.retire(connection, {});
    base::fail(heddleRemoteError, "{}: {}", connection.label(), reason);
  };
  if (hello.shape.slots != shape.slots || hello.shape.slot_bytes != shape.slot_bytes)
    refuse(fmt::format("the sender has {} slots of {} bytes, the receiver {} of {}",
                       hello.shape.slots, hello.shape.slot_bytes, shape.slots, shape.slot_bytes));
  if (hello.rails != static_cast<std::uint32_t>(peer.link_count()))
    refuse(
        fmt::format("the sender counts {} rails, the receiver {}", hello.rails, peer.link_count()));
  Welcome welcome{connection.id(), connection.token(), shape, hello.nonce, {}};
  seal(welcome, secret);
  connection.send_welcome(welcome);
  return &connection;
}

}  // namespace heddle::transport::fabric
