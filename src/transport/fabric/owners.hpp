// Owners of libfabric's objects, and the one way its failures become errors. Each owner closes its
// object once; the order (endpoint before what it is bound to, regions before their domain) is the
// order of members in Rail.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace heddle::transport::fabric {

// "text (number)" of a negative return code or a positive fi_errno.
inline std::string fabric_error_text(long rc) {
  const int code = static_cast<int>(rc < 0 ? -rc : rc);
  return fmt::format("{} ({})", fi_strerror(code), code);
}

// Fails with heddleSystemError that names the call, the reason and the provider; returns rc.
inline long check_fabric(long rc, std::string_view call, std::string_view provider) {
  if (rc < 0)
    base::fail(heddleSystemError, "{} failed on provider {}: {}", call, provider,
               fabric_error_text(rc));
  return rc;
}

// T is a libfabric object: a struct whose first member is its fid.
template <typename T>
class FabricOwner {
 public:
  FabricOwner() = default;
  explicit FabricOwner(T* object) : object_(object) {}
  FabricOwner(FabricOwner&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  FabricOwner& operator=(FabricOwner&& other) noexcept {
    if (this != &other) {
      reset();
      object_ = std::exchange(other.object_, nullptr);
    }
    return *this;
  }
  ~FabricOwner() { reset(); }

  explicit operator bool() const { return object_ != nullptr; }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  void reset() {
    if (object_ == nullptr) return;
    const std::size_t kind = object_->fid.fclass;  // FI_CLASS_EP, ...
    const int rc = fi_close(&std::exchange(object_, nullptr)->fid);
    if (rc != 0)
      base::log_warn("NET/OFI fi_close of a class {} object failed: {}", kind,
                     fabric_error_text(rc));
  }

 private:
  T* object_ = nullptr;
};

using Fabric = FabricOwner<fid_fabric>;
using Domain = FabricOwner<fid_domain>;
using Endpoint = FabricOwner<fid_ep>;
using AddressVector = FabricOwner<fid_av>;
using CompletionQueue = FabricOwner<fid_cq>;
using RegionOwner = FabricOwner<fid_mr>;

struct InfoDeleter {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoDeleter>;

}  // namespace heddle::transport::fabric
