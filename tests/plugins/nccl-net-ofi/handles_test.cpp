#include "nccl-net-ofi/handles.hpp"

#include <atomic>
#include <set>
#include <thread>

#include "catch.hpp"
#include "support/base_errors.hpp"

namespace heddle::nccl_net {
namespace {

using Catch::Matchers::Contains;

std::string why_not(const HandleTable& table, const void* handle, HandleKind kind) {
  return test::error_of([&] { table.find(handle, kind); }, heddleInternalError);
}

}  // namespace

TEST_CASE("a handle finds its object until it is removed") {
  HandleTable table;
  int object = 0;
  void* const handle = table.add(HandleKind::send_comm, &object);
  CHECK(table.find(handle, HandleKind::send_comm) == &object);
  CHECK(table.is(handle, HandleKind::send_comm));
  CHECK_FALSE(table.is(handle, HandleKind::receive_comm));
  CHECK_THAT(why_not(table, handle, HandleKind::listener),
             Contains("is a comm that sends, not a listener"));
  CHECK(table.remove(handle, HandleKind::send_comm) == &object);
  CHECK_THAT(why_not(table, handle, HandleKind::send_comm), Contains("closed or never was one"));
  // The place is used again, the handle is not.
  void* const other = table.add(HandleKind::send_comm, &object);
  CHECK(other != handle);
  CHECK_FALSE(table.is(handle, HandleKind::send_comm));
}

TEST_CASE("made-up handles") {
  HandleTable table;
  int object = 0;
  table.add(HandleKind::memory, &object);
  CHECK_THAT(why_not(table, nullptr, HandleKind::memory), Contains("null pointer"));
  for (const std::uintptr_t value : {std::uintptr_t{1}, std::uintptr_t{2}, std::uintptr_t{1} << 32,
                                     ~std::uintptr_t{0}, reinterpret_cast<std::uintptr_t>(&object)})
    for (const auto kind : {HandleKind::none, HandleKind::listener})
      CHECK_FALSE(why_not(table, reinterpret_cast<void*>(value), kind).empty());
}

TEST_CASE("many handles, each its own") {
  HandleTable table;
  std::vector<int> objects(5000);
  std::set<void*> handles;
  std::vector<void*> in_order;
  for (int& object : objects) {
    in_order.push_back(table.add(HandleKind::memory, &object));
    handles.insert(in_order.back());
  }
  CHECK(handles.size() == objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i)
    REQUIRE(table.find(in_order[i], HandleKind::memory) == &objects[i]);
}

TEST_CASE("of many that remove a handle one does") {
  HandleTable table;
  for (int round = 0; round < 200; ++round) {
    int object = 0;
    void* const handle = table.add(HandleKind::memory, &object);
    std::atomic<int> got{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        if (test::error_of([&] { table.remove(handle, HandleKind::memory); }).empty()) ++got;
      });
    for (auto& thread : threads) thread.join();
    REQUIRE(got == 1);
  }
}

}  // namespace heddle::nccl_net
