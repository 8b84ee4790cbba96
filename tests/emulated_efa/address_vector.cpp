#include "address_vector.hpp"

#include <mutex>

#include "domain.hpp"
#include "stubs.hpp"

namespace emulated_efa {

namespace {

AddressVector& vector_of(fid_av* av) { return *static_cast<AddressVector*>(av); }

int insert(fid_av* av, const void* addresses, std::size_t count, fi_addr_t* places,
           std::uint64_t flags, void*) {
  if ((flags & ~(FI_MORE)) != 0) return -FI_EBADFLAGS;
  const std::lock_guard lock(vector_of(av).domain().mutex);
  int good = 0;
  for (std::size_t i = 0; i < count; ++i) {
    EfaAddress address;
    std::memcpy(&address, static_cast<const std::byte*>(addresses) + i * sizeof address,
                sizeof address);
    const bool is_address = address.gid[0] == 0xfe && address.gid[1] == 0x80 && address.qpn != 0;
    const fi_addr_t place = is_address ? vector_of(av).insert(address) : FI_ADDR_NOTAVAIL;
    if (places != nullptr) places[i] = place;
    good += is_address;
  }
  return good;
}

int remove(fid_av* av, fi_addr_t* places, std::size_t count, std::uint64_t) {
  const std::lock_guard lock(vector_of(av).domain().mutex);
  for (std::size_t i = 0; i < count; ++i)
    if (!vector_of(av).remove(places[i])) return -FI_EINVAL;
  return 0;
}

int lookup(fid_av* av, fi_addr_t place, void* address, std::size_t* bytes) {
  const std::lock_guard lock(vector_of(av).domain().mutex);
  const EfaAddress* found = vector_of(av).find(place);
  if (found == nullptr) return -FI_EINVAL;
  std::memcpy(address, found, std::min(*bytes, sizeof *found));
  *bytes = sizeof *found;
  return 0;
}

const char* text(fid_av*, const void* address, char* buffer, std::size_t* room) {
  EfaAddress efa;
  std::memcpy(&efa, address, sizeof efa);
  const std::string all = to_text(efa);
  std::snprintf(buffer, *room, "%s", all.c_str());
  *room = all.size() + 1;
  return buffer;
}

int close(fid* object) {
  auto* vector = static_cast<AddressVector*>(reinterpret_cast<fid_av*>(object));
  Domain& domain = vector->domain();
  {
    const std::lock_guard lock(domain.mutex);
    if (vector->users > 0) return -FI_EBUSY;
    --domain.children;
  }
  delete vector;
  return 0;
}

fi_ops fid_operations = {.size = sizeof(fi_ops),
                         .close = close,
                         .bind = unsupported,
                         .control = unsupported,
                         .ops_open = unsupported,
                         .tostr = unsupported,
                         .ops_set = unsupported};
fi_ops_av operations = {.size = sizeof(fi_ops_av),
                        .insert = insert,
                        .insertsvc = unsupported,
                        .insertsym = unsupported,
                        .remove = remove,
                        .lookup = lookup,
                        .straddr = text,
                        .av_set = unsupported};

}  // namespace

AddressVector::AddressVector(Domain& domain, void* context) : domain_(domain) {
  fid = {FI_CLASS_AV, context, &fid_operations};
  ops = &operations;
}

fi_addr_t AddressVector::insert(const EfaAddress& address) {
  const auto [known, is_new] = places_.try_emplace(address, addresses_.size());
  if (is_new) addresses_.emplace_back(address);
  return known->second;
}

bool AddressVector::remove(fi_addr_t place) {
  const EfaAddress* address = find(place);
  if (address == nullptr) return false;
  places_.erase(*address);
  addresses_[place].reset();
  return true;
}

const EfaAddress* AddressVector::find(fi_addr_t place) const {
  return place < addresses_.size() && addresses_[place] ? &*addresses_[place] : nullptr;
}

fi_addr_t AddressVector::place_of(const EfaAddress& address) const {
  const auto known = places_.find(address);
  return known == places_.end() ? FI_ADDR_NOTAVAIL : known->second;
}

}  // namespace emulated_efa
