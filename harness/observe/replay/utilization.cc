#include "harness/observe/replay/utilization.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/observe/calls/recorded.h"
#include "harness/observe/learning/shares.h"
#include "harness/observe/observation.h"

namespace headrace::observe::replay {
namespace {

/// Nothing where it is no file of headrace. Other kinds are refused: a pipe would be waited for.
nlohmann::json observation_at(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return {};
  std::ifstream file(path);
  nlohmann::json seen = nlohmann::json::parse(file, nullptr, false);
  if (!seen.is_object()) return {};
  const auto kind = seen.find("kind"), schema = seen.find("schema");
  if (kind == seen.end() || *kind != kObservationKind || schema == seen.end() || *schema != kObservationSchema)
    return {};
  return seen;
}

/// Were those who did most of the calls watched then, by their numbers? Folders hold traces of other jobs, too.
bool is_of(const nlohmann::json& seen, const calls::Log& log) {
  std::set<int> watched;
  if (const auto processes = seen.find("processes"); processes != seen.end() && processes->is_array())
    for (const nlohmann::json& one : *processes)
      if (one.is_object() && one.contains("pid") && one["pid"].is_number_integer())
        watched.insert(one["pid"].get<int>());
  const auto known = std::count_if(log.calls.begin(), log.calls.end(), [&](const calls::Call& call) {
    return watched.contains(log.processes[log.threads[call.thread].process].pid);
  });
  return 2 * static_cast<std::size_t>(known) > log.calls.size();
}

Fed fed(double waiting, double low, double high) { return {.value = 1 - waiting, .low = 1 - high, .high = 1 - low}; }

}  // namespace

std::optional<Fed> observed_fed(const calls::Log& log, const std::string& trace) {
  const Recording recording = calls::recorded(log);
  if (recording.waits_known) {
    const Roles roles = find_roles(recording);
    const std::vector<const Slice*> slices = slices_within(recording, roles.begin_s, roles.end_s);
    if (slices.size() < 4 || roles.consumers.empty() || roles.in_process) return std::nullopt;
    const std::vector<Share> shares = consumer_shares(slices, roles);
    const Share* const waiting = share_named(shares, "waiting_for_loader");
    return fed(waiting->value, waiting->low, waiting->high);
  }
  const nlohmann::json seen = observation_at(std::filesystem::path(trace).parent_path() / "observe.json");
  if (!seen.is_object() || !is_of(seen, log)) return std::nullopt;
  const auto consumer = seen.find("consumer");
  if (consumer == seen.end() || !consumer->is_object()) return std::nullopt;
  const auto waiting = consumer->find("waiting_for_loader");
  if (waiting == consumer->end() || !waiting->is_object()) return std::nullopt;
  std::array<double, 3> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto share = waiting->find(std::array{"low", "share", "high"}[i]);
    if (share == waiting->end() || !share->is_number()) return std::nullopt;
    shares[i] = share->get<double>();
  }
  // Other values were damaged, or are of another program.
  if (shares[0] < 0 || shares[2] > 1 || !std::is_sorted(shares.begin(), shares.end())) return std::nullopt;
  return fed(shares[1], shares[0], shares[2]);
}

double fed_at_most(double fed, double observed_s, double replayed_s) {
  const double own_s = fed * observed_s;
  return own_s > 0 ? own_s / std::max(own_s, replayed_s) : 0;
}

}  // namespace headrace::observe::replay
