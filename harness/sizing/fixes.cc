// What would feed more GPUs, ranked; each says whether that was measured, follows from measured
// parts, or is a guess.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/sizing/parts.h"
#include "harness/units.h"

namespace headrace::sizing {
namespace {

using requirements::apply;
using requirements::Job;

class Fixes {
 public:
  explicit Fixes(const Sizing& sizing) : all_(sizing), job_(sizing.job) {}

  std::vector<Fix> take() {
    for (const Phase& phase : all_.phases) {
      if (phase.outcome == Outcome::pass) continue;
      other_points(phase);
      if (phase.phase == "cold_epoch") {
        more_workers(phase);
        larger_requests(phase);
        local_cache(phase);
      }
      if (phase.phase == "checkpoint_save") {
        asynchronous(phase);
        sharding(phase);
        interval(phase);
      }
    }
    shards();
    more_storage();
    for (Change& change : changes_) effect(change);
    std::stable_sort(changes_.begin(), changes_.end(), [this](const Change& a, const Change& b) {
      return rank(a.fix) > rank(b.fix);
    });
    std::vector<Fix> fixes;
    for (Change& change : changes_) fixes.push_back(std::move(change.fix));
    return fixes;
  }

 private:
  /// A fix, and the GPUs that each phase which it changes feeds then.
  struct Change {
    Fix fix;
    std::map<std::string, Bounded> fed;
  };

  const Phase* phase(std::string_view name) const {
    for (const Phase& p : all_.phases)
      if (p.phase == name && p.curve) return &p;
    return nullptr;
  }

  /// The metric of the phase's kind that runs measured on another workload, cold.
  std::vector<Measurement> measured(const std::string& metric, const std::string& cache) const {
    return measurements(all_.sessions, std::vector{metric}, cache);
  }
  static const Measurement* best(const std::vector<Measurement>& all) {
    const auto found = std::max_element(
        all.begin(), all.end(),
        [](const Measurement& a, const Measurement& b) { return a.per_client() < b.per_client(); });
    return found == all.end() ? nullptr : &*found;
  }

  /// A measurement carried to as many clients as the job has.
  Bounded carried(const Measurement& m, Basis& basis) const {
    const Curve::Value v = Curve({m}, false).at(job_.cluster.nodes);
    if (v.extrapolated) basis = Basis::extrapolated;
    return {v.median, v.low, v.high};
  }

  Change& add(Fix fix, const Phase& phase, const Bounded& supply, Basis basis,
              const std::vector<const Measurement*>& built_on, double per_gpu) {
    fix.phase = phase.phase;
    fix.basis = basis;
    fix.phase_gpus_fed = sizing::gpus_fed(supply, per_gpu, job_.safety);
    fix.from = fed_from(supply, per_gpu, job_.safety, phase.unit);
    for (const Measurement* m : built_on) fix.built_on.push_back(m->name());
    changes_.push_back({std::move(fix), {}});
    changes_.back().fed[phase.phase] = *changes_.back().fix.phase_gpus_fed;
    return changes_.back();
  }
  void add_unmeasured(Fix fix, const Phase& phase) {
    fix.phase = phase.phase;
    changes_.push_back({std::move(fix), {}});
  }
  /// Is there such a fix of the phase already?
  bool has(const Phase& phase, std::string_view name) const {
    return std::any_of(changes_.begin(), changes_.end(), [&](const Change& c) {
      return c.fix.phase == phase.phase && c.fix.fix == name;
    });
  }

  static std::string number_of(const Measurement& m, const char* key) {
    const auto found = m.point->params.find(key);
    return found == m.point->params.end() ? "" : found->second;
  }

  /// Points of the same need that were measured with other settings and gave more.
  void other_points(const Phase& phase) {
    std::set<std::string> told;
    std::vector<Measurement> better;
    for (const Measurement& m : phase.alternatives)
      if (m.clients == phase.used.clients && m.low > phase.used.high) better.push_back(m);
    std::sort(better.begin(), better.end(),
              [](const Measurement& a, const Measurement& b) { return a.median > b.median; });
    for (const Measurement& m : better) {
      const std::string what = difference(phase.used, m);
      if (what.empty() || !told.insert(kind_of_difference(phase.used, m)).second) continue;
      Basis basis = Basis::measured;
      const Bounded supply = carried(m, basis);
      Fix fix;
      fix.fix = kind_of_difference(phase.used, m);
      fix.title = what;
      fix.explanation =
          fmt::format("{} instead of {}, on this storage.", format_in_unit(m.median, phase.unit),
                      format_in_unit(phase.used.median, phase.unit));
      fix.command = again(m);
      add(std::move(fix), phase, supply, basis, {&m}, phase.demand.per_gpu);
    }
  }

