#include "check_operation.hpp"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

namespace heddle::test {
namespace {

using base::Collective;

// The counts of one side, with displacements where the blocks do not follow each other.
Blocks blocks_of(const std::vector<std::size_t>& counts,
                 const std::vector<std::size_t>& displacements, const Placing& placing) {
  if (placing.gap == 0) return Blocks(counts);
  return Blocks(counts, displacements);
}

std::vector<std::size_t> counts_of_all(const Model& model) {
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < model.operation().ranks; ++rank)
    counts.push_back(model.output_counts(rank).at(0));
  return counts;
}

// The call itself: `operate.NAME(arguments)` for what the operation is.
struct Invocation {
  Communicator& communicator;
  const Model& model;
  const Operands& operands;
  const Placing& placing;

  ReduceOp op(const std::optional<PreScaledSum>& sum) const {
    if (sum) return ReduceOp(*sum);
    return ReduceOp(static_cast<Op>(model.operation().op));
  }

  void uneven(const ReduceOp& op) const {
    const Operation& o = model.operation();
    const Blocks sends = blocks_of(operands.send_counts(), operands.send_displacements(), placing);
    const Blocks receives =
        blocks_of(operands.receive_counts(), operands.receive_displacements(), placing);
    if (o.collective == Collective::all_gather)
      return communicator.all_gather_v(operands.send(), operands.receive(), receives, o.type);
    if (o.collective == Collective::reduce_scatter)
      return communicator.reduce_scatter_v(operands.send(), operands.receive(),
                                           counts_of_all(model), o.type, op);
    expect(o.collective == Collective::all_to_all, "there is no form with different lengths");
    communicator.all_to_all_v(operands.send(), sends, operands.receive(), receives, o.type);
  }

  void even(const ReduceOp& op) const {
    const Operation& o = model.operation();
    const void* send = operands.send();
    void* receive = operands.receive();
    switch (o.collective) {
      case Collective::all_reduce:
        return communicator.all_reduce(send, receive, o.count, o.type, op);
      case Collective::all_gather: return communicator.all_gather(send, receive, o.count, o.type);
      case Collective::reduce_scatter:
        return communicator.reduce_scatter(send, receive, o.count, o.type, op);
      case Collective::broadcast:
        return communicator.broadcast(send, receive, o.count, o.type, o.root);
      case Collective::reduce:
        return communicator.reduce(send, receive, o.count, o.type, op, o.root);
      case Collective::gather: return communicator.gather(send, receive, o.count, o.type, o.root);
      case Collective::scatter: return communicator.scatter(send, receive, o.count, o.type, o.root);
      case Collective::all_to_all: return communicator.all_to_all(send, receive, o.count, o.type);
    }
  }

  Work uneven_async(const ReduceOp& op) const {
    const Operation& o = model.operation();
    const Blocks sends = blocks_of(operands.send_counts(), operands.send_displacements(), placing);
    const Blocks receives =
        blocks_of(operands.receive_counts(), operands.receive_displacements(), placing);
    if (o.collective == Collective::all_gather)
      return communicator.all_gather_v_async(operands.send(), operands.receive(), receives, o.type);
    if (o.collective == Collective::reduce_scatter)
      return communicator.reduce_scatter_v_async(operands.send(), operands.receive(),
                                                 counts_of_all(model), o.type, op);
    expect(o.collective == Collective::all_to_all, "there is no form with different lengths");
    return communicator.all_to_all_v_async(operands.send(), sends, operands.receive(), receives,
                                           o.type);
  }

  Work even_async(const ReduceOp& op) const {
    const Operation& o = model.operation();
    const void* send = operands.send();
    void* receive = operands.receive();
    switch (o.collective) {
      case Collective::all_reduce:
        return communicator.all_reduce_async(send, receive, o.count, o.type, op);
      case Collective::all_gather:
        return communicator.all_gather_async(send, receive, o.count, o.type);
      case Collective::reduce_scatter:
        return communicator.reduce_scatter_async(send, receive, o.count, o.type, op);
      case Collective::broadcast:
        return communicator.broadcast_async(send, receive, o.count, o.type, o.root);
      case Collective::reduce:
        return communicator.reduce_async(send, receive, o.count, o.type, op, o.root);
      case Collective::gather:
        return communicator.gather_async(send, receive, o.count, o.type, o.root);
      case Collective::scatter:
        return communicator.scatter_async(send, receive, o.count, o.type, o.root);
      default: return communicator.all_to_all_async(send, receive, o.count, o.type);
    }
  }
};

}  // namespace

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void check_operation(Communicator& communicator, const Operation& operation, const Placing& placing,
                     Calls calls) {
  const auto model = shared_model(operation);
  const int rank = communicator.rank();
  const Operands operands(model, rank, placing);
  std::optional<PreScaledSum> sum;
  if (operation.scaled)
    sum.emplace(communicator.pre_scaled_sum(model->scale(rank).data(), operation.type));
  const Invocation invocation{communicator, *model, operands, placing};
  const ReduceOp op = invocation.op(sum);
  if (calls == Calls::blocking) {
    operation.uneven ? invocation.uneven(op) : invocation.even(op);
  } else {
    Work work = operation.uneven ? invocation.uneven_async(op) : invocation.even_async(op);
    sum.reset();  // an operation under way keeps its scalar
    work.wait();
  }
  const std::string wrong = operands.wrong();
  if (!wrong.empty())
    expect(false, fmt::format("{} of {} ranks, root {}, {} {}{}, {} elements{}, {}: {}",
                              base::name_of(operation.collective), operation.ranks, operation.root,
                              base::name_of(operation.type), base::name_of(operation.op),
                              operation.scaled ? " scaled" : "", operation.count,
                              operation.uneven ? " at most" : "",
                              placing.in_place ? "in place" : "out of place", wrong));
}

}  // namespace heddle::test
