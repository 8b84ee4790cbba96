// The ways into a communicator: a unique id, or the launcher's environment.
#pragma once

#include <memory>
#include <string_view>

#include "base/settings.hpp"
#include "communicator/communicator.hpp"

namespace heddle::communicator {

// Settings of this process's environment and then `overrides`; configures the log and warns of
// misspelt names, each once.
base::Settings read_settings(std::string_view overrides);

// Starts a root in this process.
heddleUniqueId make_unique_id(const base::Settings& settings);

std::shared_ptr<Communicator> join_by_id(const heddleUniqueId& id, int rank, int ranks,
                                         const base::Settings& settings);
std::shared_ptr<Communicator> join_by_environment(const base::Settings& settings);

}  // namespace heddle::communicator