  /// "workers", "requests", "engine": what sets the second apart from the first; several are
  /// "settings".
  static std::string kind_of_difference(const Measurement& a, const Measurement& b) {
    std::set<std::string> keys;
    for (const auto& [key, value] : b.point->params)
      if (number_of(a, key.c_str()) != value) keys.insert(key);
    if (keys.contains("engine")) return "engine";
    if (keys.size() != 1) return "settings";
    if (keys.contains("workers") || keys.contains("ranks")) return "workers";
    return keys.contains("block_size") ? "requests" : "settings";
  }

  static std::string difference(const Measurement& a, const Measurement& b) {
    const std::string engine = number_of(b, "engine"), depth = number_of(b, "queue_depth");
    if (kind_of_difference(a, b) == "engine" && engine == "io_uring")
      return fmt::format("Many reads in flight (io_uring, depth {}), not {} waiting workers", depth,
                         number_of(a, "workers"));
    std::string out;
    for (const auto& [key, value] : b.point->params) {
      const std::string before = number_of(a, key.c_str());
      if (before == value || before.empty()) continue;
      const bool size = key.ends_with("_size");
      const auto told = [&](const std::string& v) {
        return size ? compact_quantity(std::atof(v.c_str()), Dimension::bytes) : v;
      };
      out +=
          fmt::format("{}{} {}, not {}", out.empty() ? "" : "; ", key, told(value), told(before));
    }
    if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
    return out;
  }

  /// The command of the run that measured it.
  std::string again(const Measurement& m) const {
    std::string config = m.run->config_file.empty() ? "CONFIG" : m.run->config_file;
    return fmt::format("headrace run -c {} --job {} --only '{}'", config, all_.job_file,
                       m.point->id);
  }

  /// Packing samples into shards changes how bytes are read and how often files are opened.
  void shards() {
    const Phase *cold = phase("cold_epoch"), *names = phase("metadata");
    const auto missed = [](const Phase* p) { return p && p->outcome != Outcome::pass; };
    if (job_.dataset.layout != requirements::Layout::files || (!missed(cold) && !missed(names)))
      return;
    Fix fix;
    fix.fix = "shards";
    fix.title = "Pack the samples into shards";
    fix.command = command_for("shard_stream*", all_.job_file);
    const auto all = measured("shard_stream.read_bandwidth", "cold");
    const Measurement* m = best(all);
    // Opens per second fall by the samples that one shard holds.
    constexpr double kShardBytes = 256e6;
    const double samples = std::max(1.0, std::floor(kShardBytes / job_.dataset.sample_size)),
                 fewer = std::max(1.0, samples / job_.dataset.samples_per_file);
    const std::string opens =
        fmt::format("A shard of {} holds {:.0f} samples, so that opens fall by as much (A7, A8).",
                    format_quantity(kShardBytes, Dimension::bytes), samples);
    if (cold != nullptr && m != nullptr) {
      Basis basis = Basis::measured;
      const Bounded supply = carried(*m, basis);
      fix.explanation = fmt::format("Reading shards in order gave {}, one file per sample {}. {}",
                                    format_in_unit(m->median, cold->unit),
                                    format_in_unit(cold->used.median, cold->unit), opens);
      Change& change = add(std::move(fix), *cold, supply, basis, {m}, cold->demand.per_gpu);
      if (names)
        change.fed[names->phase] =
            sizing::gpus_fed(names->supply.value, names->demand.per_gpu / fewer, job_.safety);
      return;
    }
    fix.explanation = "Nobody measured reading shards here. " + opens;
    if (missed(cold) || names == nullptr) return add_unmeasured(std::move(fix), *cold);
    add(std::move(fix), *names, names->supply.value, worse(Basis::modelled, names->supply.basis),
        {&names->used}, names->demand.per_gpu / fewer);
  }

  void more_workers(const Phase& phase) {
    const double now = std::atof(number_of(phase.used, "workers").c_str());
    if (now <= 0 || has(phase, "workers")) return;  // measured already
    if (phase.used.point->workload != "small_file_read") return;
    // Each worker waits for its own reads: twice as many get twice as much, up to what any reader
    // got.
    const auto shards = measured("shard_stream.read_bandwidth", "cold");
    const Measurement* ceiling = best(shards);
    constexpr double kMost = 1024;  // what the workload can start
    const double wanted =
        std::min(kMost, std::ceil(now * phase.demand.need / phase.supply.value.low));
    Fix fix;
    fix.fix = "workers";
    fix.title = fmt::format("{:.0f} reading workers per node, not {:.0f}", wanted, now);
    if (!(wanted > now)) return;
    fix.command = fmt::format("{} --set workloads.0.workers={:.0f}",
                              command_for("small_file_read*", all_.job_file), wanted);
    if (ceiling == nullptr) {
      fix.explanation = "How much more they would get was not measured.";
      return add_unmeasured(std::move(fix), phase);
    }
    Basis basis = Basis::modelled;
    const Bounded most = carried(*ceiling, basis);
    const double times = wanted / now;
    const Bounded supply{std::min(phase.supply.value.median * times, most.median),
                         std::min(phase.supply.value.low * times, most.low),
                         std::min(phase.supply.value.high * times, most.high)};
    if (supply.median <= phase.supply.value.high) return;  // the ceiling is reached already
    fix.explanation = fmt::format(
        "If waiting is all that limits them: in proportion, up to the {} that shards gave.",
        format_in_unit(ceiling->median, phase.unit));
    add(std::move(fix), phase, supply, basis, {&phase.used, ceiling}, phase.demand.per_gpu);
  }

