// Hierarchical all-reduce, all-gather and reduce-scatter: the ranks of a host exchange among
// themselves, and between hosts each rank talks only to the ranks of its own local index, its rail.
// So the network carries what one rank of l would otherwise send l times, on l rails at once.
//
// With l ranks a host, H hosts, and two algorithms, one inside the hosts and one between them:
//
//   all-reduce      reduce-scatter inside, all-reduce between on 1/l of the data, all-gather inside
//   reduce-scatter  reduce-scatter inside, reduce-scatter between
//   all-gather      all-gather between, all-gather inside
//
// Every pair "hierarchical:INNER+OUTER" of which these are true is one. The inner algorithm has
// both the reduce-scatter and the all-gather, and an input or output end in each of its moves, by
// which the move's chunk is known (ring, one-shot). The outer one has at least one of the three
// collectives, and the pair has those. "hierarchical" alone picks both by the ranks and hosts.
//
// The lane is that of the outer algorithm between H ranks, rewritten. Where it reads its input, it
// reads instead what the last move of the inner reduce-scatter does, in the same pass; where it
// writes a result, it also writes what the first move of the inner all-gather does. Nothing is
// stored in between, but for outer algorithms that read their input twice: the sum of the host then
// lies in the output meanwhile.
//
// A unit is a chunk of the outer algorithm, and l chunks inside the host, one for each rank: for
// all-reduce l pieces in a row, else l blocks in a row. Units go through their phases one by one,
// with two exceptions, so that no rank waits for the others of its host before it uses the network:
// what the next unit sends without having received goes ahead of this unit's move, and the receives
// of a result are put off until the next result has gone out.
//
//   steps                 those of the outer algorithm plus 2 (one-shot inside) or 2 (l - 1) (ring)
//   bytes sent by a rank  2 (l - 1) / l * m inside, 2 (H - 1) / H * m / l between by ring
//   price                 that of the outer algorithm for m / l, plus 2 (l - 1) / l * m * beta
//                         (inside), with all channels but one hidden behind the network
//
// It cannot deadlock with two slots: all ranks of a host go through the same phases in the same
// order, since the outer algorithm gives all of them the same lane. So a host does what one rank of
// the outer algorithm does, phase after phase, and where that has an order in which all its moves
// can run, it is one for the hosts too. A pipe inside the host then holds the message of one phase
// and one that went ahead, or two results.
//
// Sources: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 19 (2005), for the parts; Jia et al., "Highly scalable deep learning training
// system with mixed-precision", arXiv:1807.11205 (2018), section 3.3, for the three phases; Cho et
// al., "BlueConnect", MLSys 2019, for the exchange between equal local ranks.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "collectives/generators.hpp"

namespace heddle::collectives {
namespace {

constexpr auto kAllReduce = base::Collective::all_reduce;
constexpr auto kAllGather = base::Collective::all_gather;
constexpr auto kReduceScatter = base::Collective::reduce_scatter;

struct Levels {
  const Algorithm* inner;
  const Algorithm* outer;
};

Shape between_hosts(const Shape& shape) {
  return {shape.collective, shape.ranks / shape.ranks_per_host, shape.channels};
}

// What a move of the outer lane means for the phases inside the host.
struct Step {
  bool opens = false;    // reads its unit's input first: the reduce-scatter comes before
  bool stores = false;   // and another move will read it again
  bool closes = false;   // writes its unit's result: the all-gather comes after
  std::size_t sent = 0;  // moves of the reduce-scatter that are in the lane
};

bool is_peer(const End& end) { return end.where == End::Where::peer; }
bool receives(const Move& move) {
  return std::any_of(move.sources.begin(), move.sources.end(), is_peer);
}
bool sends(const Move& move) {
  return std::any_of(move.destinations.begin(), move.destinations.end(), is_peer);
}
// Null when no end is of that buffer.
const End* find(const std::vector<End>& ends, End::Where where) {
  for (const End& end : ends)
    if (end.where == where) return &end;
  return nullptr;
}

class Composer {
 public:
  Composer(const Levels& levels, const Shape& shape, int rank, int channel)
      : collective_(shape.collective),
        local_(shape.ranks_per_host),
        index_(rank % local_),
        host_(rank / local_),
        outer_(levels.outer->lane(between_hosts(shape), host_, channel)),
        steps_(outer_.size()) {
    if (base::reduces(collective_))
      scatter_ = levels.inner->lane({kReduceScatter, local_, 1}, index_, 0);
    if (collective_ != kReduceScatter)
      gather_ = levels.inner->lane({kAllGather, local_, 1}, index_, 0);
    while (!scatter_.empty() && !receives(scatter_[leading_])) ++leading_;
    for (std::size_t m = 1; m < gather_.size(); ++m) forwards_ |= sends(gather_[m]);
    mark_steps();
  }

