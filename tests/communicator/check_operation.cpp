#include "check_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
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
    const auto is_zone = [](std::byte byte) { return byte == kZoneByte; };
    const auto begin = storage_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(storage_.begin(), begin, is_zone) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), is_zone);
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> storage_;
  std::size_t begin_;
};

bool same(const Operation& a, const Operation& b) {
  return a.collective == b.collective && a.type == b.type && a.op == b.op && a.ranks == b.ranks &&
         a.count == b.count;
}

// The model of an operation, made once for the ranks that are threads of this process: a model
// costs more than the operation, and all ranks check the same few at a time.
std::shared_ptr<const Model> shared_model(const Operation& operation) {
  static std::mutex mutex;
  static std::deque<std::pair<Operation, std::shared_ptr<const Model>>> recent;
  constexpr std::size_t kKept = 4;  // ranks are rarely further apart
  const std::lock_guard lock(mutex);
  for (const auto& [known, model] : recent)
    if (same(known, operation)) return model;
  if (recent.size() == kKept) recent.pop_front();
  return recent.emplace_back(operation, std::make_shared<const Model>(operation)).second;
}

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
  const auto model = shared_model(operation);
  const auto input = model->input(rank);
  if (!input.empty()) std::memcpy(send, input.data(), input.size());
  call(communicator, operation, send, receive);
  const std::string wrong = model->wrong(rank, receive);
  if (!wrong.empty())
    expect(false, fmt::format("{} of {} ranks, {} {}, {} elements, {}: {}",
                              base::name_of(operation.collective), operation.ranks,
                              base::name_of(operation.type), base::name_of(operation.op),
                              operation.count, in_place ? "in place" : "out of place", wrong));
  expect(first.intact() && second.intact(), "a red zone was written");
}

}  // namespace heddle::test