  void larger_requests(const Phase& phase) {
    if (job_.dataset.layout == requirements::Layout::files || has(phase, "requests")) return;
    const double now = job_.dataset.request_size, larger = std::max(1048576.0, now * 8);
    Fix fix;
    fix.fix = "requests";
    fix.title =
        fmt::format("Requests of {}, not {}", format_quantity(larger, Dimension::bytes, true),
                    format_quantity(now, Dimension::bytes, true));
    fix.explanation = "Nobody measured larger requests here.";
    fix.command = command_for("*larger*", all_.job_file);
    add_unmeasured(std::move(fix), phase);
  }

  void local_cache(const Phase& phase) {
    if (!job_.dataset.samples) return;
    const double data = *job_.dataset.samples * job_.dataset.sample_size;
    const double space = job_.local_cache ? job_.local_cache->capacity
                         : job_.cache ? std::max(0.0, job_.cache->available - job_.cache->reserve)
                                      : 0;
    Fix fix;
    fix.fix = "local_cache";
    if (space <= 0) {
      fix.title = "Keep the data on local disks after the first epoch";
      fix.explanation =
          "The job does not say how much room its nodes have: give local_cache.capacity.";
      fix.command =
          fmt::format("headrace size {} --set local_cache.capacity=1TB --runs ...", all_.job_file);
      return add_unmeasured(std::move(fix), phase);
    }
    const double ratio = std::min(1.0, space / data);
    const double hit = apply("C5", {{"cache_ratio", ratio}}).value();
    fix.title =
        fmt::format("Keep {:.0f} % of the data on each node after the first epoch", hit * 100);
    fix.explanation = fmt::format(
        "{} of {} pinned (C5); from the second epoch on storage serves the rest (A3). The first "
        "epoch stays as it is.",
        format_quantity(std::min(space, data), Dimension::bytes),
        format_quantity(data, Dimension::bytes));
    fix.command = command_for("epochs*", all_.job_file);
    const double rest = std::max(1 - hit, 1e-3);
    add(std::move(fix), phase, phase.supply.value, worse(Basis::modelled, phase.supply.basis),
        {&phase.used}, phase.demand.per_gpu * rest);
  }

  void asynchronous(const Phase& phase) {
    const Job::Checkpoint& plan = *job_.checkpoint;
    if (plan.async) return;
    const double bytes = *job_.model.parameters * plan.bytes_per_parameter + plan.extra;
    const Measurement* copy = nullptr;
    std::vector<Measurement> copies;
    // How fast a save leaves the step alone: measured as such, else over the GPUs' link, else in
    // memory.
    for (const char* metric :
         {"checkpoint_write.stage_bandwidth", "d2h.node_bandwidth", "memory_copy.copy_bandwidth"}) {
      copies = measured(metric, "");
      copy = best(copies);
      if (copy != nullptr && copy->low > 0) break;
      copy = nullptr;
    }
    const double stage = copy ? apply("E6", {{"transfer_bytes", bytes / job_.cluster.nodes},
                                             {"path_bytes_per_s", copy->per_client()}})
                                    .value()
                              : plan.stall;
    Fix fix;
    fix.fix = "async";
    fix.title = "Save asynchronously: copy to host memory, write behind";
    fix.command = command_for("checkpoint_write*async*", all_.job_file);
    if (plan.interval <= stage) return;
    const auto drain = apply("E7", {{"checkpoint_bytes", bytes},
                                    {"interval_s", plan.interval},
                                    {"stage_time_s", stage},
                                    {"duty_ratio", plan.duty}});
    fix.explanation = fmt::format(
        "Blocks {} for the copy ({}), then {} is enough to write before the next save (E7).",
        format_duration(stage), copy ? copy->name() : "as the job allows",
        format_quantity(drain.value(), Dimension::bytes_per_second));
    std::vector<const Measurement*> parts{&phase.used};
    if (copy) parts.push_back(copy);
    add(std::move(fix), phase, phase.supply.value, worse(Basis::modelled, phase.supply.basis),
        parts, drain.value() / job_.cluster.gpus());
  }