  Lane compose() {
    for (std::size_t s = 0; s < outer_.size(); ++s) {
      if (steps_[s].opens) {
        collect();
        contribute(s, scatter_.size() - 1);
        send_ahead(s);
      }
      lane_.push_back(rewritten(s));
      if (!steps_[s].closes) continue;
      collect();
      uncollected_ = &outer_[s];
      if (forwards_) collect();
    }
    collect();
    return std::move(lane_);
  }

 private:
  void mark_steps() {
    std::map<int, std::size_t> first_read;  // by unit
    std::map<int, std::size_t> last_written;
    for (std::size_t s = 0; s < outer_.size(); ++s) {
      // The pieces are an all-reduce's units; the others read and write each block once.
      const int unit = collective_ == kAllReduce ? outer_[s].piece : static_cast<int>(s);
      if (!scatter_.empty() && find(outer_[s].sources, End::Where::input) != nullptr) {
        const auto [first, is_first] = first_read.try_emplace(unit, s);
        (is_first ? steps_[s].opens : steps_[first->second].stores) = true;
      }
      if (!gather_.empty() && find(outer_[s].destinations, End::Where::output) != nullptr)
        last_written[unit] = s;
    }
    for (const auto& [unit, s] : last_written) steps_[s].closes = true;
  }

  // The moves of a unit's reduce-scatter up to `end`; the last one becomes a part of the outer
  // move.
  void contribute(std::size_t s, std::size_t end) {
    for (; steps_[s].sent < end; ++steps_[s].sent)
      lane_.push_back(scattering(scatter_[steps_[s].sent], outer_[s]));
  }

  // What the next unit sends must not overtake a result on the pipes inside the host.
  void send_ahead(std::size_t s) {
    for (; s + 1 < outer_.size() && !steps_[s].closes; ++s)
      if (steps_[s + 1].opens) return contribute(s + 1, leading_);
  }

  // The rest of the all-gather of the last result.
  void collect() {
    const Move* unit = std::exchange(uncollected_, nullptr);
    for (std::size_t m = 1; unit != nullptr && m < gather_.size(); ++m)
      lane_.push_back(gathering(gather_[m], *unit));
  }

  int piece_of(const Move& unit, int owner) const {
    if (collective_ != kAllReduce) return unit.piece;
    // The ranks' pieces in turn, so that a message that fills only the first few uses all rails.
    return unit.piece * local_ + owner;
  }
  // Where chunk `owner` of a unit lies; `unit` is the block of the outer algorithm.
  End input_of(int unit, int owner) const {
    return input(collective_ == kReduceScatter ? unit * local_ + owner : 0);
  }
  End output_of(int unit, int owner) const {
    return output(collective_ == kAllGather ? unit * local_ + owner : 0);
  }
  End on_host(const End& end) const { return peer(host_ * local_ + end.index, end.more); }
  End on_rail(const End& end) const { return peer(end.index * local_ + index_, end.more); }

  Move scattering(const Move& move, const Move& unit) const {
    const int owner = find(move.sources, End::Where::input)->index;
    const int block = find(unit.sources, End::Where::input)->index;
    Move mapped{piece_of(unit, owner), {}, {}};
    for (const End& end : move.sources)
      mapped.sources.push_back(is_peer(end) ? on_host(end) : input_of(block, owner));
    for (const End& end : move.destinations) mapped.destinations.push_back(on_host(end));
    return mapped;
  }

  Move gathering(const Move& move, const Move& unit) const {
    const End* written = find(move.destinations, End::Where::output);
    const int owner = written != nullptr ? written->index : index_;
    const int block = find(unit.destinations, End::Where::output)->index;
    Move mapped{piece_of(unit, owner), {}, {}};
    for (const End& end : move.sources)
      mapped.sources.push_back(is_peer(end) ? on_host(end) : output_of(block, owner));
    for (const End& end : move.destinations)
      mapped.destinations.push_back(is_peer(end) ? on_host(end) : output_of(block, owner));
    return mapped;
  }

  // The outer move, with what comes before and after it inside the host.
  Move rewritten(std::size_t s) const {
    const Move& unit = outer_[s];
    Move move{piece_of(unit, index_), {}, {}, unit.completes};
    for (const End& end : unit.sources) {
      if (is_peer(end)) {
        move.sources.push_back(on_rail(end));
      } else if (end.where == End::Where::input && steps_[s].opens) {
        for (const End& source : scatter_.back().sources)
          move.sources.push_back(is_peer(source) ? on_host(source) : input_of(end.index, index_));
      } else if (end.where == End::Where::input && scatter_.empty()) {
        move.sources.push_back(input(0));
      } else {
        move.sources.push_back(output_of(end.index, index_));
      }
    }
    bool written = false;
    for (const End& end : unit.destinations) {
      written |= !is_peer(end);
      move.destinations.push_back(is_peer(end) ? on_rail(end) : output_of(end.index, index_));
    }
    if (steps_[s].stores && !written)
      move.destinations.insert(move.destinations.begin(), output(0));
    if (steps_[s].closes)
      for (const End& end : gather_.front().destinations)
        if (is_peer(end)) move.destinations.push_back(on_host(end));
    return move;
  }

