// The driver's table over the stand-in for libcuda, and without any.
#include "device/cuda/driver.hpp"

#include <sys/stat.h>

#include <thread>

#include "base/error.hpp"
#include "catch.hpp"
#include "emulated_cuda/memory.hpp"
#include "support/base_errors.hpp"

using namespace heddle::device::cuda;
using emulated_cuda::Memory;
using emulated_cuda::Setting;
using heddle::test::error_of;

namespace {

std::shared_ptr<const Driver> open() {
  std::string why_not;
  auto driver = open_driver(why_not);
  INFO(why_not);
  REQUIRE(driver != nullptr);
  return driver;
}

std::string why_not_open(const std::string& library = kLibrary) {
  std::string why_not;
  CHECK(open_driver(why_not, library) == nullptr);
  return why_not;
}

}  // namespace

TEST_CASE("a driver tells its version, its devices and what they can") {
  const Setting two("devices=2,no-gdr");
  const auto driver = open();
  CHECK(driver->version() == "12.8");
  CHECK(driver->devices() == 2);
  CHECK(driver->attribute(DeviceAttribute::gpu_direct_rdma, 1) == 0);
  CHECK(driver->attribute(DeviceAttribute::dmabuf, 1) == 1);
  CHECK((driver->attribute(DeviceAttribute::flush_options, 0) & kFlushFromHost) != 0);
  CHECK(driver->attribute(DeviceAttribute::write_ordering, 0) == 0);
  const std::string text =
      error_of([&] { driver->attribute(DeviceAttribute::dmabuf, 2); }, heddleSystemError);
  CHECK_THAT(text, Catch::Matchers::Contains("cuDeviceGet failed: emulated: invalid device"));
}

TEST_CASE("an attribute that the driver does not know is 0") {
  const Setting old("unknown-attributes");
  CHECK(open()->attribute(DeviceAttribute::dmabuf, 0) == 0);
}

TEST_CASE("why there is no driver is told") {
  CHECK_THAT(why_not_open("libcuda-that-is-not-there.so.1"),
             Catch::Matchers::Contains("no CUDA driver: libcuda-that-is-not-there.so.1"));
  CHECK(why_not_open("libc.so.6") == "libc.so.6 has no function cuInit");
  {
    const Setting none("devices=0");
    CHECK_THAT(why_not_open(), Catch::Matchers::Contains("does not start: cuInit failed: emulated: "
                                                         "no CUDA-capable device is detected "
                                                         "(CUDA_ERROR_NO_DEVICE, 100)"));
  }
  const Setting broken("broken");
  CHECK_THAT(why_not_open(), Catch::Matchers::Contains("cuInit failed"));
}

TEST_CASE("whose memory a pointer is") {
  const Setting two("devices=2");
  const auto driver = open();
  const Memory first(10000, 0), second(10000, 1), managed(10000, 1, true);
  int here = 0;
  CHECK(driver->owner(&here).kind == PointerOwner::Kind::host);
  CHECK(driver->owner(nullptr).kind == PointerOwner::Kind::host);
  CHECK(driver->owner(first.data()).kind == PointerOwner::Kind::device);
  CHECK(driver->owner(first.data()).device == 0);
  CHECK(driver->owner(second.data() + 9999).device == 1);
  CHECK(driver->owner(managed.data()).kind == PointerOwner::Kind::managed);
}

TEST_CASE("a dmabuf is the caller's, of whole pages of device memory") {
  const auto driver = open();
  const Memory memory(8192);
  const heddle::base::UniqueFd fd = driver->dmabuf(memory.data(), 8192);
  struct stat about {};
  CHECK(fstat(fd.get(), &about) == 0);
  CHECK(about.st_size == 8192);
  const auto fails = [&](const void* at, std::size_t bytes) {
    return error_of([&] { driver->dmabuf(at, bytes); }, heddleSystemError);
  };
  CHECK_THAT(fails(memory.data() + 1, 4096),
             Catch::Matchers::Contains("cuMemGetHandleForAddressRange failed"));
  CHECK_THAT(fails(&fd, 4096), Catch::Matchers::Contains("invalid argument"));
}

TEST_CASE("a flush needs no context of the caller's and leaves its own") {
  const Setting two("devices=2");
  const int held = emulated_cuda::contexts(1);
  {
    const auto driver = open();
    const int before = emulated_cuda::flushes();
    const auto flush = [&] {
      for (int i = 0; i < 3; ++i) driver->flush(1);
    };
    std::thread(flush).join();
    flush();
    CHECK(emulated_cuda::flushes() == before + 6);
    CHECK(emulated_cuda::contexts(1) == held + 1);
    Context now = nullptr;
    emulated_cuda::function<Result(Context*)>("cuCtxGetCurrent")(&now);
    CHECK(now == nullptr);
  }
  CHECK(emulated_cuda::contexts(1) == held);
  const Setting cannot("no-flush");
  CHECK_THAT(error_of([&] { open()->flush(0); }, heddleSystemError),
             Catch::Matchers::Contains("cuFlushGPUDirectRDMAWrites failed: emulated: operation not "
                                       "supported"));
}

TEST_CASE("a driver of long ago has neither dmabuf nor flush") {
  REQUIRE(open()->has_flush());  // first: a name finds what is loaded
  std::string why_not;
  const auto old = open_driver(why_not, EMULATED_OLD_CUDA);
  INFO(why_not);
  REQUIRE(old != nullptr);
  CHECK_FALSE(old->has_dmabuf());
  CHECK_FALSE(old->has_flush());
  int here = 0;
  CHECK_THAT(error_of([&] { old->dmabuf(&here, 4096); }, heddleInvalidUsage),
             Catch::Matchers::Contains("12.8 has no cuMemGetHandleForAddressRange"));
  CHECK_THAT(error_of([&] { old->flush(0); }, heddleInvalidUsage),
             Catch::Matchers::Contains("has no cuFlushGPUDirectRDMAWrites"));
}
