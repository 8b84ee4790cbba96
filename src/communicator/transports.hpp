// The process's transports, one of each kind (and of each provider), shared by its communicators
// and closed with the last of them.
#pragma once

#include <memory>

#include "base/settings.hpp"
#include "transport/pipe.hpp"

namespace heddle::communicator {

// Both return the one that is open already, if any: owners are the communicators that use it.
std::shared_ptr<transport::Transport> open_shared_memory();
// Logs provider and adapters. Fails when the provider that HEDDLE_PROVIDER names is not usable.
std::shared_ptr<transport::Transport> open_fabric(const base::Settings& settings);

// Fails as open_fabric would, without opening: a provider that was asked for must be there even
// when no rank needs it.
void check_provider(const base::Settings& settings);

}  // namespace heddle::communicator
