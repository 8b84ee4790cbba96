#include "tune/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace heddle::bench::tune {
namespace {

constexpr double kMicro = 1e6;

nlohmann::ordered_json json_of(const Candidate& candidate, double seconds) {
  return {{"algorithm", candidate.algorithm},
          {"channels", candidate.channels},
          {"chunk_bytes", candidate.message_bytes},
          {"us", seconds * kMicro}};
}

}  // namespace

Compared compare(const Outcome& outcome, const Candidate& tuned, const Candidate& model) {
  const Timed& of_tuned = *outcome.find(tuned);
  return {outcome.cell,
          outcome.best().candidate,
          tuned,
          model,
          outcome.best().median(),
          of_tuned.median(),
          outcome.find(model)->median(),
          static_cast<int>(outcome.timed.size()),
          static_cast<int>(of_tuned.samples.size())};
}

Shares shares_of(const std::vector<Compared>& cells) {
  if (cells.empty()) return {};
  const auto share = [&](double (Compared::*ratio)() const) {
    const auto close = std::count_if(cells.begin(), cells.end(), [&](const Compared& cell) {
      return (cell.*ratio)() <= kClose;
    });
    return static_cast<double>(close) / static_cast<double>(cells.size());
  };
  return {share(&Compared::tuned_ratio), share(&Compared::model_ratio)};
}

std::string comparison_text(const std::vector<Compared>& cells) {
  std::string text = fmt::format(
      "# {:<14} {:>9}  {:<32} {:>10}  {:<32} {:>10} {:>5}  {:<32} {:>5}\n", "collective", "size",
      "best", "us", "tuned pick", "us", "/best", "model's pick", "/best");
  for (const Compared& cell : cells)
    text += fmt::format(
        "  {:<14} {:>9}  {:<32} {:>10.1f}  {:<32} {:>10.1f} {:>5.2f}  {:<32} {:>5.2f}\n",
        base::name_of(cell.cell.collective), base::bytes_text(cell.cell.bytes), cell.best.text(),
        cell.best_seconds * kMicro, cell.tuned.text(), cell.tuned_seconds * kMicro,
        cell.tuned_ratio(), cell.model.text(), cell.model_ratio());
  const Shares shares = shares_of(cells);
  return text + fmt::format(
                    "# Within 5 % of the best: the tuned pick at {:.0f} % of {} sizes, the "
                    "model's at {:.0f} %\n",
                    100 * shares.tuned, cells.size(), 100 * shares.model);
}

std::string comparison_json(const std::vector<Compared>& cells, const World& world) {
  nlohmann::ordered_json json = {{"hosts", world.hosts}, {"ranks", world.ranks}};
  json["cells"] = nlohmann::ordered_json::array();
  for (const Compared& cell : cells)
    json["cells"].push_back({{"collective", base::name_of(cell.cell.collective)},
                             {"bytes", cell.cell.bytes},
                             {"best", json_of(cell.best, cell.best_seconds)},
                             {"tuned", json_of(cell.tuned, cell.tuned_seconds)},
                             {"model", json_of(cell.model, cell.model_seconds)},
                             {"tuned_over_best", cell.tuned_ratio()},
                             {"model_over_best", cell.model_ratio()},
                             {"candidates", cell.measured},
                             {"samples", cell.samples}});
  const Shares shares = shares_of(cells);
  json["within_5_percent"] = {{"tuned", shares.tuned}, {"model", shares.model}};
  return json.dump(2) + "\n";
}

}  // namespace heddle::bench::tune
