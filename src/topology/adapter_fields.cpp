#include "topology/adapter_fields.hpp"

#include <array>

namespace heddle::topology {

std::span<const AdapterField> adapter_fields() {
  constexpr double kMicro = 1e-6, kGiga = 1e9;
  using Model = AdapterModel;
  static constexpr std::array kFields = {
      AdapterField{"count", &Model::count},
      AdapterField{"bandwidth_gb_per_s", &Model::bandwidth, kGiga, 0, true},
      AdapterField{"latency_us", &Model::latency, kMicro},
      AdapterField{"message_us", &Model::message_time, kMicro},
      AdapterField{"post_us", &Model::post_time, kMicro},
      AdapterField{"stream_bandwidth_gb_per_s", &Model::stream_bandwidth, kGiga},
      AdapterField{"send_engines", &Model::send_engines, 1, 1},
      AdapterField{"receive_engines", &Model::receive_engines, 1, 1},
      AdapterField{"eager_bytes", &Model::eager_bytes},
      AdapterField{"rendezvous_us", &Model::rendezvous_time, kMicro},
      AdapterField{"staged", &Model::staged},
      AdapterField{"direct_from", &Model::direct_from},
      AdapterField{"direct_us", &Model::direct_time, kMicro},
  };
  return kFields;
}

}  // namespace heddle::topology
