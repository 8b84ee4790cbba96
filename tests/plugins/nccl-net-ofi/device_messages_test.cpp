// Messages between memory of GPUs and of hosts through the plugin as it was built: two processes
// over the emulated EFA and the stand-in for CUDA's driver, whose memory faults when a processor
// touches it.
#include "device_end.hpp"
#include "support/temporary_folder.hpp"
#include "transport/fabric/device_memory.hpp"

namespace heddle::nccl_net::testing {
namespace {

using V8 = nccl_abi::NetV8;
using V12 = nccl_abi::NetV12;

std::vector<Kind> kinds() {
  std::vector<Kind> all{Kind::host, Kind::cuda};
  if (transport::fabric::knows_dmabuf()) all.push_back(Kind::dmabuf);
  return all;
}

// Of every size, at odd addresses, into receives that are as long or longer.
std::vector<Message> messages_up_to(std::size_t most) {
  std::vector<Message> all;
  std::size_t from = 1, to = 5;
  for (const std::size_t size : {0, 1, 7, 8, 9, 64, 500, 1000, 4096, 8160, 8192, 8193, 20000, 65536,
                                 100001, 262144, 1 << 20, (1 << 20) + 3, 8 << 20}) {
    if (size > most) break;
    for (const std::size_t more : {0, 77}) {
      if (size >= 1 << 20 && more > 0) continue;
      all.push_back({size, size + more, from, to});
      from += size + 3;
      to += size + more + 13;
    }
  }
  return all;
}

// Every pair of kinds of memory over one comm.
template <typename Net>
void sends_all(const Other& other, std::size_t most) {
  End<Net> end;
  end.connect(other);
  for (const Kind from : kinds())
    for (std::size_t i = 0; i < kinds().size(); ++i) end.send_all(from, messages_up_to(most), i);
  other.meet();
  end.close_sender();
}
template <typename Net>
void receives_all(const Other& other, std::size_t most) {
  End<Net> end;
  end.accept(other);
  for (std::size_t i = 0; i < kinds().size(); ++i)
    for (std::size_t to = 0; to < kinds().size(); ++to)
      end.receive_all(kinds()[to], messages_up_to(most), to);
  other.meet();
  end.close_receiver();
  expect(emulated_cuda::flushes() > 0, "nothing was flushed");
}

template <typename Net>
std::string exchange(int adapters, int seed, std::size_t most) {
  return run_processes(
      {"sender", emulated(adapters, seed), [&](const Other& o) { sends_all<Net>(o, most); }},
      {"receiver", emulated(adapters, seed), [&](const Other& o) { receives_all<Net>(o, most); }});
}

}  // namespace

TEST_CASE("NCCL is told of GPUs' memory, of dmabufs and of flushes") {
  CHECK(run_process({"process", emulated(4, 1), [](const Other&) {
                       const int wanted = transport::fabric::knows_dmabuf() ? 7 : 3;
                       End<V12> end;
                       expect(end.properties().ptrSupport == wanted, end.started());
                       expect(end.properties().forceFlush == 1, "no flushes are asked for");
                       expect(end.properties().vProps.ndevs == 1, "it is several devices");
                       expect(end.started().find("host and GPU memory") != std::string::npos,
                              end.started());
                       End<V8> old;
                       expect(old.properties().ptrSupport == wanted, "version 8 says otherwise");
                     }}) == "");
  CHECK(run_process({"process", emulated(1, 1) + Variables{{"HEDDLE_EMULATED_CUDA", "ordered"}},
                     [](const Other&) {
                       End<V12> end;
                       expect((end.properties().ptrSupport & 2) != 0, end.started());
                       expect(end.properties().forceFlush == 0, "flushes are asked for");
                     }}) == "");
}

TEST_CASE("messages of all sizes go between memory of all kinds") {
  CHECK(exchange<V12>(1, 1, 8 << 20) == "");
  CHECK(exchange<V12>(4, 1, 8 << 20) == "");
  CHECK(exchange<V8>(4, 2, 300000) == "");
}

TEST_CASE("in whatever order they arrive") {
  for (const int adapters : {1, 4})
    for (const int seed : {0, 3, 4, 5}) CHECK(exchange<V12>(adapters, seed, 300000) == "");
}

TEST_CASE("between a host with GPUs and one without") {
  const auto sends = [](Kind kind) {
    return [=](const Other& other) {
      End<V12> end;
      end.connect(other);
      end.send_all(kind, messages_up_to(300000), 9);
      other.meet();
      end.close_sender();
    };
  };
  const auto receives = [](Kind kind) {
    return [=](const Other& other) {
      End<V12> end;
      end.accept(other);
      end.receive_all(kind, messages_up_to(300000), 9);
      other.meet();
      end.close_receiver();
    };
  };
  const Variables with = emulated(2, 1), without = emulated(2, 1, "none");
  CHECK(run_processes({"sender", without, sends(Kind::host)},
                      {"receiver", with, receives(Kind::cuda)}) == "");
  CHECK(run_processes({"sender", with, sends(Kind::cuda)},
                      {"receiver", without, receives(Kind::host)}) == "");
}

TEST_CASE("one receive has buffers of a GPU and of the host, by tag") {
  constexpr std::array<std::size_t, 4> kBytes{100, 70000, 9, 300000};
  const auto kind = [](std::size_t place) { return place % 2 == 0 ? Kind::host : Kind::cuda; };
  const auto contents = [&](std::size_t place) {
    std::vector<std::byte> bytes(kBytes[place]);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = content(i, place);
    return bytes;
  };
  const auto sends = [&](const Other& other) {
    End<V12> end;
    end.connect(other);
    for (const std::size_t place : {3, 0, 2, 1}) {
      Buffer buffer(kind(place + 1), kBytes[place]);
      buffer.write(contents(place));
      void* const memory = end.known(buffer);
      void* request = nullptr;
      while (request == nullptr)
        end.must(end.driver().send(end.comm(), buffer.data(), buffer.size(),
                                   static_cast<int>(place), memory, &request),
                 "isend");
      end.wait(request);
      end.must(end.net().deregMr(end.comm(), memory), "deregMr");
    }
    other.meet();
    end.close_sender();
  };
  const auto receives = [&](const Other& other) {
    End<V12> end;
    end.accept(other);
    std::deque<Buffer> buffers;
    std::vector<void*> data, memories;
    std::vector<std::size_t> room;
    for (std::size_t place = 0; place < kBytes.size(); ++place) {
      Buffer& buffer = buffers.emplace_back(kind(place), kBytes[place]);
      data.push_back(buffer.data());
      memories.push_back(end.known(buffer));
      room.push_back(buffer.size());
    }
    void* request = nullptr;
    while (request == nullptr)
      end.must(end.driver().receive(end.comm(), data, room, {0, 1, 2, 3}, memories, &request),
               "irecv");
    std::array<int, 4> came{};
    end.must(end.driver().wait(request, came.data()), "test");
    end.must(end.net().iflush(end.comm(), 4, data.data(), came.data(), memories.data(), &request),
             "iflush");
    expect(emulated_cuda::flushes() > 0, "nothing was flushed");
    for (std::size_t place = 0; place < kBytes.size(); ++place)
      expect(static_cast<std::size_t>(came[place]) == kBytes[place] &&
                 buffers[place].read() == contents(place),
             "buffer " + std::to_string(place) + " is wrong");
    other.meet();
    end.close_receiver();
  };
  const Variables with = emulated(4, 7) + Variables{{"HEDDLE_NCCL_MAX_RECVS", "4"}};
  CHECK(run_processes({"sender", with, sends}, {"receiver", with, receives}) == "");
}

TEST_CASE("an adapter that fails and comes back costs no byte of a GPU's memory") {
  std::vector<Message> round;
  for (std::size_t i = 0; i < 12; ++i) round.push_back({1 << 20, 1 << 20, i << 20, (i << 20) + i});
  const test::TemporaryFolder folder;
  // Rounds until the log of the sender tells the whole story.
  const auto sends = [&](const Other& other) {
    End<V12> end;
    end.connect(other);
    std::string log;
    const auto told = [&](const char* what) { return log.find(what) != std::string::npos; };
    for (std::size_t seed = 0; !told("is given up") || !told("is back"); ++seed) {
      other.tell('g');
      end.send_all(Kind::cuda, round, seed);
      log += logged();
    }
    other.tell('e');
    other.meet();
    end.close_sender();
  };
  const auto receives = [&](const Other& other) {
    End<V12> end;
    end.accept(other);
    for (std::size_t seed = 0; other.hear<char>() == 'g'; ++seed)
      end.receive_all(Kind::cuda, round, seed);
    other.meet();
    end.close_receiver();
  };
  for (const int rank : {0, 1}) {
    // By the clock: a receiver posts little. Longer than a round takes under a sanitizer.
    folder.write("script", "patience 1s\ndead 2 at 1s for 3s rank " + std::to_string(rank));
    const Variables with =
        emulated(4, 1) + Variables{{"HEDDLE_EMULATED_EFA_SCRIPT", folder.path("script")},
                                   {"HEDDLE_RAIL_TIMEOUT", "0.5"}};
    CHECK(run_processes({"sender", with + Variables{{"RANK", "0"}}, sends},
                        {"receiver", with + Variables{{"RANK", "1"}}, receives}) == "");
  }
}

}  // namespace heddle::nccl_net::testing
