// A pipe is a short ring of slots from one rank to one rank on one channel. The sender acquires a
// slot, fills it and commits; the receiver peeks, reads in place and releases. Messages arrive in
// the order of the commits. Both ends know the length of the next message from the schedule.
//
// Thread rule: each end is used by one thread at a time.
// Errors: a broken pipe throws base::Error (heddleRemoteError or heddleSystemError) from any verb.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace heddle::transport {

class SendPipe {
 public:
  virtual ~SendPipe() = default;
  // The next slot, with room for `bytes` (1 to slot_bytes()), or null when none is free yet.
  // Calling again before commit returns the same slot for the same `bytes`.
  virtual std::byte* acquire(std::size_t bytes) = 0;
  // Whether the acquired slot had better be written around the caches. Asked at most once a
  // message.
  virtual bool streams(std::size_t /*bytes*/) { return false; }
  // Sends the acquired slot's first `bytes`, the very number that acquire was given.
  virtual void commit(std::size_t bytes) = 0;
  // Sends from the caller's memory in place of acquire, fill and commit, without a copy of it.
  // Nothing when no slot is free yet or this pipe gains nothing from it (then use acquire).
  // Otherwise a ticket: the memory must not change until sent(ticket).
  virtual std::optional<std::uint64_t> send_from(const std::byte* data, std::size_t bytes) = 0;
  // Whether the ticket's memory may change. Comes true without any verb of the receiver's (it has a
  // slot already), and then it is true of every earlier ticket of the pipe.
  virtual bool sent(std::uint64_t ticket) = 0;
  // Whether all that was committed or sent has left, so that the other end gets it even if nobody
  // calls this end's progress() any more. An operation is not over before.
  virtual bool flushed() { return true; }
  // The end, before that of the pipe: nothing that waits is sent any more, and the verbs above
  // fail.
  virtual void give_up() {}
  // After give_up: whether all memory that send_from was given may change. What an adapter has in
  // hand it goes on reading until the other end has taken it; progress() helps.
  virtual bool at_rest() { return true; }
  // Whether send_from should be tried for messages of so many bytes.
  virtual bool sends_in_place(std::size_t bytes) const = 0;
  virtual std::size_t slot_bytes() const = 0;
  // Messages up to so many bytes tell the receiver how long they are, so that it finds out when it
  // expects another length. The same at both ends.
  virtual std::size_t told_length() const { return kEveryLength; }
  static constexpr std::size_t kEveryLength = std::numeric_limits<std::size_t>::max();
};

class ReceivePipe {
 public:
  virtual ~ReceivePipe() = default;
  // The next message, of exactly `bytes`, or null when it has not arrived yet. The memory may be
  // read until release.
  virtual const std::byte* peek(std::size_t bytes) = 0;
  virtual void release() = 0;
  // The end, before that of the pipe: nobody will read. What the sender's adapter has in hand is
  // still taken, though nobody may call progress() here any more.
  virtual void give_up() {}
  virtual std::size_t slot_bytes() const = 0;
  // As the sender's. A message up to it whose length is not `bytes` makes peek fail.
  virtual std::size_t told_length() const { return SendPipe::kEveryLength; }
};

// Random, the same on every rank of a communicator.
using CommunicatorId = std::array<std::uint8_t, 16>;
// Known to the ranks of a communicator only: proves who connects.
using PipeSecret = std::array<std::uint8_t, 32>;

// Names a pipe among all pipes of all communicators of a process.
struct PipeKey {
  CommunicatorId communicator;
  int from;  // rank that sends
  int to;    // rank that receives
  int channel;

  auto operator<=>(const PipeKey&) const = default;
};

struct PipeOptions {
  int slots;               // at least 4
  std::size_t slot_bytes;  // a multiple of 4096
};

// How an adapter fares that a transport sends over. All counts are since the transport was opened.
struct RailMetrics {
  std::string provider;  // for people: "efa (EMULATED)" over a stand-in
  std::string rail;
  std::uint64_t sent_bytes = 0;
  std::uint64_t links = 0;     // to other processes
  std::uint64_t links_up = 0;  // of those, now
  std::uint64_t given_up = 0;  // links, each time
  std::uint64_t came_back = 0;
  std::uint64_t new_endpoints = 0;
  std::uint64_t registrations = 0;  // of memory
};

// A way to make pipes between processes. One of each kind per process, shared by communicators;
// safe to call from several threads.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::string_view name() const = 0;
  // A line for people: what the data goes over.
  virtual std::string description() const { return std::string(name()); }
  // What another process needs to reach this one; published by the bootstrap.
  virtual std::string address() const = 0;
  // How many adapters share long messages to the process with that address; the same at both ends.
  // Fails with heddleInvalidArgument for a text that is no address.
  virtual int rails_to(const std::string& /*address*/) const { return 1; }
  // Pipes of a communicator are made between add_secret and remove_secret only.
  virtual void add_secret(const CommunicatorId& communicator, const PipeSecret& secret) = 0;
  virtual void remove_secret(const CommunicatorId& communicator) = 0;
  // Both ends call these, again and again, until the pipe is there: null means "not yet". `peer` is
  // the other process's address(). Fails when the peer cannot be reached.
  virtual std::unique_ptr<SendPipe> connect(const std::string& peer, const PipeKey& key,
                                            const PipeOptions& options) = 0;
  virtual std::unique_ptr<ReceivePipe> accept(const std::string& peer, const PipeKey& key,
                                              const PipeOptions& options) = 0;
  // Memory that messages will often be sent from, made known to the adapters once instead of for
  // each message. It must stay mapped as long as somebody holds what this returns; null: nothing to
  // gain. Fails with heddleSystemError when an adapter refuses it.
  virtual std::shared_ptr<const void> register_buffer(std::byte*, std::size_t) { return nullptr; }
  // One for each adapter; none for a transport that has no adapters.
  virtual std::vector<RailMetrics> rail_metrics() const { return {}; }
  // Lets the transport do its work; cheap when there is none. Callers that wait call it often.
  virtual void progress() = 0;
};

}  // namespace heddle::transport
