#include "harness/analysis/simulate/measured_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/analysis/sizing/parts.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"

namespace headrace::simulate {
namespace {

using sizing::Measurement;
using sizing::Phase;

std::string fact(const results::StoredRun& run, const char* key) {
  const auto found = run.environment.find(key);
  return found == run.environment.end() ? "" : found->second;
}

/// The store that a point read or wrote, as its mount names it; of objects their kind alone.
std::string store_of(const results::StoredRun& run, const results::StoredPoint& point) {
  if (job::reads_objects(point.params)) return "an object store";
  const std::string source = fact(run, "file_system.source");
  return source.empty() ? "" : fmt::format("{} ({})", source, fact(run, "file_system.type"));
}

simulate::Supply supply_of(const Phase& phase, std::vector<std::string>& from) {
  simulate::Supply supply = phase.curve->supply();
  std::string counts, rates;
  for (const simulate::Counted& c : supply.measured) {
    counts += fmt::format("{}{}", counts.empty() ? "" : ", ", c.clients);
    rates += fmt::format("{}{}", rates.empty() ? "" : ", ", format_in_unit(c.rate, phase.unit));
  }
  if (supply.measured.empty()) return supply;
  supply.from = phase.used.name();
  const char* beyond = supply.saturated ? "more clients gave no more"
                       : supply.measured.size() > 1
                           ? "it still grew"
                           : "one count shows no growth: measure with more nodes, or state the "
                             "store's limit in a sheet";
  from.push_back(fmt::format("{}: {} from {} client{} (measured: {}); {}", phase.title, rates, counts,
                             counts == "1" ? "" : "s", supply.from, beyond));
  return supply;
}

/// Standard deviation between nodes that measured the same point at the same time, of at least three; 0: none did.
double variation_of(std::span<const sizing::Session> sessions, const Measurement& used, std::size_t& nodes) {
  for (const sizing::Session& session : sessions) {
    if (session.size() < 3) continue;
    std::vector<double> rates;
    for (const results::StoredRun* run : session)
      for (const results::StoredPoint& point : run->points)
        if (point.workload == used.point().workload && point.params == used.point().params)
          if (const auto* metric = point.find(used.metric); metric != nullptr && metric->median > 0)
            rates.push_back(metric->median);
    if (rates.size() < 3) continue;
    double mean = 0, squares = 0;
    for (const double r : rates) mean += r / static_cast<double>(rates.size());
    for (const double r : rates) squares += (r - mean) * (r - mean) / static_cast<double>(rates.size() - 1);
    nodes = rates.size();
    return std::min(0.5, std::sqrt(squares) / mean);
  }
  return 0;
}

}  // namespace

simulate::System measured_system(const job::Job& job, std::span<const results::StoredRun> runs) {
  simulate::System system;
  const auto sessions = sizing::sessions_of(runs);
  const auto needs = job::derive_needs(job);
  std::string local, measured;
  std::set<std::string> stores;
  for (const Phase& phase : sizing::phases_of(job, needs, sessions)) {
    if (!phase.curve || sizing::kind_of(phase.phase).per_node) continue;
    if (phase.local) {
      const std::string type = fact(phase.used.run(), "file_system.type");
      local += fmt::format("\n  {}: {} on {}: {} is that node's own", phase.title, phase.used.name(),
                           phase.used.run().node, type.empty() ? "the storage" : type);
      continue;
    }
    simulate::Supply* const to = phase.phase == "cold_epoch"           ? &system.read
                                 : phase.phase == "checkpoint_save"    ? &system.save
                                 : phase.phase == "checkpoint_restore" ? &system.restore
                                 : phase.phase == "metadata"           ? &system.opens
                                                                       : nullptr;
    if (to == nullptr) continue;
    *to = supply_of(phase, system.from);
    if (to->measured.empty()) continue;
    for (const auto& [clients, m] : phase.curve->counts())
      for (const sizing::SessionValue& session : m.sessions)
        if (std::string store = store_of(*session.run, *session.point); !store.empty()) stores.insert(std::move(store));
    std::size_t nodes = 0;
    const double variation = variation_of(sessions, phase.used, nodes);
    if (variation <= 0 || system.sheet.has("client.variation")) continue;
    system.sheet.values["client.variation"] = variation;
    system.from.push_back(fmt::format("nodes differ by {} (standard deviation of {} nodes at once: {})",
                                      format_percent(variation), nodes, phase.used.name()));
  }
  if (stores.size() > 1)
    throw UsageErrors(fmt::format("simulate: the runs measured {} stores: give runs of one of them: {}", stores.size(),
                                  join(std::vector<std::string>(stores.begin(), stores.end()))));
  if (!system.read.known() && !system.save.known() && !system.restore.known()) {
    if (!local.empty())
      throw UsageErrors(
          "simulate: the runs have no shared store: what one node's own disks give says nothing of a store "
          "for many nodes" +
          local + "\n  measure the shared file system, or state it: --sheet FILE");
    throw UsageErrors(
        "simulate: the runs measured nothing that this job needs of a store: headrace run -c "
        "configs/sizing.yaml --job JOB --at DIR measures it");
  }
  return system;
}

}  // namespace headrace::simulate
