// Which of the adapters that could be used become rails: HEDDLE_RAILS. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "transport/fabric/adapter.hpp"

namespace heddle::transport::fabric {

// `asked` is "all", a number ("4": the first four in rail order, all when there are fewer) or names
// ("rdmap16s27,rdmap32s27", in any order; rail order stays). Returns indices into `adapters`, which
// stand in rail order, ascending.
// Fails with heddleInvalidArgument, listing the adapters there are, for a name that is none of them
// or is empty.
std::vector<std::size_t> choose_rails(const std::string& asked, std::span<const Adapter> adapters);

// What to say when `asked` is a number and more than the `rails` that were chosen; else "".
std::string fewer_rails(const std::string& asked, std::size_t rails);

}  // namespace heddle::transport::fabric
