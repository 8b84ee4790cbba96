// What ranks tell each other beside the plugin, as NCCL's bootstrap would: handles and "go on".
// The parent makes all sockets before it forks.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/deadline.hpp"
#include "base/fd.hpp"

namespace heddle::net_check {

class Mail {
 public:
  // Of every rank. Fails with base::Error.
  static std::vector<Mail> among(int ranks);

  // A message of at most 64 KiB. Throws PeerGone.
  void send(int to, std::span<const std::byte> message);
  // One of exactly this length. Throws PeerGone, also when `patience` has passed.
  void receive(int from, std::span<std::byte> message, base::Seconds patience);

  template <typename T>
  void send(int to, const T& value) {
    send(to, std::as_bytes(std::span(&value, 1)));
  }
  template <typename T>
  T receive(int from, base::Seconds patience) {
    T value;
    receive(from, std::as_writable_bytes(std::span(&value, 1)), patience);
    return value;
  }
  // Whether there is a message, or nobody left to send one.
  bool arrived(int from) const;
  // Returns once every rank has called it.
  void barrier(base::Seconds patience);

 private:
  std::vector<base::UniqueFd> sockets_;  // by rank; none to itself
  int self_ = 0;
};

}  // namespace heddle::net_check
