#include "harness/analysis/comparison/fingerprint_difference.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace headrace::comparison {
namespace {

using results::StoredRun;

/// Sections in the order in which a reader would suspect them.
constexpr std::array<std::string_view, 10> kOrder = {"headrace", "device", "file_system", "kernel",   "cpu",
                                                     "memory",   "limits", "cgroup",      "backends", "host"};

/// Names, and values that change by the minute.
constexpr std::array<std::string_view, 12> kNoMatter = {
    "host.name",        "memory.available",   "file_system.free",
    "file_system.path", "file_system.source", "file_system.free_inodes",
    "device.name",      "device.disk",        "file_system.mount_point",
    "cgroup.group",     "host.container",     "launch.host_of_rank"};

std::string_view section_of(std::string_view key) { return key.substr(0, key.find('.')); }

std::size_t rank_of(std::string_view key) {
  return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), section_of(key)) - kOrder.begin());
}

std::map<std::string, std::string> facts_of(const StoredRun& run) {
  std::map<std::string, std::string> facts = run.environment;
  facts["headrace.version"] = run.version;
  facts["headrace.revision"] = run.revision;
  return facts;
}

}  // namespace

std::vector<FingerprintDifference> fingerprint_differences(std::span<const StoredRun* const> runs,
                                                           std::span<const std::string> declared) {
  std::vector<std::map<std::string, std::string>> facts;
  std::set<std::string> keys;
  for (const StoredRun* run : runs) {
    facts.push_back(facts_of(*run));
    for (const auto& [key, value] : facts.back()) keys.insert(key);
  }
  std::vector<FingerprintDifference> all;
  for (const std::string& key : keys) {
    FingerprintDifference one{key, {}, false, true};
    for (const auto& of_run : facts) {
      const auto found = of_run.find(key);
      one.values.push_back(found == of_run.end() ? "" : found->second);
    }
    if (std::all_of(one.values.begin(), one.values.end(),
                    [&](const std::string& v) { return v == one.values.front(); }))
      continue;
    one.matters = std::find(kNoMatter.begin(), kNoMatter.end(), key) == kNoMatter.end();
    one.declared = std::any_of(declared.begin(), declared.end(),
                               [&](const std::string& d) { return d == key || d == section_of(key); });
    all.push_back(std::move(one));
  }
  std::stable_sort(all.begin(), all.end(), [](const FingerprintDifference& a, const FingerprintDifference& b) {
    if (a.matters != b.matters) return a.matters;
    return rank_of(a.key) < rank_of(b.key);
  });
  return all;
}

bool same_fingerprint(const StoredRun& a, const StoredRun& b) {
  const StoredRun* both[] = {&a, &b};
  const auto differences = fingerprint_differences(both, {});
  return std::none_of(differences.begin(), differences.end(), [](const FingerprintDifference& d) { return d.matters; });
}

}  // namespace headrace::comparison
