// What the provider itself does, with none of Heddle's protocol: RDMA writes with immediate from
// one process of this host to another, 8 under way, from and into so many pieces of memory in turn.
// The measure for bandwidths over the same provider. Usage: fabric_raw [provider [bytes [writes
// [pieces]]]]; tcp, 4 MiB, 200 and 8 are the defaults. Prints GB/s.
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "transport/fabric/owners.hpp"
#include "transport/fabric/provider.hpp"

namespace {

using namespace heddle::transport::fabric;

constexpr int kInFlight = 8;

struct End {
  Fabric fabric;
  Domain domain;
  AddressVector peers;
  CompletionQueue completions;
  RegionOwner region;
  Endpoint endpoint;
  std::vector<std::byte> memory;
  fi_context2 contexts[kInFlight];
};

// What the writer needs of the other end.
struct Card {
  char name[256];
  std::size_t name_bytes;
  std::uint64_t address;
  std::uint64_t key;
};

void check(long rc, const char* call) { check_fabric(rc, call, "fabric_raw"); }

End open_end(fi_info* info, std::size_t bytes) {
  End end;
  end.memory.resize(bytes);
  fid_fabric* fabric = nullptr;
  check(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
  end.fabric = Fabric(fabric);
  fid_domain* domain = nullptr;
  check(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
  end.domain = Domain(domain);
  fi_av_attr of_peers{};
  of_peers.type = FI_AV_TABLE;
  fid_av* peers = nullptr;
  check(fi_av_open(domain, &of_peers, &peers, nullptr), "fi_av_open");
  end.peers = AddressVector(peers);
  fi_cq_attr of_queue{};
  of_queue.format = FI_CQ_FORMAT_DATA;
  fid_cq* queue = nullptr;
  check(fi_cq_open(domain, &of_queue, &queue, nullptr), "fi_cq_open");
  end.completions = CompletionQueue(queue);
  fid_ep* endpoint = nullptr;
  check(fi_endpoint(domain, info, &endpoint, nullptr), "fi_endpoint");
  end.endpoint = Endpoint(endpoint);
  check(fi_ep_bind(endpoint, &peers->fid, 0), "fi_ep_bind");
  check(fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
  check(fi_enable(endpoint), "fi_enable");
  fid_mr* region = nullptr;
  check(fi_mr_reg(domain, end.memory.data(), bytes, FI_WRITE | FI_REMOTE_WRITE, 0, 1, 0, &region,
                  nullptr),
        "fi_mr_reg");
  end.region = RegionOwner(region);
  return end;
}

Card card_of(End& end, const fi_info& info) {
  Card card{};
  card.name_bytes = sizeof card.name;
  check(fi_getname(&end.endpoint.get()->fid, card.name, &card.name_bytes), "fi_getname");
  const bool virtual_addresses = (info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  card.address = virtual_addresses ? reinterpret_cast<std::uint64_t>(end.memory.data()) : 0;
  card.key = fi_mr_key(end.region.get());
  return card;
}

// Completions of `count` operations.
void reap(End& end, int count) {
  fi_cq_data_entry entries[kInFlight];
  while (count > 0) {
    const auto most = static_cast<std::size_t>(std::min(count, kInFlight));
    const long rc = fi_cq_read(end.completions.get(), entries, most);
    if (rc == -FI_EAGAIN) continue;
    check(rc, "fi_cq_read");
    count -= static_cast<int>(rc);
  }
}

double write_all(End& end, const Card& other, int writes, std::size_t bytes) {
  fi_addr_t to = FI_ADDR_NOTAVAIL;
  check(fi_av_insert(end.peers.get(), other.name, 1, &to, 0, nullptr) == 1 ? 0 : -FI_EINVAL,
        "fi_av_insert");
  void* const desc = fi_mr_desc(end.region.get());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < writes; ++i) {
    if (i >= kInFlight) reap(end, 1);
    const std::size_t at = static_cast<std::size_t>(i) * bytes % end.memory.size();
    long rc = 0;
    do {
      rc = fi_writedata(end.endpoint.get(), end.memory.data() + at, bytes, desc, 7, to,
                        other.address + at, other.key, &end.contexts[i % kInFlight]);
      if (rc == -FI_EAGAIN) fi_cq_read(end.completions.get(), nullptr, 0);
    } while (rc == -FI_EAGAIN);
    check(rc, "fi_writedata");
  }
  reap(end, std::min(writes, kInFlight));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  heddle::base::Settings settings;
  settings.provider = count > 1 ? arguments[1] : "tcp";
  const std::size_t bytes = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 4 << 20;
  const int writes = count > 3 ? std::atoi(arguments[3]) : 200;
  const std::size_t pieces = count > 4 ? std::strtoull(arguments[4], nullptr, 10) : kInFlight;
  const std::string interfaces[] = {"lo"};
  int sockets[2];
  if (bytes == 0 || writes <= kInFlight || pieces == 0 ||
      socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
    return 2;
  const pid_t child = fork();
  try {
    const ChosenProvider provider = choose_provider(settings, interfaces);
    fi_info* const info = provider.adapters.front().info.get();
    End end = open_end(info, bytes * pieces);
    const int socket = sockets[child == 0 ? 1 : 0];
    const Card mine = card_of(end, *info);
    Card other{};
    if (write(socket, &mine, sizeof mine) != sizeof mine ||
        recv(socket, &other, sizeof other, MSG_WAITALL) != sizeof other)
      return 2;
    char over = 0;
    if (child == 0) {
      reap(end, writes);
      return write(socket, &over, 1) == 1 ? 0 : 2;
    }
    write_all(end, other, kInFlight, bytes);  // the connection, and first touches
    const double seconds = write_all(end, other, writes - kInFlight, bytes);
    if (read(socket, &over, 1) != 1) return 2;
    std::printf("%s %zu %.3f\n", provider.name.c_str(), bytes,
                static_cast<double>(bytes) * (writes - kInFlight) / seconds / 1e9);
    int status = 0;
    return waitpid(child, &status, 0) == child ? status : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fabric_raw: %s\n", error.what());
    return 2;
  }
}
