// The OFI_NCCL_ variables of another plugin, which people already set: what each of them is here.
// Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::nccl_net {

struct OfiVariable {
  std::string_view name;  // without OFI_NCCL_
  // What a value says in Heddle's words, "HEDDLE_RMA=0", or "" when it says nothing; null: the
  // variable is ignored.
  std::string (*meaning)(std::string_view value);
  // When it is null or says nothing: why, to follow "is ignored: ".
  std::string_view ignored_because;
};

std::span<const OfiVariable> ofi_variables();

struct OfiSettings {
  std::string overrides;           // as base::load_settings takes them
  std::vector<std::string> lines;  // one for each that is set, to be logged
};

// Reads an environment (as environ(7)). A HEDDLE_ variable that is set itself wins.
OfiSettings read_ofi_variables(const char* const* environment);

}  // namespace heddle::nccl_net
