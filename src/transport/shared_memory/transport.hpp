// Pipes between the processes of one host. One listening Unix socket a process (abstract, so that
// nothing is left behind), no thread: progress(), connect() and accept() do the work.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/deadline.hpp"
#include "transport/secrets.hpp"
#include "transport/shared_memory/rendezvous.hpp"

namespace heddle::transport {

class SharedMemoryTransport final : public Transport {
 public:
  // How long a connection may stay a stranger.
  static constexpr base::Seconds kHelloDeadline{5};

  // Fails with heddleSystemError when the socket cannot be opened.
  explicit SharedMemoryTransport(base::Seconds hello_deadline = kHelloDeadline);
  ~SharedMemoryTransport() override;

  // Lets pipes of a communicator be made, by peers that know the secret too. Several ranks of one
  // process may add the same; the last remove_secret ends what is still being connected. Pipes that
  // connect or accept have returned are not touched.
  void add_secret(const CommunicatorId& communicator, const PipeSecret& secret) override;
  void remove_secret(const CommunicatorId& communicator) override;

  // Whether the process with that address can be connected to from this one, as far as the address
  // tells: network namespaces have their own Unix sockets. It must be on the same host.
  bool reaches(const std::string& peer) const;

  std::string_view name() const override { return "shm"; }
  std::string address() const override { return address_.text(); }
  // Null until the peer's transport has been driven too; its accept() need not have been called.
  // A pipe that is no longer wanted before it is there ends with remove_secret.
  std::unique_ptr<SendPipe> connect(const std::string& peer, const PipeKey& key,
                                    const PipeOptions& options) override;
  std::unique_ptr<ReceivePipe> accept(const std::string& peer, const PipeKey& key,
                                      const PipeOptions& options) override;
  void progress() override;

 private:
  // A ring that has arrived and that nobody has accepted yet; no memory: it was refused.
  struct Arrival {
    RingMemory memory;
    PipeOptions options;
    std::string refusal;
  };

  // These need mutex_.
  const PipeSecret& secret_of(const PipeKey& key) const;
  void receive_visitors();
  void take_connections();
  bool drop_oldest_stranger();
  void settle(Visitor& visitor);

  static void close_unclaimed(const PipeKey& key, const Arrival& arrival);
  void check_reaches(const std::string& peer, const PipeKey& key) const;

  Address address_;
  base::Seconds hello_deadline_;
  std::atomic<std::int64_t> next_look_ = 0;  // milliseconds, of progress()
  std::mutex mutex_;
  Listener listener_;
  int listener_error_ = 0;  // errno of the last accept, 0 when it went well
  Secrets secrets_;
  std::map<PipeKey, Caller> callers_;
  std::vector<Visitor> visitors_;
  std::map<PipeKey, Arrival> arrivals_;
};

}  // namespace heddle::transport
