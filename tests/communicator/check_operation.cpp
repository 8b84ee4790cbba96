#include "check_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace heddle::test {
namespace {

constexpr std::size_t kZone = 64;
constexpr auto kZoneByte = std::byte{0xa5};

class RedZoned {
 public:
  RedZoned(std::size_t bytes, std::size_t misaligned)
      : bytes_(bytes), storage_(bytes + 2 * kZone + 64 + misaligned, kZoneByte) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data()) + kZone;
    begin_ = kZone + (64 - address % 64) % 64 + misaligned;
  }
  std::byte* data() { return storage_.data() + begin_; }
  bool intact() const {
    for (std::size_t i = 0; i < storage_.size(); ++i)
      if ((i < begin_ || i >= begin_ + bytes_) && storage_[i] != kZoneByte) return false;
    return true;
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> storage_;
  std::size_t begin_;
};

void call(Communicator& communicator, const Operation& operation, const void* send, void* receive) {
  const auto op = static_cast<Op>(operation.op);
  switch (operation.collective) {
    case base::Collective::all_reduce:
      return communicator.all_reduce(send, receive, operation.count, operation.type, op);
    case base::Collective::all_gather:
      return communicator.all_gather(send, receive, operation.count, operation.type);
    case base::Collective::reduce_scatter:
      return communicator.reduce_scatter(send, receive, operation.count, operation.type, op);
  }
}

}  // namespace

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void check_operation(Communicator& communicator, const Operation& operation, bool in_place,
                     std::size_t misaligned) {
  const int rank = communicator.rank();
  const std::size_t element = base::size_of(operation.type);
  const auto blocks = [&](int count) { return static_cast<std::size_t>(count) * operation.count; };
  const std::size_t inputs = blocks(base::input_blocks(operation.collective, operation.ranks));
  const std::size_t outputs = blocks(base::output_blocks(operation.collective, operation.ranks));
  const std::size_t own = static_cast<std::size_t>(rank) * operation.count * element;
  RedZoned first(std::max(inputs, in_place ? outputs : 0) * element, misaligned);
  RedZoned second(in_place ? 0 : outputs * element, misaligned);
  std::byte* send = first.data();
  std::byte* receive = second.data();
  if (in_place) {
    receive = first.data();
    if (operation.collective == base::Collective::all_gather) send += own;
    if (operation.collective == base::Collective::reduce_scatter) receive += own;
  }
  const Model model(operation);
  const auto input = model.input(rank);
  if (!input.empty()) std::memcpy(send, input.data(), input.size());
  call(communicator, operation, send, receive);
  const std::string wrong = model.wrong(rank, receive);
  if (!wrong.empty())
    expect(false, fmt::format("{} of {} ranks, {} {}, {} elements, {}: {}",
                              base::name_of(operation.collective), operation.ranks,
                              base::name_of(operation.type), base::name_of(operation.op),
                              operation.count, in_place ? "in place" : "out of place", wrong));
  expect(first.intact() && second.intact(), "a red zone was written");
}

}  // namespace heddle::test
