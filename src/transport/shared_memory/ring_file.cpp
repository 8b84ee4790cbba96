#include "transport/shared_memory/ring_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>

#include "base/error.hpp"
#include "transport/shared_memory/ring_layout.hpp"
#include "transport/shared_memory/unix_socket.hpp"

#ifndef MFD_NOEXEC_SEAL  // Linux 6.3
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace heddle::transport {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr std::size_t kMostSlotBytes = std::size_t{1} << 30;
constexpr int kMostSlots = 65536;

base::UniqueFd create_memfd() {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  // With vm.memfd_noexec=2 only files that can never be executed are allowed; kernels before 6.3 do
  // not know the flag.
  base::UniqueFd file(memfd_create("heddle-pipe", flags | MFD_NOEXEC_SEAL));
  if (!file && errno == EINVAL) file = base::UniqueFd(memfd_create("heddle-pipe", flags));
  if (!file) fail_with_limit(errno, "cannot create the memory of a shared-memory pipe");
  return file;
}

RingMemory map_ring(int file, const PipeOptions& options) {
  const std::size_t bytes = ring_bytes(options);
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (address == MAP_FAILED)
    fail_with_limit(errno, fmt::format("cannot map the {} bytes of a shared-memory pipe", bytes));
  return std::make_shared<const base::MappedMemory>(address, bytes);
}

}  // namespace

void check_options(const PipeOptions& options) {
  if (options.slots < 4 || options.slots > kMostSlots)
    base::fail(heddleInvalidArgument, "a pipe of {} slots: 4 to {} are allowed", options.slots,
               kMostSlots);
  if (options.slot_bytes == 0 || options.slot_bytes % kPage != 0 ||
      options.slot_bytes > kMostSlotBytes)
    base::fail(heddleInvalidArgument,
               "a pipe with slots of {} bytes: multiples of {} up to {} are allowed",
               options.slot_bytes, kPage, kMostSlotBytes);
}

RingFile create_ring(const PipeOptions& options) {
  check_options(options);
  base::UniqueFd file = create_memfd();
  const std::size_t bytes = ring_bytes(options);
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    fail_with_limit(errno, fmt::format("cannot size a shared-memory pipe to {} bytes", bytes));
  if (fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
    base::fail_errno(errno, "cannot seal the memory of a shared-memory pipe");
  RingMemory memory = map_ring(file.get(), options);
  // The file is all zeros, which is what every atomic and every slot line starts with.
  auto* const header = new (memory->data()) RingHeader{};
  header->magic = kRingMagic;
  header->version = kRingVersion;
  header->slots = static_cast<std::uint32_t>(options.slots);
  header->slot_bytes = options.slot_bytes;
  return {std::move(file), std::move(memory)};
}

RingMemory open_ring(int file, const PipeOptions& options) {
  check_options(options);
  struct stat status = {};
  if (fstat(file, &status) != 0) base::fail_errno(errno, "cannot examine the memory of a pipe");
  const std::size_t bytes = ring_bytes(options);
  if (!S_ISREG(status.st_mode) || static_cast<std::size_t>(status.st_size) != bytes)
    base::fail(heddleRemoteError, "the memory of the pipe has {} bytes where {} were expected",
               status.st_size, bytes);
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
    base::fail(heddleRemoteError, "the memory of the pipe is not sealed against a change of size");

  // The plain front of RingHeader: what the sender wrote before it sent the file.
  struct {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t slots;
    std::uint64_t slot_bytes;
  } front = {};
  if (pread(file, &front, sizeof front, 0) != static_cast<ssize_t>(sizeof front))
    base::fail_errno(errno, "cannot read the header of a pipe");
  if (front.magic != kRingMagic || front.version != kRingVersion)
    base::fail(heddleRemoteError,
               "the memory of the pipe has magic {:#x} version {} where {:#x} version {} were "
               "expected",
               front.magic, front.version, kRingMagic, kRingVersion);
  if (front.slots != static_cast<std::uint32_t>(options.slots) ||
      front.slot_bytes != options.slot_bytes)
    base::fail(heddleRemoteError,
               "the memory of the pipe has {} slots of {} bytes where {} of {} were expected",
               front.slots, front.slot_bytes, options.slots, options.slot_bytes);

  RingMemory memory = map_ring(file, options);
  // Takes this process's page fault on the header now, and not on the first message.
  reinterpret_cast<RingHeader*>(memory->data())->receiver_closed.store(0);
  return memory;
}

}  // namespace heddle::transport
