# What the library links: libfabric, hwloc, fmt, libsodium, Highway. Never MPI, CUDA or Neuron.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
pkg_check_modules(libfabric REQUIRED IMPORTED_TARGET libfabric>=1.17)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc>=2.0)
pkg_check_modules(libsodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(libhwy REQUIRED IMPORTED_TARGET libhwy)
