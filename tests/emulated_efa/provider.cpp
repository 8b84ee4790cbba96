// A libfabric provider that calls itself efa: the entry, the list of adapters, the fabric object.
// docs/emulated_efa.md says what it is for.
//
// libfabric holds a lock while fi_prov_ini runs: nothing here may call it back before getinfo.
#include <rdma/providers/fi_prov.h>

#include <cstdio>

#include "completions.hpp"
#include "domain.hpp"
#include "lower.hpp"
#include "stubs.hpp"

namespace emulated_efa {

namespace {

int close_fabric(fid* object) {
  delete reinterpret_cast<fid_fabric*>(object);
  return 0;
}

fi_ops fid_operations = {.size = sizeof(fi_ops),
                         .close = close_fabric,
                         .bind = unsupported,
                         .control = unsupported,
                         .ops_open = unsupported,
                         .tostr = unsupported,
                         .ops_set = unsupported};
fi_ops_fabric fabric_operations = {.size = sizeof(fi_ops_fabric),
                                   .domain = Domain::open,
                                   .passive_ep = unsupported,
                                   .eq_open = open_event_queue,
                                   .wait_open = unsupported,
                                   .trywait = unsupported,
                                   .domain2 = nullptr};

int open_fabric(fi_fabric_attr*, fid_fabric** opened, void* context) {
  auto* fabric = new fid_fabric{};
  fabric->fid = {FI_CLASS_FABRIC, context, &fid_operations};
  fabric->ops = &fabric_operations;
  *opened = fabric;
  return 0;
}

// The adapters that meet the hints, in order.
int list_adapters(std::uint32_t, const char* node, const char*, std::uint64_t, const fi_info* hints,
                  fi_info** list) {
  if (node != nullptr) return -FI_ENODATA;  // no names here, only addresses
  try {
    const Config config = read_config();
    Info first;
    fi_info* last = nullptr;
    for (const std::string& fabric : config.fabrics) {
      for (int adapter = 0; adapter < config.adapters; ++adapter) {
        std::string why_not;
        const Info lower = find_lower(config, adapter, why_not);
        if (lower == nullptr) throw ConfigError(why_not);
        const EfaAddress place =
            address_from(*static_cast<const sockaddr_in*>(lower->src_addr), adapter, 0);
        Info info = describe(adapter, config.adapters, fabric, place.gid);
        if (info == nullptr) return -FI_ENOMEM;
        if (!meets(*info, hints, config.hmem != Hmem::none)) continue;
        fi_info* const added = info.get();
        if (last == nullptr)
          first = std::move(info);
        else
          last->next = info.release();
        last = added;
      }
    }
    if (first == nullptr) return -FI_ENODATA;
    *list = first.release();
    return 0;
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "EMULATED EFA: %s\n", error.what());
    return -FI_ENODATA;
  }
}

void clean_up() {}

fi_provider provider = {.version = FI_VERSION(9000, 0),  // beats a built-in of the same name
                        .fi_version = 0,
                        .context = {},
                        .name = "efa",
                        .getinfo = list_adapters,
                        .fabric = open_fabric,
                        .cleanup = clean_up};

}  // namespace

}  // namespace emulated_efa

// Null: not available here.
extern "C" FI_EXT_INI {
  using namespace emulated_efa;
  if (has_real_device(device_list()) && !is_forced()) {
    std::fprintf(stderr,
                 "EMULATED EFA: this machine has a real EFA device; not loaded "
                 "(HEDDLE_EMULATED_EFA_FORCE=1 loads it all the same)\n");
    return nullptr;
  }
  try {
    read_config();
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "EMULATED EFA: not loaded: %s\n", error.what());
    return nullptr;
  }
  provider.fi_version = fi_version();
  return &provider;
}
