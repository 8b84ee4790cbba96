#include "domain.hpp"

#include <condition_variable>
#include <cstdio>
#include <random>
#include <thread>

#include "address_vector.hpp"
#include "completions.hpp"
#include "endpoint.hpp"
#include "lower.hpp"
#include "stubs.hpp"

namespace emulated_efa {

namespace {

// RDMA needs nobody's help at its target. Here a target must poll; for those that do not, this
// thread does it now and then, as long as any domain is open.
class Keeper {
 public:
  static Keeper& instance() {
    static Keeper keeper;
    return keeper;
  }
  void add(Domain* domain) {
    const std::lock_guard lock(mutex_);
    domains_.push_back(domain);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  }
  void remove(Domain* domain) {
    std::thread finished;
    {
      const std::lock_guard lock(mutex_);
      std::erase(domains_, domain);
      if (domains_.empty()) finished = std::move(thread_);
      wake_.notify_all();
    }
    if (finished.joinable()) finished.join();
  }

 private:
  static constexpr std::chrono::milliseconds kPeriod{10};
  void run() {
    std::unique_lock lock(mutex_);
    while (!domains_.empty()) {
      for (Domain* domain : domains_) {
        const std::lock_guard inner(domain->mutex);
        domain->progress();
      }
      wake_.wait_for(lock, kPeriod);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Domain*> domains_;
  std::thread thread_;
};

Domain& domain_of(fid* object) {
  return *static_cast<Domain*>(reinterpret_cast<fid_domain*>(object));
}

int register_vector(fid* object, const iovec* pieces, std::size_t count, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t, std::uint64_t flags, fid_mr** registered,
                    void* context) {
  fi_mr_attr attributes{};
  attributes.mr_iov = pieces;
  attributes.iov_count = count;
  attributes.access = access;
  attributes.offset = offset;
  attributes.context = context;
  return register_memory(object, &attributes, flags, registered);
}

int register_one(fid* object, const void* buffer, std::size_t bytes, std::uint64_t access,
                 std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** registered,
                 void* context) {
  const iovec piece{const_cast<void*>(buffer), bytes};
  return register_vector(object, &piece, 1, access, offset, key, flags, registered, context);
}

int open_vector(fid_domain* object, fi_av_attr*, fid_av** opened, void* context) {
  Domain& domain = domain_of(&object->fid);
  *opened = new AddressVector(domain, context);
  const std::lock_guard lock(domain.mutex);
  ++domain.children;
  return 0;
}

int open_queue(fid_domain* object, fi_cq_attr* attributes, fid_cq** opened, void* context) {
  return CompletionQueue::open(domain_of(&object->fid), attributes, context, opened);
}

int open_endpoint(fid_domain* object, fi_info* info, fid_ep** opened, void* context) {
  return Endpoint::open(domain_of(&object->fid), *info, context, opened);
}

int close_domain(fid* object) {
  Domain& domain = domain_of(object);
  {
    const std::lock_guard lock(domain.mutex);
    if (domain.children > 0 || !domain.endpoints.empty()) return -FI_EBUSY;
  }
  delete &domain;
  return 0;
}

fi_ops fid_operations = {.size = sizeof(fi_ops),
                         .close = close_domain,
                         .bind = unsupported,
                         .control = unsupported,
                         .ops_open = unsupported,
                         .tostr = unsupported,
                         .ops_set = unsupported};
fi_ops_domain domain_operations = {.size = sizeof(fi_ops_domain),
                                   .av_open = open_vector,
                                   .cq_open = open_queue,
                                   .endpoint = open_endpoint,
                                   .scalable_ep = unsupported,
                                   .cntr_open = unsupported,
                                   .poll_open = unsupported,
                                   .stx_ctx = unsupported,
                                   .srx_ctx = unsupported,
                                   .query_atomic = unsupported,
                                   .query_collective = unsupported,
                                   .endpoint2 = nullptr};
fi_ops_mr memory_operations = {.size = sizeof(fi_ops_mr),
                               .reg = register_one,
                               .regv = register_vector,
                               .regattr = register_memory};

// Once a process; of a launched job only rank 0 speaks.
void announce(const Config& config, const fi_info& info, const fi_info& lower) {
  static std::once_flag said;
  if (launched_rank() > 0) return;
  std::call_once(said, [&] {
    std::fprintf(stderr,
                 "EMULATED EFA: %d adapters (%s) over libfabric provider %s, seed %llu; no figure "
                 "of this run is one of real adapters\n",
                 config.adapters, info.fabric_attr->name, lower.fabric_attr->prov_name,
                 static_cast<unsigned long long>(config.seed));
  });
}

}  // namespace

std::uint32_t random_number() {
  static std::mutex mutex;
  static std::random_device source;
  const std::lock_guard lock(mutex);
  return source();
}

Domain::Domain(Config config, int adapter, const fi_info& info, Info lower, void* context)
    : faults(config.script, adapter, Clock::now()),
      memory(config.script.memlock, random_number()),
      config_(std::move(config)),
      adapter_(adapter),
      limits_(limits_of(info.fabric_attr->name)),
      takes_device_memory_((info.caps & FI_HMEM) != 0),
      name_(device_name(adapter, config_.adapters)),
      lower_(std::move(lower)) {
  fid = {FI_CLASS_DOMAIN, context, &fid_operations};
  ops = &domain_operations;
  mr = &memory_operations;
}

Domain::~Domain() { Keeper::instance().remove(this); }

int Domain::open(fid_fabric*, fi_info* info, fid_domain** opened, void* context) {
  try {
    Config config = read_config();
    const int adapter = adapter_of(info->domain_attr->name, config.adapters);
    if (adapter < 0) return -FI_ENODEV;
    std::string why_not;
    Info lower = find_lower(config, adapter, why_not);
    if (lower == nullptr) throw ConfigError(why_not);
    announce(config, *info, *lower);
    if ((info->caps & FI_HMEM) != 0 && config.hmem == Hmem::none) return -FI_EINVAL;
    auto* domain = new Domain(std::move(config), adapter, *info, std::move(lower), context);
    Keeper::instance().add(domain);
    *opened = domain;
    return 0;
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "EMULATED EFA: %s\n", error.what());
    return -FI_EINVAL;
  }
}

void Domain::progress() {
  const auto now = Clock::now();
  if (faults.hung(now)) return;
  const bool dead = faults.dead(now);
  for (Endpoint* endpoint : endpoints) endpoint->progress(now, dead);
}

}  // namespace emulated_efa
