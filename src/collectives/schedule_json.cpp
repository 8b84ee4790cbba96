#include "collectives/schedule_json.hpp"

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_lines.hpp"
#include "base/parse_json.hpp"
#include "base/text.hpp"
#include "collectives/text.hpp"
#include "collectives/verify.hpp"

namespace heddle::collectives {
namespace {

using Json = nlohmann::ordered_json;
using base::JsonLines;

constexpr int kForm = 1;  // of the file, its "heddle_schedule"

class Reader {
 public:
  Reader(const Json& json, const std::string& name, const JsonLines& lines)
      : json_(json), name_(name), lines_(lines) {}

  Schedule read() {
    allow(json_, "",
          {"heddle_schedule", "collective", "ranks", "channels", "root", "ranks_per_host", "pieces",
           "parts", "lanes"});
    const int form = whole(json_, "", "heddle_schedule", kForm, kForm);
    (void)form;
    Schedule schedule{};
    Shape& shape = schedule.shape;
    const std::string collective = text(member(json_, "", "collective"), "collective");
    const auto known = base::collective_named(collective);
    if (!known)
      refuse("collective", fmt::format("\"{}\" is not known; allowed are {}", collective,
                                       base::known_collectives()));
    shape.collective = *known;
    shape.ranks = whole(json_, "", "ranks", 1, kMost);
    shape.channels = whole(json_, "", "channels", 1, kMost);
    shape.root = json_.contains("root") ? whole(json_, "", "root", 0, shape.ranks - 1) : 0;
    if (json_.contains("ranks_per_host"))
      shape.ranks_per_host = whole(json_, "", "ranks_per_host", 0, shape.ranks);
    schedule.pieces = whole(json_, "", "pieces", 1, kMost);
    schedule.parts = json_.contains("parts") ? whole(json_, "", "parts", 1, kMost) : 1;
    read_lanes(schedule);
    return schedule;
  }

 private:
  static constexpr int kMost = 1 << 20;

  [[noreturn]] void refuse(const std::string& path, const std::string& what) const {
    const auto found = lines_.find(path);
    base::fail(heddleInvalidArgument, "{}:{}: {}{}{}", name_,
               found != lines_.end() ? found->second : 1, path, path.empty() ? "" : ": ", what);
  }
  void allow(const Json& object, const std::string& path,
             std::initializer_list<std::string_view> names) const {
    if (!object.is_object()) refuse(path, fmt::format("is {}; an object is needed", brief(object)));
    for (const auto& [name, unused] : object.items()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      refuse(base::member_path(path, name),
             fmt::format("is not known; allowed here: {}", fmt::join(names, ", ")));
    }
  }
  // A value in a message, short.
  static std::string brief(const Json& json) {
    const std::string text = json.dump();
    return text.size() <= 40 ? text : text.substr(0, 37) + "...";
  }
  const Json& member(const Json& object, const std::string& path, const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) refuse(path, fmt::format("lacks \"{}\"", name));
    return *found;
  }
  int whole(const Json& object, const std::string& path, const char* name, int low,
            int high) const {
    const Json& json = member(object, path, name);
    const bool fits =
        json.is_number_integer() && json.get<double>() >= low && json.get<double>() <= high;
    if (!fits)
      refuse(base::member_path(path, name), fmt::format("is {}; a whole number from {} to {} is "
                                                        "needed",
                                                        brief(json), low, high));
    return json.get<int>();
  }
  std::string text(const Json& json, const std::string& path) const {
    if (!json.is_string()) refuse(path, fmt::format("is {}; a text is needed", brief(json)));
    return json.get<std::string>();
  }
  const Json& list(const Json& json, const std::string& path, std::size_t size) const {
    if (!json.is_array()) refuse(path, fmt::format("is {}; a list is needed", brief(json)));
    if (size != kAnySize && json.size() != size)
      refuse(path, fmt::format("has {} entries; {} are needed", json.size(), size));
    return json;
  }

