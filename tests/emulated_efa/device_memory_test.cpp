// Memory of emulated GPUs: who may ask for it, what of it is registered, and that the adapters
// alone reach it.
#include "emulated_cuda/memory.hpp"

#include "client.hpp"

using namespace client;

namespace {

constexpr std::uint64_t kCaps = FI_MSG | FI_RMA | FI_HMEM;

class Offer {
 public:
  explicit Offer(const char* what) { setenv("HEDDLE_EMULATED_EFA_HMEM", what, 1); }
  Offer(const Offer&) = delete;
  ~Offer() { unsetenv("HEDDLE_EMULATED_EFA_HMEM"); }
};

// fi_mr_regattr, as CUDA's.
int reg(Client& client, void* at, std::size_t bytes, int device,
        emulated_efa::Owner<fid_mr>& region, fi_hmem_iface iface = FI_HMEM_CUDA) {
  const iovec piece{at, bytes};
  fi_mr_attr attributes{};
  attributes.mr_iov = &piece;
  attributes.iov_count = 1;
  attributes.access = FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE;
  attributes.iface = iface;
  attributes.device.cuda = device;
  return fi_mr_regattr(client.domain(), &attributes, 0, region.out());
}

}  // namespace

TEST_CASE("device memory is offered to those that ask for it, and register it themselves") {
  const Setting setting;
  CHECK(ask(good_hints(kCaps).get()) == nullptr);
  const Offer offer("cuda");
  CHECK((ask(good_hints().get())->caps & FI_HMEM) == 0);
  const Info granted = ask(good_hints(kCaps).get());
  REQUIRE(granted != nullptr);
  CHECK((granted->caps & FI_HMEM) != 0);
  CHECK((granted->domain_attr->mr_mode & FI_MR_HMEM) != 0);
  const Info careless = good_hints(kCaps);
  careless->domain_attr->mr_mode &= ~FI_MR_HMEM;
  CHECK(ask(careless.get()) == nullptr);
  const Offer nonsense("rocm");
  CHECK(ask(good_hints().get()) == nullptr);
}

TEST_CASE("device memory is registered as what it is, or not at all") {
  const Setting setting;
  const Offer offer("cuda");
  const emulated_cuda::Setting two("devices=2");
  Client client(0, kCaps), host_only(1);
  const emulated_cuda::Memory memory(8192, 1);
  std::vector<std::uint8_t> host(8192);
  emulated_efa::Owner<fid_mr> region;
  CHECK(reg(client, memory.data(), 8192, 0, region) == -FI_EINVAL);
  CHECK(reg(client, memory.data(), 8193, 1, region) == -FI_EINVAL);
  CHECK(reg(client, host.data(), 8192, 1, region) == -FI_EINVAL);
  CHECK(reg(client, memory.data(), 8192, 1, region, FI_HMEM_ROCR) == -FI_EINVAL);
  CHECK(reg(client, memory.data(), 8192, 1, region, FI_HMEM_SYSTEM) == -FI_EFAULT);
  CHECK(reg(host_only, memory.data(), 8192, 1, region) == -FI_EOPNOTSUPP);
  fid_mr* plain = nullptr;
  CHECK(fi_mr_reg(client.domain(), memory.data(), 8192, FI_SEND, 0, 0, 0, &plain, nullptr) ==
        -FI_EFAULT);
  CHECK(reg(client, memory.data(), 8192, 1, region) == 0);
}

TEST_CASE("messages go from device memory into device memory, and injected ones are refused") {
  const Setting setting;
  const Offer offer("cuda");
  Pair pair(kCaps);
  emulated_cuda::Memory source(100000), target(100000);
  emulated_efa::Owner<fid_mr> from, to;
  REQUIRE(reg(pair.from, source.data(), 100000, 0, from) == 0);
  REQUIRE(reg(pair.to, target.data(), 100000, 0, to) == 0);
  std::vector<std::byte> sent(90000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 13 >> 3);
  source.write(sent, 500);
  REQUIRE(fi_recv(pair.to.ep(), target.data() + 3, 90000, fi_mr_desc(to.get()), FI_ADDR_UNSPEC,
                  &pair.contexts[0]) == 0);
  REQUIRE(fi_send(pair.from.ep(), source.data() + 500, 90000, fi_mr_desc(from.get()), pair.peer,
                  &pair.contexts[1]) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 1 && pair.seen_from.size() == 1; }));
  CHECK(pair.seen_to[0].error == 0);
  CHECK(target.read(3, 90000) == sent);
  // Host memory and device memory in one message.
  iovec pieces[2] = {{pair.source.data(), 16}, {source.data() + 500, 64}};
  void* descs[2] = {pair.from.desc(pair.source_region), fi_mr_desc(from.get())};
  REQUIRE(fi_recv(pair.to.ep(), pair.target.data(), 80, pair.to.desc(pair.target_region),
                  FI_ADDR_UNSPEC, &pair.contexts[2]) == 0);
  REQUIRE(fi_sendv(pair.from.ep(), pieces, descs, 2, pair.peer, &pair.contexts[3]) == 0);
  REQUIRE(pair.wait([&] { return pair.seen_to.size() == 2; }));
  CHECK(pair.target[15] == pair.source[15]);
  CHECK(static_cast<std::byte>(pair.target[16 + 63]) == sent[63]);
  CHECK(fi_inject(pair.from.ep(), source.data(), 8, pair.peer) == -FI_EINVAL);
  CHECK(fi_inject(pair.from.ep(), pair.source.data(), 8, pair.peer) == 0);
}

#if FI_MAJOR_VERSION > 1 || FI_MINOR_VERSION >= 18
TEST_CASE("an endpoint may be told not to call CUDA, and refuses where it must") {
  const Setting setting;
  const auto forbid = [](const char* what) {
    const Offer offer(what);
    const Info info = ask(good_hints(std::string(what) == "none" ? FI_MSG | FI_RMA : kCaps).get());
    REQUIRE(info != nullptr);
    emulated_efa::Owner<fid_fabric> fabric;
    emulated_efa::Owner<fid_domain> domain;
    emulated_efa::Owner<fid_ep> endpoint;
    REQUIRE(fi_fabric(info->fabric_attr, fabric.out(), nullptr) == 0);
    REQUIRE(fi_domain(fabric.get(), info.get(), domain.out(), nullptr) == 0);
    REQUIRE(fi_endpoint(domain.get(), info.get(), endpoint.out(), nullptr) == 0);
    const bool permitted = false;
    return fi_setopt(&endpoint.get()->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted,
                     sizeof permitted);
  };
  CHECK(forbid("none") == 0);
  CHECK(forbid("cuda") == 0);
  CHECK(forbid("copies") == -FI_EOPNOTSUPP);
}
#endif
