#include "heddle_sim_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "collectives/extent.hpp"
#include "collectives/names.hpp"
#include "collectives/rounds.hpp"
#include "collectives/select.hpp"

namespace heddle::tools {
namespace {

// About half a minute of one core; 16 bytes of memory and as many for peers each.
constexpr double kMostMoves = 3e7;

struct Point {
  int ranks;
  double seconds;
  bool simulated;
};

class Curve {
 public:
  Curve(std::string algorithm, const SimOptions& options)
      : algorithm_(std::move(algorithm)), options_(options) {
    options_.algorithm = algorithm_;
    collectives::required_algorithm(algorithm_, "algorithm");
  }

  const std::string& algorithm() const { return algorithm_; }

  // The time, its bus bandwidth, and "~" where it is extrapolated.
  std::string cell(topology::Machine machine, int hosts) {
    machine.hosts = hosts;
    const int ranks = machine.ranks();
    const auto* algorithm = collectives::algorithm_named(algorithm_);
    const collectives::Shape shape{.collective = sim_collective(options_),
                                   .ranks = ranks,
                                   .channels = options_.channels,
                                   .ranks_per_host = machine.ranks_per_host};
    if (!can_do(*algorithm, shape)) return fmt::format("{:>12}  {:>6}", "-", "-");
    const bool small = steps(machine, *algorithm, shape) <= kMostMoves;
    if (!small && points_.size() < 2) return fmt::format("{:>12}  {:>6}", "too many", "-");
    points_.push_back(
        {ranks,
         small ? sim_row(machine, options_, options_.adapters, options_.max_bytes).seconds
               : line(ranks),
         small});
    const double busbw = static_cast<double>(options_.max_bytes) / points_.back().seconds * 1e-9 *
                         bus_factor(shape.collective, ranks);
    return fmt::format("{}{:>11.1f}  {:>6.2f}", small ? " " : "~", points_.back().seconds * 1e6,
                       busbw);
  }

  // How far the line is off at the last simulated point, drawn through the two before it.
  std::string note() const {
    const auto first =
        std::find_if(points_.begin(), points_.end(), [](const Point& p) { return !p.simulated; });
    if (first == points_.end()) return {};
    const auto known = first - points_.begin();
    std::string text = fmt::format(
        "# ~: {} beyond {} ranks is not simulated (more than {:.0e} moves) but extrapolated along "
        "the line through its last two simulated points",
        algorithm_, points_[static_cast<std::size_t>(known) - 1].ranks, kMostMoves);
    if (known >= 3) {
      const Point& at = points_[static_cast<std::size_t>(known) - 1];
      const double guess = through(points_[static_cast<std::size_t>(known) - 3],
                                   points_[static_cast<std::size_t>(known) - 2], at.ranks);
      text += fmt::format("; the same rule is {:+.1f}% off at {} ranks",
                          (guess / at.seconds - 1) * 100, at.ranks);
    }
    return text + "\n";
  }

 private:
  // The moves of all rounds; a move of many ends counts as many.
  double steps(const topology::Machine& machine, const collectives::Algorithm& algorithm,
               const collectives::Shape& shape) const {
    constexpr double kEndsOfMove = 4;
    const collectives::Extent extent = collectives::extent_of(algorithm, shape);
    const auto cut = collectives::cut_into_rounds(
        options_.max_bytes / 4, 4, static_cast<std::size_t>(algorithm.pieces(shape)),
        collectives::chunk_limit(machine.software.slot_bytes, algorithm.parts(shape)));
    return std::max(extent.moves, extent.ends / kEndsOfMove) * static_cast<double>(cut.rounds);
  }

  static double through(const Point& a, const Point& b, int ranks) {
    return b.seconds + (b.seconds - a.seconds) / (b.ranks - a.ranks) * (ranks - b.ranks);
  }

  double line(int ranks) const {
    std::vector<Point> simulated;
    for (const Point& point : points_)
      if (point.simulated) simulated.push_back(point);
    return through(simulated[simulated.size() - 2], simulated.back(), ranks);
  }

  std::string algorithm_;
  SimOptions options_;
  std::vector<Point> points_;
};

}  // namespace

void sim_scaling(const topology::Machine& machine, const SimOptions& options,
                 const std::function<void(const std::string&)>& print) {
  SimOptions fixed = options;
  if (fixed.channels == 0) fixed.channels = std::clamp(machine.adapters.count, 1, 4);
  std::vector<Curve> curves;
  for (const char* name : {"ring", "tree", "hierarchical"})
    if (options.algorithm.empty()) curves.emplace_back(name, fixed);
  if (!options.algorithm.empty()) curves.emplace_back(options.algorithm, fixed);
  std::string heads;
  for (const Curve& curve : curves) heads += fmt::format("  {:>20}", curve.algorithm());
  std::string units;
  for (std::size_t i = 0; i < curves.size(); ++i) units += "     time(us)   GB/s*";
  print(
      fmt::format("# SIMULATED, nothing here was measured: {} of {} bytes on hosts of {}, {}"
                  "\n# {:>7}  {:>7}{}\n# {:>7}  {:>7}{}   *bus bandwidth\n",
                  base::name_of(sim_collective(options)), options.max_bytes, machine.name,
                  base::counted(static_cast<std::size_t>(fixed.channels), "channel"), "ranks",
                  "hosts", heads, "", "", units));
  for (int hosts = 1; hosts * machine.ranks_per_host <= kMostScalingRanks; hosts *= 2) {
    std::string line = fmt::format("{:>9}  {:>7}", hosts * machine.ranks_per_host, hosts);
    for (Curve& curve : curves) line += "  " + curve.cell(machine, hosts);
    print(line + "\n");
  }
  for (const Curve& curve : curves) print(curve.note());
}

}  // namespace heddle::tools
