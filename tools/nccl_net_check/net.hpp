// A NCCL net plugin, all versions of its interface made to look like one. Calls return what the
// plugin returns; nothing is hidden, retried or checked here.
//
// Thread rule: the plugin's. Each call notes its name where the parent sees it (doing.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nccl-net-ofi/abi/common.hpp"

namespace heddle::net_check {

using nccl_abi::Result;
using Handle = std::array<std::byte, nccl_abi::kHandleBytes>;

inline constexpr int kNewest = 12;
inline constexpr int kOldest = 6;

// What a version lacks has the value that NCCL assumes for it.
struct Properties {
  std::string name;
  std::uint64_t guid = 0;
  int pointers = 0;  // kPointer bits
  int registration_is_global = 0;
  int speed = 0;      // Mbit/s
  float latency = 0;  // us
  int most_comms = 0;
  int most_grouped = 0;                           // maxRecvs
  int members = 1;                                // vProps.ndevs
  std::size_t most_bytes = std::size_t{1} << 30;  // maxP2pBytes
};

class Net {
 public:
  virtual ~Net() = default;
  virtual int version() const = 0;
  virtual std::string name() const = 0;

  // Before version 11 there is no context: it is null.
  virtual Result init(void** context, nccl_abi::Logger logger) = 0;
  virtual Result devices(int* count) = 0;
  virtual Result properties(int device, Properties* properties) = 0;
  virtual Result listen(void* context, int device, Handle& handle, void** comm) = 0;
  virtual Result connect(void* context, int device, Handle& handle, void** comm) = 0;
  virtual Result accept(void* listen_comm, void** comm) = 0;
  virtual Result register_host(void* comm, void* data, std::size_t bytes, void** memory) = 0;
  virtual Result deregister(void* comm, void* memory) = 0;
  virtual Result send(void* comm, void* data, std::size_t bytes, int tag, void* memory,
                      void** request) = 0;
  // `count` entries each.
  virtual Result receive(void* comm, int count, void** data, const std::size_t* bytes, int* tags,
                         void** memories, void** request) = 0;
  virtual Result flush(void* comm, void* data, int bytes, void* memory, void** request) = 0;
  virtual Result test(void* request, int* done, int* bytes) = 0;
  virtual Result close_send(void* comm) = 0;
  virtual Result close_receive(void* comm) = 0;
  virtual Result close_listen(void* comm) = 0;
  // Success where the version has none.
  virtual Result finalize(void* context) = 0;
};

// A plugin's library, open; closed when it goes, and with it the code of its Nets.
class Library {
 public:
  // Fails with base::Error and the loader's words.
  explicit Library(const std::string& path);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // Newest first.
  std::vector<int> versions() const;
  // 0: the newest. Fails with base::Error when it is not exported.
  std::unique_ptr<Net> net(int version) const;

 private:
  std::string path_;
  void* library_;
};

// "ncclSystemError (2)"
std::string text_of(Result result);

}  // namespace heddle::net_check