  const base::Collective collective_;
  const int local_;  // ranks of a host
  const int index_;  // of this rank on its host
  const int host_;
  const Lane outer_;
  std::vector<Step> steps_;  // of the moves of outer_
  Lane scatter_;             // inside the host; empty when the collective has no such phase
  Lane gather_;
  std::size_t leading_ = 0;            // moves of scatter_ before the first that receives
  bool forwards_ = false;              // gather_ has sends after its first move
  const Move* uncollected_ = nullptr;  // the move that wrote the result still to be gathered
  Lane lane_;
};

// Inside: one-shot takes two steps, while a ring needs only the links between neighbours.
// Between: a ring has the fewest bytes and needs a piece for each host; beyond a few hosts, its
// 2 (H - 1) steps and H pieces cost more than the tree's little more bytes.
constexpr int kMaxDirectRanks = 16;
constexpr int kMaxRingHosts = 8;

Levels usual_levels(const Shape& shape) {
  const bool few = shape.ranks / shape.ranks_per_host <= kMaxRingHosts;
  return {shape.ranks_per_host <= kMaxDirectRanks ? &kOneShot : &kRing,
          few                              ? &kRing
          : shape.collective == kAllReduce ? &kTree
                                           : &kAggregatedTrees};
}

bool is_composed(base::Collective c) {
  return c == kAllReduce || c == kAllGather || c == kReduceScatter;
}

bool can_be_inner(const Algorithm& algorithm) {
  return algorithm.supports(kReduceScatter) && algorithm.supports(kAllGather) && algorithm.uneven;
}
bool can_be_outer(const Algorithm& algorithm) {
  return algorithm.supports(kAllReduce) || algorithm.supports(kAllGather) ||
         algorithm.supports(kReduceScatter);
}

int pieces_of(const Levels& levels, const Shape& shape) {
  return levels.outer->pieces(between_hosts(shape)) *
         (shape.collective == kAllReduce ? shape.ranks_per_host : 1);
}

bool fits_between(const Levels& levels, const Shape& shape) {
  return levels.outer->fits(between_hosts(shape));
}

bool has_hosts(const Shape& shape) {
  return shape.ranks_per_host >= 2 && shape.ranks % shape.ranks_per_host == 0 &&
         shape.ranks > shape.ranks_per_host;
}

template <Levels (*LevelsOf)(const Shape&)>
Algorithm hierarchy(std::string_view name, bool (*supports)(base::Collective)) {
  return {
      .name = name,
      .supports = supports,
      .pieces = [](const Shape& shape) { return pieces_of(LevelsOf(shape), shape); },
      .lane = [](const Shape& shape, int rank,
                 int channel) { return Composer(LevelsOf(shape), shape, rank, channel).compose(); },
      .parts =
          [](const Shape& shape) { return LevelsOf(shape).outer->parts(between_hosts(shape)); },
      .fits =
          [](const Shape& shape) {
            return has_hosts(shape) && fits_between(LevelsOf(shape), shape);
          },
  };
}

// All hierarchies, with their names.
class Pairs {
 public:
  Pairs() {
    all_.push_back(hierarchy<usual_levels>("hierarchical", is_composed));
    add_inners(FlatAlgorithms{});
  }

  std::span<const Algorithm> all() const { return all_; }

 private:
  template <const Algorithm&... Inner>
  void add_inners(AlgorithmList<Inner...>) {
    (add_outers<Inner>(FlatAlgorithms{}), ...);
  }
  template <const Algorithm& Inner, const Algorithm&... Outer>
  void add_outers(AlgorithmList<Outer...>) {
    (add<Inner, Outer>(), ...);
  }
  template <const Algorithm& Inner, const Algorithm& Outer>
  void add() {
    if (!can_be_inner(Inner) || !can_be_outer(Outer)) return;
    names_.push_back("hierarchical:" + std::string(Inner.name) + "+" + std::string(Outer.name));
    all_.push_back(hierarchy<levels_of<Inner, Outer>>(
        names_.back(), [](base::Collective c) { return is_composed(c) && Outer.supports(c); }));
  }
  template <const Algorithm& Inner, const Algorithm& Outer>
  static Levels levels_of(const Shape&) {
    return {&Inner, &Outer};
  }

  std::deque<std::string> names_;  // stay where they are
  std::vector<Algorithm> all_;
};

}  // namespace

std::span<const Algorithm> hierarchies() {
  static const Pairs pairs;
  return pairs.all();
}

}  // namespace heddle::collectives
