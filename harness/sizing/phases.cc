// Demand and supply of each phase, and what they say of each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/sizing/parts.h"
#include "harness/units.h"

namespace headrace::sizing {
namespace {

using requirements::Applied;
using requirements::Job;
using requirements::Need;
using requirements::Scope;

const Need* find(std::span<const Need> needs, std::string_view id, Scope scope) {
  for (const Need& need : needs)
    if (need.id == id && need.scope == scope) return &need;
  return nullptr;
}

/// How many times the mean a node writes at most: with the optimizer's state alone spread, the
/// ranks of the first replica write the weights too (E4), and as many of them as a node has share
/// its path.
double imbalance(const Job& job, std::span<const Need> needs) {
  const Need* largest = find(needs, "checkpoint.largest_shard", Scope::gpu);
  const Need* all = find(needs, "checkpoint.size", Scope::cluster);
  if (largest == nullptr || all == nullptr || all->required <= 0) return 1;
  const double model = job.parallelism.tensor * job.parallelism.pipeline,
               ranks = job.cluster.gpus_per_node, writers = std::min(ranks, model);
  const double weights = *job.model.parameters / model *
                         std::min(job.model.weight_bytes, job.checkpoint->bytes_per_parameter);
  const double others = std::max(0.0, largest->required - weights);
  const double node = writers * largest->required + (ranks - writers) * others;
  return std::max(1.0, node / (all->required / job.cluster.nodes));
}

/// How far a point is from what the job plans: workers, request size, a plain loader's engine.
double distance(const Job& job, const Measurement& m) {
  const auto& params = m.point->params;
  const auto number = [&](const char* key) {
    const auto found = params.find(key);
    return found == params.end() ? 0 : std::atof(found->second.c_str());
  };
  double far = 0;
  const double planned = job.loader.workers_per_gpu.value_or(0) * job.cluster.gpus_per_node;
  if (planned > 0 && number("workers") > 0) far += std::abs(std::log2(number("workers") / planned));
  if (number("block_size") > 0)
    far += std::abs(std::log2(number("block_size") / job.dataset.request_size)) / 4;
  const auto engine = params.find("engine");
  if (engine != params.end() && engine->second == "io_uring") far += 2;  // a loader's workers wait
  const auto mode = params.find("mode");
  const bool async = job.checkpoint && job.checkpoint->async;
  if (mode != params.end() && (mode->second == "async") != async) far += 4;
  const auto direct = params.find("direct");
  if (direct != params.end() && direct->second == "true") far += 1;
  return far;
}

/// The point that is most like the plan; among equals the one measured by the most clients, then
/// the fastest.
const Measurement& planned(const Job& job, const std::vector<Measurement>& all) {
  return *std::min_element(all.begin(), all.end(), [&](const Measurement& a, const Measurement& b) {
    const double da = distance(job, a), db = distance(job, b);
    if (da != db) return da < db;
    if (a.clients != b.clients) return a.clients > b.clients;
    return a.median > b.median;
  });
}

std::vector<Measurement> of_the_same_point(const std::vector<Measurement>& all,
                                           const Measurement& one) {
  std::vector<Measurement> same;
  for (const Measurement& m : all)
    if (m.point->workload == one.point->workload && m.point->params == one.point->params)
      same.push_back(m);
  return same;
}

std::string told(double value, const std::string& unit) { return format_in_unit(value, unit); }

void tell(const Job& job, Phase& p) {
  const std::string gives = told(p.supply.value.median, p.unit),
                    needs = told(p.demand.need, p.unit);
  const std::string clients =
      fmt::format("{} of {} nodes measured", std::min<double>(p.supply.clients, job.cluster.nodes),
                  job.cluster.nodes);
  switch (p.outcome) {
    case Outcome::pass:
      p.explanation = fmt::format("Gives {}; needs {}.", gives, needs);
      break;
    case Outcome::fail:
      p.explanation = fmt::format("Gives {}, even at best {}; needs {}.", gives,
                                  told(p.supply.value.high, p.unit), needs);
      break;
    default:
      if (p.reason != "extrapolated" && p.reason != to_string(Reason::straddles)) {
        p.explanation = fmt::format(
            "Gave {} and {} are needed, but it was {} while it was measured.", gives, needs,
            p.reason == to_string(Reason::disturbed) ? "disturbed" : "not steady");
        p.next_step = "Measure again with nothing else running.";
        return;
      }
      p.explanation =
          p.reason == "extrapolated"
              ? fmt::format("Would give {} if every node got what was measured ({}); needs {}.",
                            gives, clients, needs)
              : fmt::format("Gives {} to {}; needs {}, which lies between.",
                            told(p.supply.value.low, p.unit), told(p.supply.value.high, p.unit),
                            needs);
  }
  if (p.reason == "extrapolated")
    p.next_step = fmt::format("Measure with up to {} nodes at once, and give all run folders.",
                              job.cluster.nodes);
  else if (p.outcome == Outcome::inconclusive)
    p.next_step = "Measure with more repetitions: --looks 5,10,15";
}

}  // namespace

Derived derived(const Applied& applied) {
  return {std::string(applied.formula->id), std::string(applied.formula->equation),
          substituted(*applied.formula, applied.arguments), applied.value(),
          std::string(applied.formula->unit)};
}

Applied gpus_fed(double supply, double per_gpu, double safety) {
  return requirements::apply("G8", {{"lower_bound_bytes_per_s", supply},
                                    {"demand_per_gpu_bytes_per_s", per_gpu},
                                    {"safety_margin_ratio", safety}});
}

Derived fed_from(const Bounded& supply, double per_gpu, double safety, const std::string& unit) {
  return {"G8", std::string(requirements::find_formula("G8")->equation),
          fmt::format("floor({} / ({} * {}))", told(supply.low, unit), safety, told(per_gpu, unit)),
          gpus_fed(supply.low, per_gpu, safety).value(), "count"};
}

Bounded gpus_fed(const Bounded& supply, double per_gpu, double safety) {
  return {gpus_fed(supply.median, per_gpu, safety).value(),
          gpus_fed(supply.low, per_gpu, safety).value(),
          gpus_fed(supply.high, per_gpu, safety).value()};
}

std::span<const PhaseKind> phase_kinds() {
  static constexpr PhaseKind kKinds[] = {
      {"cold_epoch", "Cold epoch", "ingest.read_bandwidth", false, true, true},
      {"steady_epoch", "Later epochs", "ingest.steady_read_bandwidth", false, true, true},
      {"metadata", "Opening files", "ingest.metadata_rate", false, true, true},
      {"checkpoint_save", "Checkpoint save", "checkpoint.write_bandwidth", false, false, false},
      {"checkpoint_restore", "Checkpoint restore", "checkpoint.restore_bandwidth", false, false,
       false},
      {"host_memory", "Host memory", "host.memory_bandwidth", true, true, true},
  };
  return kKinds;
}

const PhaseKind& kind_of(std::string_view phase) {
  const auto all = phase_kinds();
  return *std::find_if(all.begin(), all.end(),
                       [&](const PhaseKind& k) { return k.phase == phase; });
}

std::optional<Demand> demand_of(const Job& job, std::span<const Need> needs,
                                const PhaseKind& kind) {
  const Need* need = find(needs, kind.need, kind.per_node ? Scope::node : Scope::cluster);
  if (need == nullptr || need->required <= 0) return std::nullopt;
  const double nodes = kind.per_node ? job.cluster.nodes : 1;
  const double largest = kind.phase == "checkpoint_save" ? imbalance(job, needs) : 1;
  Demand demand;
  demand.required = need->required * nodes * largest;
  demand.need = need->need * nodes * largest;
  demand.per_gpu = demand.required * (1 + need->uncertainty) / job.cluster.gpus();
  demand.grows_with_gpus = kind.grows;
  demand.from = {need->formula, need->equation, need->substituted, demand.required, need->unit};
  if (largest > 1) {
    demand.from.formula += " of E4";
    demand.from.equation = fmt::format("({}) * k_node / (K / N)", demand.from.equation);
    demand.from.substituted = fmt::format("({}) * {:.3g}", demand.from.substituted, largest);
  }
  return demand;
}

std::optional<Phase> phase_of(const Job& job, std::span<const Need> needs, const PhaseKind& kind,
                              std::span<const Session> sessions) {
  const auto demand = demand_of(job, needs, kind);
  if (!demand) return std::nullopt;
  const Need* at_node = find(needs, kind.need, Scope::node);
  if (at_node == nullptr) return std::nullopt;
  Phase p;
  p.phase = kind.phase;
  p.title = kind.title;
  p.need = kind.need;
  p.unit = at_node->unit;
  p.demand = *demand;
  auto metrics = at_node->measured_by;
  // Opens that happen between reads say nothing of how many there could be.
  if (kind.phase == "metadata")
    std::erase_if(metrics, [](const std::string& m) { return !m.starts_with("metadata."); });
  p.alternatives = measurements(sessions, metrics, at_node->cache);
  if (p.alternatives.empty()) return p;
  const Measurement& used = planned(job, p.alternatives);
  p.curve.emplace(of_the_same_point(p.alternatives, used), kind.per_node);
  p.used = p.curve->largest();
  judge_phase(job, p);
  return p;
}

void judge_phase(const Job& job, Phase& p) {
  const double nodes = job.cluster.nodes;
  const Curve::Value all = p.curve->at(nodes);
  const Measurement& m = p.curve->largest();
  p.supply.value = {all.median, all.low, all.high};
  p.supply.clients = m.clients;
  p.supply.per_client = m.per_client();
  p.supply.repetitions = m.repetitions;
  p.supply.is_range = m.is_range;
  p.supply.run = m.run->id;
  p.supply.point = m.point->id;
  p.supply.metric = fmt::format("{}.{}", m.point->workload, m.metric);
  p.supply.basis = all.extrapolated    ? Basis::extrapolated
                   : nodes > m.clients ? Basis::modelled
                                       : Basis::measured;
  p.supply.from = {"G6", std::string(requirements::find_formula("G6")->equation),
                   fmt::format("min({} * {}, {}, not known)", nodes, told(m.per_client(), p.unit),
                               p.curve->saturated() ? told(m.median, p.unit) : "not known"),
                   all.median, p.unit};
  const auto ratio = [&](double supply) { return supply / p.demand.need; };
  p.headroom = {ratio(all.median), ratio(all.low), ratio(all.high)};
  p.gpus_fed = gpus_fed(p.supply.value, p.demand.per_gpu, job.safety);
  p.fed_from = fed_from(p.supply.value, p.demand.per_gpu, job.safety, p.unit);
  if (all.high < p.demand.need) {
    p.outcome = Outcome::fail;
  } else if (all.extrapolated) {
    p.outcome = Outcome::inconclusive;
    p.reason = "extrapolated";
  } else if (all.low >= p.demand.need) {
    p.outcome = Outcome::pass;
  } else {
    p.outcome = Outcome::inconclusive;
    p.reason = to_string(Reason::straddles);
  }
  // What something else disturbed, or what never became steady, says nothing either way.
  constexpr double kMost = 1.0 / 3;
  const results::StoredPoint& point = *m.point;
  const Reason doubt = point.disturbed_share > kMost    ? Reason::disturbed
                       : point.not_steady_share > kMost ? Reason::not_steady
                                                        : Reason::none;
  if (doubt != Reason::none) {
    p.outcome = Outcome::inconclusive;
    p.reason = to_string(doubt);
  }
  tell(job, p);
}

std::string command_for(std::string_view only, const std::string& job_file) {
  return fmt::format("headrace run -c configs/sizing.yaml --job {} --only '{}'", job_file, only);
}

std::string command_for(const Job& job, std::string_view phase, const std::string& job_file) {
  using requirements::Layout;
  const Layout layout = job.dataset.layout;
  return command_for(phase == "metadata"             ? "metadata*"
                     : phase == "steady_epoch"       ? "epochs*"
                     : phase == "checkpoint_save"    ? "checkpoint_write*"
                     : phase == "checkpoint_restore" ? "checkpoint_read*"
                     : phase == "host_memory"        ? "memory_copy*"
                     : layout == Layout::files       ? "small_file_read*"
                     : layout == Layout::shards      ? "shard_stream*"
                                                     : "random_read*",
                     job_file);
}

Scaling scaling_of(const Job& job, const Phase& phase) {
  Scaling s;
  s.phase = phase.phase;
  s.unit = phase.unit;
  const double per_node = job.cluster.gpus_per_node, gpus = job.cluster.gpus();
  s.measured_to_gpus = std::min<double>(phase.curve->measured_to(), 1e6) * per_node;
  const double reach =
      std::max({gpus * 2, std::min(phase.gpus_fed.median * 1.5, gpus * 8), s.measured_to_gpus * 2});
  std::vector<double> grid;
  for (double g = 1; g < per_node; ++g)
    if (per_node <= 16) grid.push_back(g);
  const double nodes = std::ceil(reach / per_node);
  for (double n = 1; n <= nodes; n = nodes <= 16 ? n + 1 : std::max(n + 1, std::round(n * 1.25)))
    grid.push_back(n * per_node);
  for (const double must : {gpus, s.measured_to_gpus}) grid.push_back(must);
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  for (const double g : grid) {
    const Curve::Value v = phase.curve->at(std::ceil(g / per_node));
    s.gpus.push_back(g);
    s.supply.push_back(v.median);
    s.low.push_back(v.low);
    s.high.push_back(v.high);
    s.demand.push_back(phase.demand.grows_with_gpus ? phase.demand.per_gpu * job.safety * g
                                                    : phase.demand.need);
    s.extrapolated.push_back(v.extrapolated);
  }
  const double step = phase.demand.per_gpu * job.safety;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const bool met = s.supply[i] >= s.demand[i];
    if (!phase.demand.grows_with_gpus) {
      if (!met) continue;
      s.crossing = grid[i];
      break;
    }
    if (met) continue;
    // The last number of GPUs before the first whose demand is not met.
    s.crossing = std::clamp(std::floor(s.supply[i] / step), i == 0 ? 0 : grid[i - 1], grid[i]);
    break;
  }
  return s;
}

}  // namespace headrace::sizing
