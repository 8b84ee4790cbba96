#include "nccl-tuner/context.hpp"

#include <unistd.h>

#include <cstdlib>
#include <list>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "base/text.hpp"
#include "tuner/machine_file.hpp"

namespace heddle::nccl_tuner {
namespace {

// More take seconds to price, and nobody has them.
constexpr std::size_t kMostRanks = std::size_t{1} << 20;

struct Known {
  std::string tuning_file;
  World world;
  std::weak_ptr<const Prices> prices;
};

// Of all communicators of the process. Goes with the library when NCCL closes it.
struct Shared {
  std::mutex mutex;
  std::set<std::string> told;
  std::list<Known> known;
};
Shared& shared() {
  static Shared all;
  return all;
}

class Told {
 public:
  explicit Told(abi::Logger log) : log_(log) {}

  void once(int level, const std::string& text) const {
    if (log_ == nullptr || !shared().told.insert(text).second) return;
    log_(level, abi::kInit | abi::kTuning, "heddle", 0, "TUNER/%s: %s", kName, text.c_str());
  }
  void info(const std::string& text) const { once(abi::kLogInfo, text); }
  void warn(const std::string& text) const { once(abi::kLogWarn, text); }

 private:
  abi::Logger log_;
};

constexpr const char* kStays = "NCCL's own choices stay";

base::Settings read_settings(const Told& told) {
  std::vector<std::string> warnings;
  base::Settings settings = base::load_settings(environ, "", warnings);
  for (const std::string& warning : warnings) told.info(warning);
  return settings;
}

topology::Machine read_machine(const std::string& tuning_file) {
  try {
    return tuner::load_machine(tuning_file);
  } catch (const base::Error& error) {
    base::fail(error.code(), "HEDDLE_TUNING_FILE={}: {}", tuning_file, error.what());
  }
}

std::shared_ptr<const Prices> price(const std::string& tuning_file, const World& world,
                                    const Told& told) {
  const topology::Machine machine = read_machine(tuning_file);
  auto prices = std::make_shared<const Prices>(machine, world);
  told.info(
      fmt::format("{} of {} by the model of {}: {}; LL and LL128 only where NCCL has nothing "
                  "else",
                  base::counted(world.nodes, "node"), base::counted(world.ranks_per_node, "rank"),
                  machine.name, prices->text()));
  return prices;
}

std::shared_ptr<const Prices> prices_for(const World& world, const Told& told) {
  const std::string tuning_file = read_settings(told).tuning_file;
  if (tuning_file.empty()) {
    told.info(fmt::format("HEDDLE_TUNING_FILE is not set: no machine is known, and {}", kStays));
    return nullptr;
  }
  std::list<Known>& known = shared().known;
  known.remove_if([](const Known& entry) { return entry.prices.expired(); });
  for (const Known& entry : known)
    if (entry.tuning_file == tuning_file && entry.world == world)
      if (auto prices = entry.prices.lock()) return prices;
  auto prices = price(tuning_file, world, told);
  known.push_back({tuning_file, world, prices});
  return prices;
}

std::shared_ptr<const Prices> start(std::size_t ranks, std::size_t nodes, abi::Logger log) {
  const std::lock_guard lock(shared().mutex);
  const Told told(log);
  try {
    if (nodes < 1 || nodes > ranks || ranks > kMostRanks)
      base::fail(heddleInvalidArgument, "{} ranks on {} nodes cannot be priced", ranks, nodes);
    if (nodes == 1) return nullptr;  // README.md says why
    const auto per_node = static_cast<int>((ranks + nodes - 1) / nodes);
    return prices_for({static_cast<int>(nodes), per_node}, told);
  } catch (const std::exception& error) {
    told.warn(fmt::format("{}; {}", error.what(), kStays));
    return nullptr;
  }
}

}  // namespace

Context::Context(std::size_t ranks, std::size_t nodes, abi::Logger log) noexcept
    : user_chose_(std::getenv("NCCL_ALGO") != nullptr || std::getenv("NCCL_PROTO") != nullptr) {
  try {
    prices_ = start(ranks, nodes, log);
  } catch (...) {  // no memory for the text of an error
  }
}

abi::Result make_context(std::size_t ranks, std::size_t nodes, abi::Logger log,
                         void** context) noexcept {
  if (context != nullptr) *context = new (std::nothrow) Context(ranks, nodes, log);
  return abi::Result::success;
}

abi::Result fill_table(void* context, abi::Function function, std::size_t bytes, float** table,
                       int algorithms, int protocols) noexcept {
  const auto* const known = static_cast<const Context*>(context);
  if (known != nullptr && known->prices() != nullptr)
    fill(*known->prices(), function, bytes,
         {reinterpret_cast<float*>(table), algorithms, protocols});
  return abi::Result::success;
}

abi::Result drop_context(void* context) noexcept {
  delete static_cast<Context*>(context);
  return abi::Result::success;
}

}  // namespace heddle::nccl_tuner
