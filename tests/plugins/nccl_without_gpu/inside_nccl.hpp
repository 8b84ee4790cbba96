// What NCCL does with a net plugin before it needs a GPU, by the functions of its own that do it:
// loading, and the all-gather of its bootstrap. They are not exported; the symbol table of the
// library has them. NCCL_LIBRARY is its file.
//
// NCCL's communicator is memory of zeros here with the members set that these functions read. Where
// they lie differs between versions: loading needs none of them, the bootstrap those of Layout.
#pragma once

#include <dlfcn.h>
#include <elf.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace inside_nccl {

struct Layout {
  int version;
  std::size_t rank, ranks, bootstrap, shared;
};
inline constexpr Layout kLayouts[] = {{22809, 0x1044d0, 0x1044d4, 0x6708, 0x88}};

using UniqueId = std::array<char, 128>;

class Library {
 public:
  // `missing` is why it cannot be used, "" when it can.
  Library() : library_(dlopen(NCCL_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) {
      missing = dlerror();
      return;
    }
    auto* const get_version = exported<int(int*)>("ncclGetVersion");
    unique_id = exported<int(UniqueId*)>("ncclGetUniqueId");
    if (get_version != nullptr) get_version(&version);
    for (const Layout& one : kLayouts)
      if (one.version == version) layout = &one;
    Dl_info about{};
    dladdr(reinterpret_cast<void*>(get_version), &about);
    read_symbols(static_cast<char*>(about.dli_fbase));
  }

  template <typename Function>
  Function* exported(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  std::string missing;
  int version = 0;
  const Layout* layout = nullptr;  // null: of another version
  int (*unique_id)(UniqueId*) = nullptr;
  int (*net_init)(void* comm) = nullptr;
  int (*net_finalize)(void* comm) = nullptr;
  int (*bootstrap_net_init)() = nullptr;
  int (*bootstrap_init)(int ids, void* id, void* comm) = nullptr;
  int (*bootstrap_all_gather)(void* bootstrap, void* all, int bytes) = nullptr;
  int (*bootstrap_close)(void* bootstrap) = nullptr;

 private:
  void read_symbols(char* base) {
    std::ifstream file(NCCL_LIBRARY, std::ios::binary);
    const auto read = [&](auto& to, std::size_t at, std::size_t bytes) {
      file.seekg(static_cast<std::streamoff>(at));
      file.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(bytes));
    };
    Elf64_Ehdr header{};
    Elf64_Ehdr* const to_header = &header;
    read(to_header, 0, sizeof header);
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    auto* const to_sections = sections.data();
    read(to_sections, header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    for (const Elf64_Shdr& section : sections) {
      if (section.sh_type != SHT_SYMTAB) continue;
      std::vector<Elf64_Sym> symbols(section.sh_size / sizeof(Elf64_Sym));
      auto* const to_symbols = symbols.data();
      read(to_symbols, section.sh_offset, section.sh_size);
      const Elf64_Shdr& texts = sections[section.sh_link];
      std::vector<char> names(texts.sh_size);
      auto* const to_names = names.data();
      read(to_names, texts.sh_offset, names.size());
      for (const Elf64_Sym& symbol : symbols) take(&names[symbol.st_name], base + symbol.st_value);
    }
    if (net_init == nullptr || net_finalize == nullptr)
      missing = std::string(NCCL_LIBRARY) + " tells no names of its own functions";
  }

  void take(const char* name, char* address) {
    const auto is = [&](const char* wanted, auto& function) {
      if (std::strcmp(name, wanted) == 0)
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(address);
    };
    is("_Z11ncclNetInitP8ncclComm", net_init);
    is("_Z15ncclNetFinalizeP8ncclComm", net_finalize);
    is("_Z16bootstrapNetInitv", bootstrap_net_init);
    is("_Z13bootstrapInitiPvP8ncclComm", bootstrap_init);
    is("_Z18bootstrapAllGatherPvS_i", bootstrap_all_gather);
    is("_Z14bootstrapClosePv", bootstrap_close);
  }

  void* library_;
};

class Communicator {
 public:
  void* data() { return memory_.get(); }
  void set(const Layout& layout, int rank, int ranks) {
    std::memcpy(memory_.get() + layout.rank, &rank, sizeof rank);
    std::memcpy(memory_.get() + layout.ranks, &ranks, sizeof ranks);
    void* const shared = shared_.get();
    std::memcpy(memory_.get() + layout.shared, &shared, sizeof shared);
  }
  void* bootstrap(const Layout& layout) const {
    void* found;
    std::memcpy(&found, memory_.get() + layout.bootstrap, sizeof found);
    return found;
  }

 private:
  static constexpr std::size_t kMuch = std::size_t{16} << 20;
  std::unique_ptr<std::byte[]> memory_ = std::make_unique<std::byte[]>(kMuch);
  std::unique_ptr<std::byte[]> shared_ = std::make_unique<std::byte[]>(kMuch);
};

}  // namespace inside_nccl
