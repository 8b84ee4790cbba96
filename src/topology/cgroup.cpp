#include "topology/cgroup.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "topology/system_files.hpp"

namespace heddle::topology {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

bool lists(const std::string& commas, const std::string& word) {
  const auto words = split(commas, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A mounted hierarchy of groups; proc(5) has the format of mountinfo.
struct Mount {
  bool version2;
  std::string group;  // which group is mounted, seen from the hierarchy's top
  std::string point;
};

std::vector<Mount> mounts(const std::string& root) {
  std::vector<Mount> found;
  for (const auto& line : all_lines(root + "/proc/self/mountinfo")) {
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.end() - dash < 4 || dash - fields.begin() < 6) continue;
    const std::string& type = dash[1];
    if (type == "cgroup2" || (type == "cgroup" && lists(dash[3], "cpu")))
      found.push_back({type == "cgroup2", fields[3], fields[4]});
  }
  return found;
}

// This process's group in a hierarchy: lines are "id:controllers:path", version 2's "0::path".
std::string own_group(const std::string& root, bool version2) {
  for (const auto& line : all_lines(root + "/proc/self/cgroup")) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return "";
}

// The path below the mount point. Groups outside the mounted one ("/../x", or another container's
// path) cannot be seen from here: the mount point then stands for them.
std::string below_mount(const std::string& group, const std::string& mounted) {
  const std::string top = mounted == "/" ? "" : mounted;
  if (!group.starts_with(top + "/") || group.find("/..") != std::string::npos) return "";
  return group.size() == top.size() + 1 ? "" : group.substr(top.size());
}

std::optional<double> quota_in(const std::string& directory, bool version2) {
  double quota = -1;
  double period = 0;
  if (version2) {
    std::istringstream stream(first_line(directory + "/cpu.max"));  // "max 100000", "50000 100000"
    stream >> quota >> period;
    if (!stream) return {};
  } else {
    quota = static_cast<double>(number_in(directory + "/cpu.cfs_quota_us", -1));
    period = static_cast<double>(number_in(directory + "/cpu.cfs_period_us", 0));
  }
  if (quota <= 0 || period <= 0) return {};
  return quota / period;
}

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  for (const auto& mount : mounts(root)) {
    std::string group = below_mount(own_group(root, mount.version2), mount.group);
    for (bool more = true; more;) {
      const auto quota = quota_in(root + mount.point + group, mount.version2);
      if (quota) least = std::min(least.value_or(*quota), *quota);
      more = !group.empty();
      group.resize(more ? group.rfind('/') : 0);
    }
  }
  return least;
}

}  // namespace heddle::topology
