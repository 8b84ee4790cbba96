// From MPI to Heddle, header-only: MPI carries the unique id and nothing else. The library itself
// never links MPI; a program that includes this header does.
#pragma once

// MPI's old C++ bindings would make every user link another library.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <cstdlib>
#include <string>

#include "heddle/heddle.hpp"

namespace heddle {

namespace detail {
// What a launcher's environment says of this process's world.
struct LauncherClaim {
  std::string variable;  // empty: no launcher
  int ranks = 0;
};

// Reads it by `get`, which is getenv but in tests. An MPI's launcher comes before Slurm, whose
// variables it inherits.
template <typename Get>
LauncherClaim launcher_claim(const Get& get) {
  const auto number = [&](const char* name) {
    const char* text = get(name);
    return text == nullptr ? 0 : std::atoi(text);
  };
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})
    if (const int ranks = number(name); ranks > 0) return {name, ranks};
  return {};
}
inline LauncherClaim launcher_claim() {
  return launcher_claim([](const char* name) -> const char* { return std::getenv(name); });
}

// Fails when the launcher started several processes and this process's MPI joined none of them:
// the program is linked with another MPI than the one whose launcher started it.
inline void check_launcher(const LauncherClaim& claim, int world_size) {
  if (claim.ranks <= 1 || world_size != 1) return;
  throw Error(heddleInvalidUsage,
              "launcher says " + std::to_string(claim.ranks) + ", this process sees 1 (" +
                  claim.variable + "=" + std::to_string(claim.ranks) +
                  ", MPI_COMM_WORLD has 1 rank): start the program with the launcher of the MPI it "
                  "is linked with");
}

inline void check_mpi(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(result, text, &length);
  throw Error(heddleSystemError, std::string(call) + ": " + text);
}
}  // namespace detail

// Joins the ranks of `mpi`, with the same numbers. Collective over `mpi`, which may be any
// intracommunicator and may be freed afterwards. MPI must be initialised. Blocks and throws as
// Communicator::from_unique_id does; heddleSystemError when MPI fails, heddleInvalidUsage when the
// launcher that started this process is another MPI's, heddleRemoteError when rank 0 had no id.
inline Communicator from_mpi(MPI_Comm mpi, const Options& options = {}) {
  int world = 0, ranks = 0, rank = 0;
  detail::check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &world), "MPI_Comm_size");
  detail::check_launcher(detail::launcher_claim(), world);
  detail::check_mpi(MPI_Comm_size(mpi, &ranks), "MPI_Comm_size");
  detail::check_mpi(MPI_Comm_rank(mpi, &rank), "MPI_Comm_rank");
  // A root that fails to make the id must still answer the broadcast, or the others would wait in
  // it for ever: it sends an empty id.
  heddleUniqueId id = {};
  std::string failure;
  if (rank == 0) {
    try {
      id = UniqueId::make().get();
    } catch (const Error& error) {
      failure = error.what();
    }
  }
  detail::check_mpi(MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, mpi), "MPI_Bcast");
  if (id.internal[0] == '\0')
    throw Error(heddleRemoteError,
                rank == 0 ? failure : std::string("rank 0 could not make the unique id"));
  return Communicator::from_unique_id(
      UniqueId::from_string({id.internal, strnlen(id.internal, sizeof id.internal)}), ranks, rank,
      options);
}

}  // namespace heddle
