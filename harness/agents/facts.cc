#include "harness/agents/facts.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "harness/machine/fingerprint.h"
#include "harness/node.h"
#include "harness/system/kernel_files.h"
#include "harness/system/mount.h"

namespace headrace::agents {
namespace {

using Json = nlohmann::json;

/// Two names of one machine, or of one container on it, are told by this; two containers are not one.
std::string machine() {
  struct stat network {};
  ::stat("/proc/self/ns/net", &network);
  return fmt::format("{} {}", system::read_line("/proc/sys/kernel/random/boot_id").value_or(""), network.st_ino);
}

Json path_json(const std::string& path) {
  struct stat status {};
  Json json{{"path", path}, {"there", ::stat(path.c_str(), &status) == 0}};
  if (const auto mount = system::mount_of(path)) {
    json["type"] = mount->type;
    json["source"] = mount->source;
  }
  return json;
}

}  // namespace

double wall_clock_s() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Json facts_json(const std::vector<std::string>& paths) {
  Node node("");  // no folder: nothing is written
  Json json{{"machine", machine()}, {"facts", Json::object()}, {"paths", Json::array()}};
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  json["host"] = name;
  for (const auto& [section, facts] : system::fingerprint(paths.empty() ? "/" : paths.front(), node))
    for (const auto& [key, value] : facts) json["facts"][section + "." + key] = value;
  for (const std::string& path : paths) json["paths"].push_back(path_json(path));
  return json;
}

HostFacts facts_from(const Json& json) {
  HostFacts all;
  all.host = json.at("host").get<std::string>();
  all.machine = json.at("machine").get<std::string>();
  all.facts = json.at("facts").get<Facts>();
  for (const Json& one : json.at("paths"))
    all.paths.push_back({one.at("path").get<std::string>(), one.at("there").get<bool>(), one.value("type", ""),
                         one.value("source", "")});
  return all;
}

nlohmann::ordered_json facts_kept(const HostFacts& all) {
  nlohmann::ordered_json json{{"host", all.host}, {"machine", all.machine}, {"facts", all.facts}};
  json["paths"] = nlohmann::ordered_json::array();
  for (const PathFacts& one : all.paths)
    json["paths"].push_back({{"path", one.path}, {"there", one.there}, {"type", one.type}, {"source", one.source}});
  return json;
}

}  // namespace headrace::agents
