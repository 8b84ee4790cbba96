// How the two ends of a connection find each other: hello and welcome (wire.hpp), each proved with
// the communicator's secret. What stands on the connection, a pipe or messages, is the caller's.
//
// Thread rule: under Core::mutex.
#pragma once

#include <map>
#include <string>

#include "transport/fabric/receive_connection.hpp"
#include "transport/fabric/send_connection.hpp"
#include "transport/secrets.hpp"

namespace heddle::transport::fabric {

struct ConnectionRequest {
  PipeKey key;
  Shape shape;                                        // as our end would have it
  enum class Use { pipe, messages } use = Use::pipe;  // for people
};

class Handshake {
 public:
  explicit Handshake(Core& core) : core_(core) {}
  // Gives up what is being connected.
  ~Handshake();
  Handshake(const Handshake&) = delete;

  // As Transport's.
  void add_secret(const CommunicatorId& communicator, const PipeSecret& secret) {
    secrets_.add(communicator, secret);
  }
  void remove_secret(const CommunicatorId& communicator);

  // Null: not yet. What it returns is open; the caller retires it. Fails, and has retired it, when
  // the peer cannot be reached or refuses.
  SendConnection* connect(const ProcessAddress& peer, const ConnectionRequest& request);
  // The same for the receiving end. It has been welcomed.
  ReceiveConnection* accept(const ProcessAddress& peer, const ConnectionRequest& request);

 private:
  const PipeSecret& secret_of(const PipeKey& key) const;
  SendConnection& start(const ProcessAddress& peer, const ConnectionRequest& request);
  void give_up(SendConnection& connection);

  Core& core_;
  Secrets secrets_;
  std::map<PipeKey, SendConnection*> connecting_;
};

}  // namespace heddle::transport::fabric