  void read_lanes(Schedule& schedule) const {
    const Json& ranks =
        list(member(json_, "", "lanes"), "lanes", static_cast<std::size_t>(schedule.shape.ranks));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const std::string path = fmt::format("lanes[{}]", rank);
      const Json& channels =
          list(ranks[rank], path, static_cast<std::size_t>(schedule.shape.channels));
      auto& lanes = schedule.lanes.emplace_back();
      for (std::size_t channel = 0; channel < channels.size(); ++channel)
        lanes.push_back(read_lane(channels[channel], fmt::format("{}[{}]", path, channel)));
    }
  }
  Lane read_lane(const Json& json, const std::string& path) const {
    Lane lane;
    for (std::size_t i = 0; i < list(json, path, kAnySize).size(); ++i)
      lane.push_back(read_move(json[i], fmt::format("{}[{}]", path, i)));
    return lane;
  }
  Move read_move(const Json& json, const std::string& path) const {
    allow(json, path, {"piece", "from", "to", "completes"});
    Move move{whole(json, path, "piece", 0, kMost), {}, {}};
    read_ends(json, path, "from", move.sources);
    read_ends(json, path, "to", move.destinations);
    if (json.contains("completes")) {
      if (!json["completes"].is_boolean())
        refuse(base::member_path(path, "completes"),
               fmt::format("is {}; true or false is needed", brief(json["completes"])));
      move.completes = json["completes"].get<bool>();
    }
    return move;
  }
  void read_ends(const Json& move, const std::string& path, const char* name,
                 std::vector<End>& ends) const {
    const std::string here = base::member_path(path, name);
    const Json& json = list(member(move, path, name), here, kAnySize);
    for (std::size_t i = 0; i < json.size(); ++i)
      ends.push_back(read_end(json[i], fmt::format("{}[{}]", here, i)));
  }
  // The words of to_text(End).
  End read_end(const Json& json, const std::string& path) const {
    const std::string written = text(json, path);
    std::string_view rest = written;
    const bool more = rest.ends_with(" ...");
    if (more) rest.remove_suffix(4);
    constexpr std::array<std::pair<std::string_view, End::Where>, 3> kinds = {
        {{"input ", End::Where::input},
         {"output ", End::Where::output},
         {"peer ", End::Where::peer}}};
    for (const auto& [word, where] : kinds) {
      if (!rest.starts_with(word)) continue;
      rest.remove_prefix(word.size());
      int index = 0;
      if (base::parse_number(rest, index) && index >= 0 && index <= kMost)
        return {where, index, more};
    }
    refuse(path, fmt::format("is \"{}\"; needed is \"input N\", \"output N\", \"peer N\" or \"peer "
                             "N ...\"",
                             written));
  }

  static constexpr std::size_t kAnySize = std::numeric_limits<std::size_t>::max();

  const Json& json_;
  const std::string& name_;
  const JsonLines& lines_;
};

Json ends_json(const std::vector<End>& ends) {
  Json json = Json::array();
  for (const End& end : ends) json.push_back(to_text(end));
  return json;
}

std::string move_json(const Move& move) {
  Json json;
  json["piece"] = move.piece;
  json["from"] = ends_json(move.sources);
  json["to"] = ends_json(move.destinations);
  if (move.completes) json["completes"] = true;
  return json.dump();
}

std::string lane_json(const Lane& lane) {
  std::string text = "[";
  for (std::size_t i = 0; i < lane.size(); ++i)
    text += fmt::format("{}\n      {}", i == 0 ? "" : ",", move_json(lane[i]));
  return text + "]";
}

void prove(const Schedule& schedule, const std::string& name, int slots) {
  for (const bool in_place : {false, true})
    if (const auto fault = verify(schedule, {.slots = slots, .in_place = in_place}))
      base::fail(heddleInvalidArgument, "{}: {}: {}{}", name, name_of(fault->kind), fault->text,
                 in_place ? " (in place)" : "");
}

}  // namespace

Schedule schedule_from_json(std::string_view text, const std::string& name, int slots) {
  const auto json = base::parse_json<Json>(text, name);
  const JsonLines lines = base::json_lines(text, name);
  Schedule schedule = Reader(json, name, lines).read();
  prove(schedule, name, slots);
  return schedule;
}

Schedule load_schedule(const std::string& path, int slots) {
  return schedule_from_json(base::read_file(path, path), path, slots);
}

std::string to_json(const Schedule& schedule) {
  const Shape& shape = schedule.shape;
  std::string text = fmt::format("{{\n  \"heddle_schedule\": {},\n  \"collective\": \"{}\",\n",
                                 kForm, base::name_of(shape.collective));
  text += fmt::format("  \"ranks\": {},\n  \"channels\": {},\n  \"root\": {},\n", shape.ranks,
                      shape.channels, shape.root);
  text += fmt::format("  \"ranks_per_host\": {},\n  \"pieces\": {},\n  \"parts\": {},\n",
                      shape.ranks_per_host, schedule.pieces, schedule.parts);
  text += "  \"lanes\": [";
  for (std::size_t rank = 0; rank < schedule.lanes.size(); ++rank) {
    text += rank == 0 ? "\n    [" : ",\n    [";
    for (std::size_t channel = 0; channel < schedule.lanes[rank].size(); ++channel)
      text += (channel == 0 ? "" : ", ") + lane_json(schedule.lanes[rank][channel]);
    text += "]";
  }
  return text + "\n  ]\n}\n";
}

}  // namespace heddle::collectives
