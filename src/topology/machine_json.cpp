#include "topology/machine_json.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json_lines.hpp"
#include "base/parse_json.hpp"
#include "topology/adapter_fields.hpp"

namespace heddle::topology {
namespace {

using base::json_lines;
using base::JsonLines;
using base::member_path;
using Json = nlohmann::ordered_json;

constexpr double kMicro = 1e-6;
constexpr double kGiga = 1e9;

// What a reading pass carries along.
struct File {
  const std::string& name;
  JsonLines lines;
  std::map<std::string, std::string>& origins;

  [[noreturn]] void refuse(const std::string& path, const std::string& what) const {
    const auto found = lines.find(path);
    const int line = found != lines.end() ? found->second : lines.find("")->second;
    base::fail(heddleInvalidArgument, "{}:{}: {}{}{}", name, line, path, path.empty() ? "" : ": ",
               what);
  }
};

// Reads the members of one object; done() refuses those that nobody asked for.
class Reader {
 public:
  Reader(File& file, const Json& json, std::string path)
      : file_(file), json_(json), path_(std::move(path)) {
    if (!json.is_object())
      file.refuse(path_, fmt::format("is {}; an object is needed", json.dump()));
  }

  void number(const char* member, double& value, double unit) {
    const Json* json = find(member);
    if (json == nullptr) return;
    if (!json->is_number()) wrong(member, *json, "a number");
    value = json->get<double>() * unit;
  }
  void whole(const char* member, int& value) {
    const Json* json = find(member);
    if (json == nullptr) return;
    if (!json->is_number_integer()) wrong(member, *json, "a whole number");
    const double read = json->get<double>();
    if (read < -1e9 || read > 1e9) wrong(member, *json, "a whole number up to 10^9");
    value = json->get<int>();
  }
  void bytes(const char* member, std::size_t& value) {
    const Json* json = find(member);
    if (json == nullptr) return;
    if (!json->is_number_unsigned()) wrong(member, *json, "a whole number of bytes");
    value = json->get<std::size_t>();
  }
  void truth(const char* member, bool& value) {
    const Json* json = find(member);
    if (json == nullptr) return;
    if (!json->is_boolean()) wrong(member, *json, "true or false");
    value = json->get<bool>();
  }
  void text(const char* member, std::string& value) {
    const Json* json = find(member);
    if (json == nullptr) return;
    if (!json->is_string()) wrong(member, *json, "a text");
    value = json->get<std::string>();
  }
  // One of the four above, by the type of the value.
  void any(const char* member, double& value, double unit) { number(member, value, unit); }
  void any(const char* member, int& value, double) { whole(member, value); }
  void any(const char* member, std::size_t& value, double) { bytes(member, value); }
  void any(const char* member, bool& value, double) { truth(member, value); }
  template <typename Read>
  void object(const char* member, Read read) {
    known_.insert(member);
    const auto found = json_.find(member);
    if (found == json_.end()) return;
    Reader inner(file_, *found, member_path(path_, member));
    read(inner);
    inner.done();
  }
  template <typename Item, typename Read>
  void list(const char* member, std::vector<Item>& items, Read read) {
    known_.insert(member);
    const auto found = json_.find(member);
    if (found == json_.end()) return;
    const std::string path = member_path(path_, member);
    if (!found->is_array()) wrong(member, *found, "a list");
    for (const Json& json : *found) {
      Reader inner(file_, json, fmt::format("{}[{}]", path, items.size()));
      read(inner, items.emplace_back());
      inner.done();
    }
  }
  // Required members; the others have the defaults of machine.hpp.
  void need(const char* member) const {
    if (!json_.contains(member)) file_.refuse(path_, fmt::format("lacks \"{}\"", member));
  }
  void done() const {
    for (const auto& [member, unused] : json_.items()) {
      if (known_.contains(member)) continue;
      std::string allowed;
      for (const std::string& name : known_) allowed += (allowed.empty() ? "" : ", ") + name;
      file_.refuse(member_path(path_, member), "is not known; allowed here: " + allowed);
    }
  }