  void sharding(const Phase& phase) {
    using requirements::Sharding;
    const double bytes =
        *job_.model.parameters * job_.checkpoint->bytes_per_parameter + job_.checkpoint->extra;
    const auto even = requirements::derive_needs(job_);
    double required = 0;
    for (const requirements::Need& need : even)
      if (need.id == "checkpoint.write_bandwidth" && need.scope == requirements::Scope::cluster)
        required = need.required;
    if (required <= 0 || phase.demand.required <= required * 1.001) return;
    Fix fix;
    fix.fix = "sharding";
    fix.title = "Spread weights and optimizer over all ranks (ZeRO-3, or a fully parallel save)";
    fix.explanation = fmt::format(
        "Every rank writes {} (E3); now the node that also writes the weights has {:.3g} times the "
        "mean (E4), and all wait for it.",
        format_quantity(bytes / job_.cluster.gpus(), Dimension::bytes),
        phase.demand.required / required);
    fix.command =
        fmt::format("headrace size {} --set parallelism.sharding=zero3 --runs ...", all_.job_file);
    add(std::move(fix), phase, phase.supply.value, worse(Basis::modelled, phase.supply.basis),
        {&phase.used}, required / job_.cluster.gpus());
  }

  void interval(const Phase& phase) {
    if (!all_.calendar || !all_.calendar->best_interval_s || job_.checkpoint->async) return;
    const Calendar& c = *all_.calendar;
    if (std::abs(*c.best_interval_s / c.interval_s - 1) < 0.1) return;
    Fix fix;
    fix.fix = "interval";
    fix.title = fmt::format("Save every {}, not {}", format_duration(*c.best_interval_s),
                            format_duration(c.interval_s));
    fix.explanation = fmt::format(
        "Loses the least time with this save and this rate of failures (E16); each save still "
        "blocks {}.",
        format_duration(c.stall_s));
    fix.command = fmt::format("headrace size {} --set checkpoint.interval={:.0f}s --runs ...",
                              all_.job_file, *c.best_interval_s);
    add(std::move(fix), phase, phase.supply.value, worse(Basis::modelled, phase.supply.basis),
        {&phase.used}, phase.demand.per_gpu);
  }

  /// So much more of the same that every phase has what it needs.
  void more_storage() {
    double times = 1;
    const Phase* first = nullptr;
    for (const Phase& p : all_.phases) {
      if (kind_of(p.phase).per_node || p.outcome == Outcome::pass) continue;
      const double lacking = p.demand.need / p.supply.value.low;
      if (!std::isfinite(lacking) || lacking <= times) continue;
      times = lacking;
      first = &p;
    }
    if (first == nullptr) return;
    times = std::ceil(times * 10) / 10;
    const auto more = [&](const Phase& p) {
      return Bounded{p.supply.value.median * times, p.supply.value.low * times,
                     p.supply.value.high * times};
    };
    Fix fix;
    fix.fix = "storage";
    fix.title = fmt::format("{:.1f} times this storage", times);
    fix.explanation =
        "Extrapolated: as if servers added up and nothing else came to limit. Treat it as a guess.";
    fix.command = command_for(job_, first->phase, all_.job_file);
    Change& change = add(std::move(fix), *first, more(*first), Basis::extrapolated, {&first->used},
                         first->demand.per_gpu);
    for (const Phase& p : all_.phases)
      if (!kind_of(p.phase).per_node)
        change.fed[p.phase] = sizing::gpus_fed(more(p), p.demand.per_gpu, job_.safety);
  }

  static Basis worse(Basis a, Basis b) { return std::max(a, b); }

  /// What the whole job has fed when the fix's phases are as it has them.
  void effect(Change& change) const {
    Fix& fix = change.fix;
    if (!fix.phase_gpus_fed) return;
    const double gpus = job_.cluster.gpus();
    Bounded fed{gpus, gpus, gpus};
    for (const Phase& p : all_.phases) {
      const auto changed = change.fed.find(p.phase);
      const Bounded& own = changed == change.fed.end() ? p.gpus_fed : changed->second;
      fed = {std::min(fed.median, own.median), std::min(fed.low, own.low),
             std::min(fed.high, own.high)};
    }
    fix.capped = fed.median >= gpus;
    fix.gpus_fed = fed;
  }

  /// Larger is better: gain of the whole job, gain of the phase alone, then how well it is known.
  std::tuple<double, double, int> rank(const Fix& fix) const {
    if (!fix.gpus_fed) return {-1, 0, 0};
    const double own = std::min(fix.phase_gpus_fed->median, job_.cluster.gpus());
    return {fix.gpus_fed->median, own, -static_cast<int>(*fix.basis)};
  }

  const Sizing& all_;
  const Job& job_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<Fix> fixes_of(const Sizing& sizing) { return Fixes(sizing).take(); }

}  // namespace headrace::sizing
