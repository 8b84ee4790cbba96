// One version of the interface behind Net.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "nccl-net-ofi/abi/net_v10.hpp"
#include "nccl-net-ofi/abi/net_v11.hpp"
#include "nccl-net-ofi/abi/net_v12.hpp"
#include "nccl-net-ofi/abi/net_v6.hpp"
#include "nccl-net-ofi/abi/net_v7.hpp"
#include "nccl-net-ofi/abi/net_v8.hpp"
#include "nccl-net-ofi/abi/net_v9.hpp"
#include "nccl_net_check/doing.hpp"
#include "nccl_net_check/net.hpp"

namespace heddle::net_check {

// clang-format off
template <int version> struct Abi;
template <> struct Abi<6> { using Table = nccl_abi::NetV6; using Props = nccl_abi::PropertiesV6; };
template <> struct Abi<7> { using Table = nccl_abi::NetV7; using Props = nccl_abi::PropertiesV7; };
template <> struct Abi<8> { using Table = nccl_abi::NetV8; using Props = nccl_abi::PropertiesV8; };
template <> struct Abi<9> { using Table = nccl_abi::NetV9; using Props = nccl_abi::PropertiesV9; };
template <> struct Abi<10> {
  using Table = nccl_abi::NetV10; using Props = nccl_abi::PropertiesV10;
};
template <> struct Abi<11> {
  using Table = nccl_abi::NetV11; using Props = nccl_abi::PropertiesV11;
};
template <> struct Abi<12> {
  using Table = nccl_abi::NetV12; using Props = nccl_abi::PropertiesV12;
};
// clang-format on

template <int kVersion>
class Caller : public Net {
  using Table = typename Abi<kVersion>::Table;
  using Props = typename Abi<kVersion>::Props;

 public:
  explicit Caller(Table& table) : table_(table) {}
  int version() const override { return kVersion; }
  std::string name() const override { return table_.name ? table_.name : ""; }

  Result init(void** context, nccl_abi::Logger logger) override {
    const Doing now("init");
    if constexpr (kVersion >= 11)
      return table_.init(context, kCommunicator, &config_, logger, nullptr);
    *context = nullptr;
    if constexpr (kVersion == 10) return table_.init(logger, nullptr);
    if constexpr (kVersion < 10) return table_.init(logger);
  }
  Result devices(int* count) override {
    const Doing now("devices");
    return table_.devices(count);
  }
  Result properties(int device, Properties* properties) override {
    const Doing now("getProperties");
    Props props{};
    const Result result = table_.getProperties(device, &props);
    if (result == Result::success) *properties = translated(props);
    return result;
  }

  Result listen(void* context, int device, Handle& handle, void** comm) override {
    const Doing now("listen");
    if constexpr (kVersion >= 11)
      return table_.listen(context, device, handle.data(), comm);
    else
      return table_.listen(device, handle.data(), comm);
  }
  Result connect(void* context, int device, Handle& handle, void** comm) override {
    const Doing now("connect");
    nccl_abi::DevHandle* none = nullptr;
    if constexpr (kVersion >= 11)
      return table_.connect(context, device, handle.data(), comm, &none);
    else if constexpr (kVersion == 10)
      return table_.connect(device, &config_, handle.data(), comm, &none);
    else if constexpr (kVersion >= 7)
      return table_.connect(device, handle.data(), comm, &none);
    else
      return table_.connect(device, handle.data(), comm);
  }
  Result accept(void* listen_comm, void** comm) override {
    const Doing now("accept");
    nccl_abi::DevHandle* none = nullptr;
    if constexpr (kVersion >= 7)
      return table_.accept(listen_comm, comm, &none);
    else
      return table_.accept(listen_comm, comm);
  }

  Result register_host(void* comm, void* data, std::size_t bytes, void** memory) override {
    const Doing now("regMr");
    return table_.regMr(comm, data, Registered(bytes), nccl_abi::kPointerHost, memory);
  }
  Result deregister(void* comm, void* memory) override {
    const Doing now("deregMr");
    return table_.deregMr(comm, memory);
  }

  Result send(void* comm, void* data, std::size_t bytes, int tag, void* memory,
              void** request) override {
    const Doing now("isend");
    if constexpr (kVersion >= 10)
      return table_.isend(comm, data, bytes, tag, memory, nullptr, request);
    else
      return table_.isend(comm, data, Bytes(bytes), tag, memory, request);
  }
  Result receive(void* comm, int count, void** data, const std::size_t* bytes, int* tags,
                 void** memories, void** request) override {
    const Doing now("irecv");
    std::array<Bytes, nccl_abi::kMostGrouped> sizes{};
    std::transform(bytes, bytes + count, sizes.begin(), [](auto size) { return Bytes(size); });
    if constexpr (kVersion >= 10) {
      std::array<void*, nccl_abi::kMostGrouped> profiled{};
      return table_.irecv(comm, count, data, sizes.data(), tags, memories, profiled.data(),
                          request);
    } else {
      return table_.irecv(comm, count, data, sizes.data(), tags, memories, request);
    }
  }
  Result flush(void* comm, void* data, int bytes, void* memory, void** request) override {
    const Doing now("iflush");
    return table_.iflush(comm, 1, &data, &bytes, &memory, request);
  }
  Result test(void* request, int* done, int* bytes) override {
    const Doing now("test");
    return table_.test(request, done, bytes);
  }

  Result close_send(void* comm) override {
    const Doing now("closeSend");
    return table_.closeSend(comm);
  }
  Result close_receive(void* comm) override {
    const Doing now("closeRecv");
    return table_.closeRecv(comm);
  }
  Result close_listen(void* comm) override {
    const Doing now("closeListen");
    return table_.closeListen(comm);
  }
  Result finalize([[maybe_unused]] void* context) override {
    const Doing now("finalize");
    if constexpr (kVersion >= 11) return table_.finalize(context);
    return Result::success;
  }

 private:
  using Registered = std::conditional_t<(kVersion >= 8), std::size_t, int>;
  using Bytes = std::conditional_t<(kVersion >= 9), std::size_t, int>;
  static constexpr std::uint64_t kCommunicator = 0x6e65742d63686563;

  static Properties translated(const Props& props) {
    Properties result;
    result.name = props.name ? props.name : "";
    result.guid = props.guid;
    result.pointers = props.ptrSupport;
    result.speed = props.speed;
    result.latency = props.latency;
    result.most_comms = props.maxComms;
    result.most_grouped = props.maxRecvs;
    if constexpr (kVersion >= 8) result.registration_is_global = props.regIsGlobal;
    if constexpr (kVersion >= 9) {
      result.members = props.vProps.ndevs;
      result.most_bytes = props.maxP2pBytes;
    }
    return result;
  }

  Table& table_;
  nccl_abi::CommConfig config_{nccl_abi::kUndefined};
};

}  // namespace heddle::net_check
