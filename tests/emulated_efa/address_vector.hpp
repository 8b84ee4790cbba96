// The peers an endpoint may talk to: fi_addr_t is the place in a table, and is never used again.
// Under the domain's lock, which its calls take.
#pragma once

#include <rdma/fi_domain.h>

#include <map>
#include <optional>
#include <vector>

#include "address.hpp"

namespace emulated_efa {

class Domain;

class AddressVector : public fid_av {
 public:
  AddressVector(Domain& domain, void* context);

  fi_addr_t insert(const EfaAddress& address);
  bool remove(fi_addr_t place);
  const EfaAddress* find(fi_addr_t place) const;
  // FI_ADDR_NOTAVAIL for a stranger.
  fi_addr_t place_of(const EfaAddress& address) const;

  Domain& domain() const { return domain_; }
  int users = 0;  // endpoints bound to it

 private:
  Domain& domain_;
  std::vector<std::optional<EfaAddress>> addresses_;
  std::map<EfaAddress, fi_addr_t> places_;
};

}  // namespace emulated_efa
