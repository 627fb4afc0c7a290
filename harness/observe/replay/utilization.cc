#include "harness/observe/replay/utilization.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/observe/calls/recorded.h"
#include "harness/observe/shares.h"

namespace headrace::observe::replay {
namespace {

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
  std::ifstream file(std::filesystem::path(trace).parent_path() / "observe.json");
  const nlohmann::json seen = nlohmann::json::parse(file, nullptr, false);
  const auto consumer = seen.is_object() ? seen.find("consumer") : seen.end();
  if (consumer == seen.end() || !consumer->is_object()) return std::nullopt;
  const auto waiting = consumer->find("waiting_for_loader");
  if (waiting == consumer->end() || !waiting->is_object()) return std::nullopt;
  std::array<double, 3> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto share = waiting->find(std::array{"low", "share", "high"}[i]);
    if (share == waiting->end() || !share->is_number()) return std::nullopt;
    shares[i] = share->get<double>();
  }
  // What is none was damaged, or is of another program.
  if (shares[0] < 0 || shares[2] > 1 || !std::is_sorted(shares.begin(), shares.end())) return std::nullopt;
  return fed(shares[1], shares[0], shares[2]);
}

double fed_at_most(double fed, double observed_s, double replayed_s) {
  const double own_s = fed * observed_s;
  return own_s > 0 ? own_s / std::max(own_s, replayed_s) : 0;
}

}  // namespace headrace::observe::replay
