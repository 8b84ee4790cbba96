#include "communicator/operation.hpp"

#include <fmt/format.h>

namespace heddle::communicator {

std::string Operation::describe() const {
  const auto& buffers = call.buffers;
  const std::string op = base::reduces(call.collective)
                             ? fmt::format(" {}", base::name_of(buffers.op))
                             : std::string();
  return fmt::format("{} #{} ({}{}, {} elements)", base::name_of(call.collective), number,
                     base::name_of(buffers.type), op, buffers.count);
}

}  // namespace heddle::communicator