 private:
  const Json* find(const char* member) {
    known_.insert(member);
    const auto found = json_.find(member);
    if (found == json_.end()) return nullptr;
    if (!found->is_object()) return &*found;
    const std::string path = member_path(path_, member);
    for (const auto& [name, unused] : found->items())
      if (name != "value" && name != "origin")
        file_.refuse(member_path(path, name), "is not known; allowed here: origin, value");
    if (!found->contains("value")) file_.refuse(path, "lacks \"value\"");
    if (found->contains("origin")) {
      if (!(*found)["origin"].is_string())
        file_.refuse(member_path(path, "origin"), "must be a text");
      file_.origins[path] = (*found)["origin"].get<std::string>();
    }
    return &(*found)["value"];
  }
  [[noreturn]] void wrong(const char* member, const Json& json, const char* needed) const {
    file_.refuse(member_path(path_, member),
                 fmt::format("is {}; {} is needed", json.dump(), needed));
  }

  File& file_;
  const Json& json_;
  std::string path_;
  std::set<std::string> known_;
};

void read_adapters(Reader& json, AdapterModel& a) {
  json.need("count");
  for (const AdapterField& field : adapter_fields())
    std::visit([&](auto member) { json.any(field.name, a.*member, field.unit); }, field.member);
}

void read_inner(Reader& json, File& file, InnerLink& inner) {
  std::string kind = inner.kind == InnerLink::Kind::bus ? "bus" : "ports";
  json.text("kind", kind);
  if (kind != "bus" && kind != "ports")
    file.refuse("inner.kind", fmt::format("\"{}\" is not known; allowed: bus, ports", kind));
  inner.kind = kind == "bus" ? InnerLink::Kind::bus : InnerLink::Kind::ports;
  json.need("bandwidth_gb_per_s");
  json.number("bandwidth_gb_per_s", inner.bandwidth, kGiga);
  json.number("latency_us", inner.latency, kMicro);
  json.number("message_us", inner.message_time, kMicro);
}

void read_software(Reader& json, SoftwareModel& software) {
  json.text("name", software.name);
  json.whole("slots", software.slots);
  json.bytes("slot_bytes", software.slot_bytes);
  json.number("start_us", software.start_time, kMicro);
  json.truth("rail_per_channel", software.rail_per_channel);
  json.bytes("stripe_bytes", software.stripe_bytes);
  json.bytes("in_place_bytes", software.in_place_bytes);
  json.list("protocols", software.protocols, [](Reader& entry, Protocol& protocol) {
    entry.need("name");
    entry.text("name", protocol.name);
    entry.number("wire_efficiency", protocol.wire_efficiency, 1);
    entry.number("move_us", protocol.move_time, kMicro);
    entry.number("network_us", protocol.network_time, kMicro);
    entry.truth("direct", protocol.direct);
  });
  json.list("tuned", software.tuned, [](Reader& entry, Tuned& tuned) {
    for (const char* needed : {"collective", "hosts", "ranks", "algorithm"}) entry.need(needed);
    entry.text("collective", tuned.collective);
    entry.whole("hosts", tuned.hosts);
    entry.whole("ranks", tuned.ranks);
    entry.bytes("up_to_bytes", tuned.up_to_bytes);
    entry.text("algorithm", tuned.algorithm);
    entry.whole("channels", tuned.channels);
    entry.bytes("chunk_bytes", tuned.message_bytes);
  });
  json.list("choices", software.choices, [](Reader& entry, Choice& choice) {
    entry.bytes("up_to_bytes", choice.up_to_bytes);
    entry.text("algorithm", choice.algorithm);
    entry.whole("channels", choice.channels);
    entry.text("protocol", choice.protocol);
  });
}

void read_machine(Reader& json, File& file, Machine& machine) {
  for (const char* needed : {"name", "ranks_per_host", "rank", "inner"}) json.need(needed);
  json.text("name", machine.name);
  json.text("about", machine.about);
  json.whole("hosts", machine.hosts);
  json.whole("ranks_per_host", machine.ranks_per_host);
  json.whole("cores", machine.cores);
  json.object("rank", [&](Reader& rank) {
    rank.number("copy_bandwidth_gb_per_s", machine.rank.copy_bandwidth, kGiga);
    rank.number("reduce_bandwidth_gb_per_s", machine.rank.reduce_bandwidth, kGiga);
    rank.number("lane_bandwidth_gb_per_s", machine.rank.lane_bandwidth, kGiga);
    rank.number("move_us", machine.rank.move_time, kMicro);
    rank.truth("parallel_channels", machine.rank.parallel_channels);
  });
  json.object("inner", [&](Reader& inner) { read_inner(inner, file, machine.inner); });
  json.object("pci", [&](Reader& pci) {
    pci.whole("switches", machine.pci.switches);
    pci.number("bandwidth_gb_per_s", machine.pci.bandwidth, kGiga);
  });
  json.object("adapters", [&](Reader& a) { read_adapters(a, machine.adapters); });
  json.object("host_network", [&](Reader& a) { read_adapters(a, machine.host_network); });
  json.list("tiers", machine.tiers, [](Reader& entry, SwitchTier& tier) {
    entry.whole("hosts", tier.hosts);
    entry.number("oversubscription", tier.oversubscription, 1);
    entry.number("latency_us", tier.latency, kMicro);
  });
  json.object("software", [&](Reader& software) { read_software(software, machine.software); });
  json.done();
}

// The field that a message of a check begins with, or else what it would be a member of, as far as
// the file has it.
std::string path_in(const std::string& message, const JsonLines& lines) {
  std::string field = message.substr(0, message.find(':'));
  while (!field.empty() && !lines.contains(field)) {
    const auto dot = field.rfind('.');
    field.resize(dot == std::string::npos ? 0 : dot);
  }
  return field;
}

Json value_json(double value, double unit) { return value / unit; }
template <typename Value>
Json value_json(Value value, double) {
  return value;
}

Json adapters_json(const AdapterModel& a) {
  Json json;
  for (const AdapterField& field : adapter_fields()) {
    const auto* bytes = std::get_if<std::size_t AdapterModel::*>(&field.member);
    if (bytes != nullptr && a.**bytes == kAnyBytes) continue;
    json[field.name] =
        std::visit([&](auto member) { return value_json(a.*member, field.unit); }, field.member);
  }
  return json;
}

Json software_json(const SoftwareModel& software) {
  Json json = {{"name", software.name},
               {"slots", software.slots},
               {"slot_bytes", software.slot_bytes},
               {"start_us", software.start_time / kMicro},
               {"rail_per_channel", software.rail_per_channel},
               {"stripe_bytes", software.stripe_bytes}};
  if (software.in_place_bytes != kAnyBytes) json["in_place_bytes"] = software.in_place_bytes;
  for (const Tuned& tuned : software.tuned) {
    Json entry = {{"collective", tuned.collective},
                  {"hosts", tuned.hosts},
                  {"ranks", tuned.ranks},
                  {"algorithm", tuned.algorithm},
                  {"channels", tuned.channels}};
    if (tuned.up_to_bytes != kAnyBytes) entry["up_to_bytes"] = tuned.up_to_bytes;
    if (tuned.message_bytes != 0) entry["chunk_bytes"] = tuned.message_bytes;
    json["tuned"].push_back(std::move(entry));
  }
  json["protocols"] = Json::array();
  for (const Protocol& protocol : software.protocols)
    json["protocols"].push_back({{"name", protocol.name},
                                 {"wire_efficiency", protocol.wire_efficiency},
                                 {"move_us", protocol.move_time / kMicro},
                                 {"network_us", protocol.network_time / kMicro},
                                 {"direct", protocol.direct}});
  json["choices"] = Json::array();
  for (const Choice& choice : software.choices) {
    Json entry = {{"algorithm", choice.algorithm},
                  {"channels", choice.channels},
                  {"protocol", choice.protocol}};
    if (choice.up_to_bytes != kAnyBytes) entry["up_to_bytes"] = choice.up_to_bytes;
    json["choices"].push_back(entry);
  }
  return json;
}

// A number again as it was read: with its origin beside it.
void add_origins(Json& json, const std::string& path,
                 const std::map<std::string, std::string>& origins) {
  if (json.is_object()) {
    for (auto& [member, value] : json.items())
      add_origins(value, member_path(path, member), origins);
  } else if (json.is_array()) {
    for (std::size_t i = 0; i < json.size(); ++i)
      add_origins(json[i], fmt::format("{}[{}]", path, i), origins);
  } else if (const auto origin = origins.find(path); origin != origins.end()) {
    json = {{"value", json}, {"origin", origin->second}};
  }
}

}  // namespace

Machine parse_machine(std::string_view text, const std::string& name, const MachineCheck& more) {
  const auto json = base::parse_json<Json>(text, name);
  Machine machine;
  File file{name, json_lines(text, name), machine.origins};
  Reader reader(file, json, "");
  read_machine(reader, file, machine);
  try {
    check(machine);
    if (more) more(machine);
  } catch (const base::Error& error) {
    const std::string path = path_in(error.what(), file.lines);
    base::fail(heddleInvalidArgument, "{}:{}: {}", name, file.lines.find(path)->second,
               error.what());
  }
  return machine;
}

Machine load_machine(const std::string& name_or_path, const MachineCheck& more) {
  std::string known;
  for (const Preset& preset : presets()) {
    if (preset.name == name_or_path)
      return parse_machine(preset.json, fmt::format("{}.json", preset.name), more);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
  }
  std::error_code unused;
  if (!std::filesystem::exists(name_or_path, unused))
    base::fail(heddleSystemError, "machine \"{}\" is neither a file nor one of {}", name_or_path,
               known);
  return parse_machine(base::read_file(name_or_path, name_or_path), name_or_path, more);
}

std::string machine_json(const Machine& machine) {
  const InnerLink& inner = machine.inner;
  Json json = {{"name", machine.name},
               {"about", machine.about},
               {"hosts", machine.hosts},
               {"ranks_per_host", machine.ranks_per_host},
               {"cores", machine.cores}};
  json["rank"] = {{"copy_bandwidth_gb_per_s", machine.rank.copy_bandwidth / kGiga},
                  {"reduce_bandwidth_gb_per_s", machine.rank.reduce_bandwidth / kGiga},
                  {"lane_bandwidth_gb_per_s", machine.rank.lane_bandwidth / kGiga},
                  {"move_us", machine.rank.move_time / kMicro},
                  {"parallel_channels", machine.rank.parallel_channels}};
  json["inner"] = {{"kind", inner.kind == InnerLink::Kind::bus ? "bus" : "ports"},
                   {"bandwidth_gb_per_s", inner.bandwidth / kGiga},
                   {"latency_us", inner.latency / kMicro},
                   {"message_us", inner.message_time / kMicro}};
  json["pci"] = {{"switches", machine.pci.switches},
                 {"bandwidth_gb_per_s", machine.pci.bandwidth / kGiga}};
  json["adapters"] = adapters_json(machine.adapters);
  json["host_network"] = adapters_json(machine.host_network);
  json["tiers"] = Json::array();
  for (const SwitchTier& tier : machine.tiers)
    json["tiers"].push_back({{"hosts", tier.hosts},
                             {"oversubscription", tier.oversubscription},
                             {"latency_us", tier.latency / kMicro}});
  json["software"] = software_json(machine.software);
  add_origins(json, "", machine.origins);
  return json.dump(2) + "\n";
}

}  // namespace heddle::topology
