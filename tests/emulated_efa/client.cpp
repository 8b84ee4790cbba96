#include "client.hpp"

#include <unistd.h>

namespace client {

Setting::Setting(const std::string& script, const std::string& seed, const std::string& fabric) {
  setenv("HEDDLE_EMULATED_EFA", "4", 1);
  setenv("HEDDLE_EMULATED_EFA_SEED", seed.c_str(), 1);
  setenv("HEDDLE_EMULATED_EFA_FABRIC", fabric.c_str(), 1);
  if (script.empty()) return;
  char path[] = "/tmp/emulated_efa_XXXXXX";
  const int file = mkstemp(path);
  REQUIRE(file >= 0);
  ::close(file);
  std::ofstream(path) << script;
  path_ = path;
  setenv("HEDDLE_EMULATED_EFA_SCRIPT", path, 1);
}

Setting::~Setting() {
  unsetenv("HEDDLE_EMULATED_EFA_SCRIPT");
  if (!path_.empty()) unlink(path_.c_str());
}

Info good_hints(std::uint64_t caps) {
  Info hints(fi_allocinfo());
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if ((caps & FI_HMEM) != 0) hints->domain_attr->mr_mode |= FI_MR_HMEM;
  hints->domain_attr->cq_data_size = 4;
  hints->fabric_attr->prov_name = strdup("efa");
  return hints;
}

Info ask(const fi_info* hints) {
  fi_info* list = nullptr;
  const int rc =
      fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), nullptr, nullptr, 0, hints, &list);
  REQUIRE((rc == 0 || rc == -FI_ENODATA));
  return Info(rc == 0 ? list : nullptr);
}

Client::Client(int adapter, std::uint64_t caps) {
  const Info all = ask(good_hints(caps).get());
  REQUIRE(all != nullptr);
  const fi_info* one = all.get();
  for (int i = 0; i < adapter; ++i) REQUIRE((one = one->next) != nullptr);
  info_ = Info(fi_dupinfo(one));
  REQUIRE(fi_fabric(info_->fabric_attr, fabric_.out(), nullptr) == 0);
  REQUIRE(fi_domain(fabric_.get(), info_.get(), domain_.out(), nullptr) == 0);
  fi_av_attr peers{};
  REQUIRE(fi_av_open(domain_.get(), &peers, peers_.out(), nullptr) == 0);
  fi_cq_attr completions{};
  completions.format = FI_CQ_FORMAT_TAGGED;
  REQUIRE(fi_cq_open(domain_.get(), &completions, completions_.out(), nullptr) == 0);
  REQUIRE(fi_endpoint(domain_.get(), info_.get(), endpoint_.out(), nullptr) == 0);
  REQUIRE(fi_ep_bind(endpoint_.get(), &peers_.get()->fid, 0) == 0);
  REQUIRE(fi_ep_bind(endpoint_.get(), &completions_.get()->fid, FI_TRANSMIT | FI_RECV) == 0);
  REQUIRE(fi_enable(endpoint_.get()) == 0);
}

std::vector<std::uint8_t> Client::address() const {
  std::vector<std::uint8_t> bytes(64);
  std::size_t room = bytes.size();
  REQUIRE(fi_getname(&endpoint_.get()->fid, bytes.data(), &room) == 0);
  bytes.resize(room);
  return bytes;
}

fi_addr_t Client::insert(const std::vector<std::uint8_t>& address) {
  fi_addr_t place = FI_ADDR_NOTAVAIL;
  REQUIRE(fi_av_insert(peers_.get(), address.data(), 1, &place, 0, nullptr) == 1);
  return place;
}

fid_mr* Client::reg(void* at, std::size_t bytes, std::uint64_t access) {
  regions_.emplace_back();
  const int rc =
      fi_mr_reg(domain_.get(), at, bytes, access, 0, 0, 0, regions_.back().out(), nullptr);
  REQUIRE(rc == 0);
  return regions_.back().get();
}

void Client::close_region(fid_mr* region) {
  std::erase_if(regions_, [&](const Owner<fid_mr>& each) { return each.get() == region; });
}

std::optional<Seen> Client::poll() {
  Seen seen;
  const long rc = fi_cq_read(completions_.get(), &seen.entry, 1);
  if (rc == 1) return seen;
  if (rc == -FI_EAGAIN) return std::nullopt;
  REQUIRE(rc == -FI_EAVAIL);
  fi_cq_err_entry failure{};
  REQUIRE(fi_cq_readerr(completions_.get(), &failure, 0) == 1);
  seen.entry.op_context = failure.op_context;
  seen.entry.flags = failure.flags;
  seen.error = failure.err;
  seen.status = failure.prov_errno;
  seen.text = fi_cq_strerror(completions_.get(), failure.prov_errno, failure.err_data, nullptr, 0);
  return seen;
}

Pair::Pair(std::uint64_t caps, bool acquainted)
    : source(1 << 20), target(1 << 20), from(0, caps), to(1, caps) {
  peer = from.insert(to.address());
  if (acquainted) to.insert(from.address());
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 7 + 1);
  source_region = from.reg(source.data(), source.size(), FI_SEND | FI_WRITE);
  target_region = to.reg(target.data(), target.size(), FI_RECV | FI_REMOTE_WRITE);
}

bool Pair::wait(const std::function<bool()>& done, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!done()) {
    if (Clock::now() > end) return false;
    while (std::optional<Seen> seen = from.poll()) seen_from.push_back(*seen);
    while (std::optional<Seen> seen = to.poll()) seen_to.push_back(*seen);
  }
  return true;
}

Seen Pair::next_from(double seconds) {
  REQUIRE(wait([&] { return !seen_from.empty(); }, seconds));
  const Seen first = seen_from.front();
  seen_from.erase(seen_from.begin());
  return first;
}

long Pair::write(std::size_t offset, std::size_t bytes, std::uint64_t immediate,
                 std::optional<std::uint64_t> key) {
  return fi_writedata(from.ep(), source.data() + offset, bytes, from.desc(source_region), immediate,
                      peer, reinterpret_cast<std::uint64_t>(target.data()) + offset,
                      key.value_or(fi_mr_key(target_region)), &contexts[used++ % 4096]);
}

}  // namespace client
