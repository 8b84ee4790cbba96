// Host memory that collectives work best on.
#pragma once

#include <cstddef>

#include "base/fd.hpp"

namespace heddle::device {

// A private anonymous mapping, every page of which has been touched by its maker.
using HostMemory = base::MappedMemory;

// Maps at least `bytes`, page aligned and zeroed; from 2 MiB on aligned to 2 MiB and made of huge
// pages where the system has them. Fails with heddleInvalidArgument for 0 bytes and with
// heddleSystemError when there is not so much memory. data() is the memory, size() what is mapped.
HostMemory allocate_host(std::size_t bytes);

}  // namespace heddle::device
