// The file behind a shared-memory pipe: an anonymous memfd, so that nothing is left behind by a
// crash, sealed so that neither side can shrink it under the other's feet (a read past the end of a
// mapped file is SIGBUS).
#pragma once

#include <memory>

#include "base/fd.hpp"
#include "transport/pipe.hpp"

namespace heddle::transport {

// Owned by a pipe end. Where both ends live in one process they may share one mapping.
using RingMemory = std::shared_ptr<const base::MappedMemory>;

struct RingFile {
  base::UniqueFd file;
  RingMemory memory;
};

// Fails with heddleInvalidArgument when slots are not 4 to 65536, or slot_bytes is not a multiple
// of 4096 in 4096 to 1 GiB.
void check_options(const PipeOptions& options);

// Makes and maps a sealed, empty ring. Only the pages of the header are touched.
RingFile create_ring(const PipeOptions& options);

// Checks a received file (size, seals, header) and maps it. Fails with heddleRemoteError saying
// what is wrong with a file that is not such a ring.
RingMemory open_ring(int file, const PipeOptions& options);

}  // namespace heddle::transport
