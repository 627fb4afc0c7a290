#include "harness/observe/replay/utilization.h"

#include <algorithm>
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
  if (!seen.is_object()) return std::nullopt;
  const auto waiting = seen.value("/consumer/waiting_for_loader"_json_pointer, nlohmann::json());
  if (!waiting.is_object()) return std::nullopt;
  return fed(waiting.value("share", 0.0), waiting.value("low", 0.0), waiting.value("high", 1.0));
}

double fed_at_most(double fed, double observed_s, double replayed_s) {
  const double own_s = fed * observed_s;
  return own_s > 0 ? own_s / std::max(own_s, replayed_s) : 0;
}

}  // namespace headrace::observe::replay
