// The tables that the plugin exports, when it is linked and not loaded.
#pragma once

#include "drive.hpp"

extern "C" {
extern heddle::nccl_abi::NetV5 ncclNetPlugin_v5;
extern heddle::nccl_abi::NetV6 ncclNetPlugin_v6;
extern heddle::nccl_abi::NetV7 ncclNetPlugin_v7;
extern heddle::nccl_abi::NetV8 ncclNetPlugin_v8;
extern heddle::nccl_abi::NetV9 ncclNetPlugin_v9;
extern heddle::nccl_abi::NetV10 ncclNetPlugin_v10;
extern heddle::nccl_abi::NetV11 ncclNetPlugin_v11;
extern heddle::nccl_abi::NetV12 ncclNetPlugin_v12;
}

namespace heddle::nccl_net::testing {

template <typename Net>
Net& table_of() {
  using namespace nccl_abi;
  if constexpr (std::is_same_v<Net, NetV5>) return ncclNetPlugin_v5;
  if constexpr (std::is_same_v<Net, NetV6>) return ncclNetPlugin_v6;
  if constexpr (std::is_same_v<Net, NetV7>) return ncclNetPlugin_v7;
  if constexpr (std::is_same_v<Net, NetV8>) return ncclNetPlugin_v8;
  if constexpr (std::is_same_v<Net, NetV9>) return ncclNetPlugin_v9;
  if constexpr (std::is_same_v<Net, NetV10>) return ncclNetPlugin_v10;
  if constexpr (std::is_same_v<Net, NetV11>) return ncclNetPlugin_v11;
  if constexpr (std::is_same_v<Net, NetV12>) return ncclNetPlugin_v12;
}

}  // namespace heddle::nccl_net::testing
