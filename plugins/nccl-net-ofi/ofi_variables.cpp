#include "nccl-net-ofi/ofi_variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "base/text.hpp"

namespace heddle::nccl_net {

namespace {

constexpr std::string_view kPrefix = "OFI_NCCL_";
constexpr std::int64_t kMostEager = 64 * 1024;  // of HEDDLE_EAGER_BYTES

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

std::string protocol(std::string_view value) {
  if (same_word(value, "SENDRECV")) return "HEDDLE_RMA=0";
  return same_word(value, "RDMA") ? "HEDDLE_RMA=1" : "";
}

std::string excluded_interfaces(std::string_view value) {
  std::string names;
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t comma = std::min(value.find(',', from), value.size());
    const std::string_view name = value.substr(from, comma - from);
    if (base::has_space(name)) return "";
    if (!name.empty()) names += fmt::format("{}{}", names.empty() ? "^" : ",", name);
    from = comma + 1;
  }
  return names.empty() ? "" : "HEDDLE_IFACE=" + names;
}

std::string eager_bytes(std::string_view value) {
  std::int64_t bytes = 0;
  if (!base::parse_number(value, bytes) || bytes < -1) return "";
  return fmt::format("HEDDLE_EAGER_BYTES={}", std::clamp<std::int64_t>(bytes, 0, kMostEager));
}

std::string rails(std::string_view value) { return value == "1" ? "HEDDLE_NCCL_DEVICES=each" : ""; }

constexpr std::string_view kOwnLayout =
    "which adapters make a device is read from the PCI tree; HEDDLE_NCCL_DEVICES changes it";
constexpr std::string_view kOwnCount = "Heddle sizes its queues and buffers by itself";
constexpr std::string_view kOwnStripes = "Heddle stripes by the adapters' speed and load";
constexpr std::string_view kAsked =
    "what the provider and the driver can do is asked of them, and nothing is assumed";
constexpr std::string_view kNoPlatform = "nothing depends on the kind of machine";
constexpr std::string_view kNoTuner = "there is no tuner of that kind here";
constexpr std::string_view kNotGpuDriven = "nothing of the network is driven by GPUs here";

const OfiVariable kTable[] = {
    {"PROTOCOL", protocol, "allowed is SENDRECV or RDMA"},
    {"EXCLUDE_TCP_IF", excluded_interfaces, "it names no interface, or one with a space"},
    {"EAGER_MAX_SIZE", eager_bytes, "it is no number of bytes from -1"},
    {"FORCE_NUM_RAILS", rails, kOwnLayout},
    {"SKIP_NICS_WITHOUT_ACCEL_AT_SAME_PCI_LEVEL", nullptr, kOwnLayout},
    {"TOPO_FILE_WRITE_ENABLE", nullptr, "no topology file is written"},
    {"TOPO_FILE_TEMPLATE", nullptr, "no topology file is written"},
    {"USE_IPV6_TCP", nullptr, "IPv6 is used where an adapter has no IPv4 address"},
    {"NIC_DUP_CONNS", nullptr, "connections are not made twice; HEDDLE_CHANNELS is Heddle's own"},
    {"PROGRESS_MODEL", nullptr, "the provider's own is used"},
    {"PLATFORM", nullptr, kNoPlatform},
    {"FORCE_PRODUCT_NAME", nullptr, kNoPlatform},
    {"MIN_STRIPE_SIZE", nullptr, kOwnStripes},
    {"SCHED_MAX_SMALL_RR_SIZE", nullptr, kOwnStripes},
    {"ROUND_ROBIN_THRESHOLD", nullptr, kOwnStripes},
    {"RR_CTRL_MSG", nullptr, kOwnStripes},
    {"EARLY_COMPLETION", nullptr, "a send is over when its memory is free again"},
    {"RDMA_MIN_POSTED_EAGER_BUFFERS", nullptr, kOwnCount},
    {"RDMA_MAX_POSTED_EAGER_BUFFERS", nullptr, kOwnCount},
    {"RDMA_MIN_POSTED_CONTROL_BUFFERS", nullptr, kOwnCount},
    {"RDMA_MAX_POSTED_CONTROL_BUFFERS", nullptr, kOwnCount},
    {"RDMA_MIN_POSTED_BOUNCE_BUFFERS", nullptr, kOwnCount},
    {"RDMA_MAX_POSTED_BOUNCE_BUFFERS", nullptr, kOwnCount},
    {"CM_NUM_RX_BUFFERS", nullptr, kOwnCount},
    {"CQ_SIZE", nullptr, kOwnCount},
    {"CQ_READ_COUNT", nullptr, kOwnCount},
    {"MR_KEY_SIZE", nullptr, "the provider chooses keys"},
    {"MR_CACHE_DISABLE", nullptr, "there is no cache of registrations, NCCL keeps its own"},
    {"GDR_FLUSH_DISABLE", nullptr, kAsked},
    {"CUDA_FLUSH_ENABLE", nullptr, kAsked},
    {"DISABLE_DMABUF", nullptr, kAsked},
    {"DISABLE_GDR_REQUIRED_CHECK", nullptr, kAsked},
    {"DISABLE_NATIVE_RDMA_CHECK", nullptr, kAsked},
    {"NET_LATENCY", nullptr, "NCCL's own estimate of the latency is left to it"},
    {"USE_LOW_LATENCY_TC", nullptr, "no traffic class is asked for"},
    {"ABORT_ON_ERROR", nullptr, "errors are returned to NCCL, which tells the program"},
    {"DISABLE_CLOSE_MESSAGE", nullptr, "both ends of a connection say goodbye, and wait for none"},
    {"ERRORCHECK_MUTEX", nullptr, "it is for finding faults in that plugin"},
    {"ENDPOINT_PER_COMM", nullptr, "the comms of a device share its endpoints"},
    {"DOMAIN_PER_THREAD", nullptr, "the comms of a device share its endpoints"},
    {"TUNER_TYPE", nullptr, kNoTuner},
    {"TUNER_NUM_CHANNELS", nullptr, kNoTuner},
    {"TUNER_NET_LATENCY", nullptr, kNoTuner},
    {"TUNER_NET_COMP_OVERHEAD", nullptr, kNoTuner},
    {"NVTX_TRACE_DIMENSION", nullptr, "nothing is traced that way"},
    {"GIN_CQ_PROCESS_MAX_ITER", nullptr, kNotGpuDriven},
    {"GDAKI_EFA_HW_COUNTER", nullptr, kNotGpuDriven},
};

using Environment = std::map<std::string_view, std::string_view>;

Environment read(const char* const* environment) {
  Environment all;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos)
      all.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

// What to log of one; adds to `overrides`.
std::string understand(const OfiVariable* variable, std::string_view value,
                       const Environment& environment, std::string& overrides) {
  if (variable == nullptr) return "is not known and is ignored";
  const std::string meaning = variable->meaning == nullptr ? "" : variable->meaning(value);
  if (meaning.empty()) return fmt::format("is ignored: {}", variable->ignored_because);
  const std::string_view setting = std::string_view(meaning).substr(0, meaning.find('='));
  if (const auto own = environment.find(setting); own != environment.end() && !own->second.empty())
    return fmt::format("is ignored: {} is set", setting);
  overrides += fmt::format("{}{}", overrides.empty() ? "" : " ", meaning);
  return fmt::format("is understood as {}", meaning);
}

}  // namespace

std::span<const OfiVariable> ofi_variables() { return kTable; }

OfiSettings read_ofi_variables(const char* const* environment) {
  OfiSettings result;
  const Environment all = read(environment);
  for (const auto& [name, value] : all) {
    if (!name.starts_with(kPrefix) || value.empty()) continue;
    const auto known = std::ranges::find(kTable, name.substr(kPrefix.size()), &OfiVariable::name);
    result.lines.push_back(fmt::format(
        "{}={} {}", name, value,
        understand(known == std::end(kTable) ? nullptr : &*known, value, all, result.overrides)));
  }
  return result;
}

}  // namespace heddle::nccl_net
