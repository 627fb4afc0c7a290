// Changes that would feed more GPUs, ranked; each with its basis: measured, from measured parts, or a guess. The
// promise of a changed job is its own sizing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <tuple>

#include "harness/analysis/sizing/parts.h"
#include "harness/base/units.h"

namespace headrace::sizing {
namespace {

using job::apply;
using job::DomainError;
using job::Job;
using job::Layout;
using job::setting;
using job::setting_number;
using job::way_of;

class Fixes {
 public:
  explicit Fixes(const Sizing& sizing)
      : all_(sizing), job_(sizing.job), commands_(job_, sizing.job_file, sizing.sessions) {}

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
    std::stable_sort(fixes_.begin(), fixes_.end(), [this](const Fix& a, const Fix& b) { return rank(a) > rank(b); });
    return std::move(fixes_);
  }

 private:
  const Phase* phase(std::string_view name) const { return find(all_.phases, name); }
  static const Phase* find(std::span<const Phase> phases, std::string_view name) {
    for (const Phase& p : phases)
      if (p.phase == name && p.curve) return &p;
    return nullptr;
  }

  std::vector<Measurement> measured(const std::string& metric, const std::string& cache) const {
    return measurements(all_.sessions, std::vector{metric}, cache);
  }
  static const Measurement* best(const std::vector<Measurement>& all) {
    const auto found = std::max_element(all.begin(), all.end(), [](const Measurement& a, const Measurement& b) {
      return a.per_client() < b.per_client();
    });
    return found == all.end() ? nullptr : &*found;
  }

  /// Is there such a fix of the phase already?
  bool has(const Phase& phase, std::string_view name) const {
    return std::any_of(fixes_.begin(), fixes_.end(),
                       [&](const Fix& fix) { return fix.phase == phase.phase && fix.fix == name; });
  }

  void add_unmeasured(Fix fix, const Phase& phase) {
    fix.phase = phase.phase;
    fixes_.push_back(std::move(fix));
  }

  /// A fix after which the job's phases are `after`.
  void add(Fix fix, const Phase& phase, std::span<const Phase> after, Basis basis) {
    const Phase* changed = find(after, phase.phase);
    if (changed == nullptr) return add_unmeasured(std::move(fix), phase);
    fix.phase = phase.phase;
    fix.basis = basis;
    fix.phase_headroom = changed->headroom;
    fix.phase_gpus_fed = changed->gpus_fed;
    fix.gpus_fed = gpus_fed(job_, after);
    fix.from = changed->gpus_fed ? changed->fed_from : changed->demand.from;
    fix.capped =
        std::all_of(after.begin(), after.end(), [](const Phase& p) { return !p.curve || p.headroom.mean >= 1; });
    if (fix.built_on.empty()) fix.built_on = {changed->used.name()};
    if (basis == Basis::extrapolated)
      fix.explanation += fmt::format(" Extrapolated from {}.", fmt::join(fix.built_on, ", "));
    fixes_.push_back(std::move(fix));
  }

  /// The phases of the job with `change` made. Nothing: there can be no such job.
  std::optional<std::vector<Phase>> with(const std::function<void(Job&)>& change) const {
    Job job = job_;
    try {
      change(job);
      job::derive_values(job);
      return phases_of(job, job::derive_needs(job), all_.sessions);
    } catch (const DomainError&) {
      return std::nullopt;
    }
  }
  /// A fix that is a change of the job's own keys, as `fix.set` writes it. Nothing happens when the
  /// phase then has no more than it had.
  void add_change(Fix fix, const Phase& phase, const std::function<void(Job&)>& change,
                  Basis at_best = Basis::measured) {
    const auto after = with(change);
    if (!after) return;
    fix.command = commands_.size_with(fix.set);
    const Phase* changed = find(*after, phase.phase);
    const Basis basis = changed ? std::max(at_best, changed->supply.basis) : at_best;
    add(std::move(fix), phase, *after, basis);
  }
  /// A fix after which the phases have another supply.
  void add_supply(Fix fix, const Phase& phase, const std::function<void(Phase&)>& change, Basis basis) {
    std::vector<Phase> after = all_.phases;
    for (Phase& p : after) change(p);
    add(std::move(fix), phase, after, basis);
  }
  void supply(Phase& p, const Bounded& value) const {
    p.supply.value = value;
    const double need = p.need_here();
    p.headroom = {value.mean / need, value.low / need, value.high / need};
    if (!p.gpus_fed) return;
    p.gpus_fed = sizing::gpus_fed(value, p.demand.per_gpu, job_.safety);
    p.fed_from = fed_from(value, p.demand.per_gpu, job_.safety, p.unit);
  }

  /// The supply for the nodes of the phase. Nothing: fewer measured it, and the growth is unknown.
  static std::optional<Curve::Value> on_nodes_of(const Phase& phase, const Measurement& m) {
    const Curve curve({m}, kind_of(phase.phase).per_node);
    if (curve.reach(phase.nodes) < phase.nodes) return std::nullopt;
    return curve.at(phase.nodes);
  }

  /// Points of the same need that were measured with other settings and gave more.
  void other_points(const Phase& phase) {
    std::vector<Measurement> better;
    for (const Measurement& m : phase.alternatives)
      if (m.clients == phase.used.clients && m.low > phase.used.high) better.push_back(m);
    std::sort(better.begin(), better.end(), [](const Measurement& a, const Measurement& b) { return a.mean > b.mean; });
    for (const Measurement& m : better) {
      Fix fix;
      fix.fix = kind_of_difference(phase.used, m);
      fix.title = difference(phase.used, m);
      // How many reads a loader keeps in flight is how it is made, no setting of the job.
      if (fix.title.empty() || fix.fix == "engine" || has(phase, fix.fix)) continue;
      fix.explanation = fmt::format("{} instead of {}, on this storage.", format_in_unit(m.mean, phase.unit),
                                    format_in_unit(phase.used.mean, phase.unit));
      fix.built_on = {m.name()};
      if (fix.fix == "requests") {
        const double size = setting_number(m.point().params, "block_size");
        fix.set = {fmt::format("dataset.request_size={:.0f}B", size)};
        add_change(std::move(fix), phase, [&](Job& job) { job.dataset.request_size = size; });
        continue;
      }
      if (!likeness(job_, m).answers) continue;  // other files are no setting
      const double workers = setting_number(m.point().params, "workers");
      const double per_gpu = workers / job_.cluster.gpus_per_node;
      if (fix.fix == "workers" && way_of(job_).workers > 0 && per_gpu == std::floor(per_gpu)) {
        fix.set = {fmt::format("loader.workers_per_gpu={:.0f}", per_gpu)};
        add_change(std::move(fix), phase, [&](Job& job) { job.loader.workers_per_gpu = per_gpu; });
        continue;
      }
      fix.command = commands_.again(m);
      const auto v = on_nodes_of(phase, m);
      if (!v) {
        add_unmeasured(std::move(fix), phase);
        continue;
      }
      add_supply(
          std::move(fix), phase,
          [&](Phase& p) {
            if (p.phase == phase.phase) supply(p, {v->mean, v->low, v->high});
          },
          v->basis);
    }
  }

  /// Was a point with more of this, and the same engine, measured as well, with any result?
  static bool was_raised(const Phase& phase, std::string_view key) {
    const double now = setting_number(phase.used.point().params, key);
    return std::any_of(phase.alternatives.begin(), phase.alternatives.end(), [&](const Measurement& m) {
      return setting_number(m.point().params, key) > now && kind_of_difference(phase.used, m) != "engine";
    });
  }

  /// "workers", "requests", "engine": the difference of the second from the first; several are "settings".
  static std::string kind_of_difference(const Measurement& a, const Measurement& b) {
    std::set<std::string> keys;
    for (const auto& [key, value] : b.point().params)
      if (setting(a.point().params, key) != value) keys.insert(key);
    if (keys.contains("engine")) return "engine";
    if (keys.size() != 1) return "settings";
    if (keys.contains("workers") || keys.contains("ranks")) return "workers";
    return keys.contains("block_size") ? "requests" : "settings";
  }

  static std::string difference(const Measurement& a, const Measurement& b) {
    std::string out;
    for (const auto& [key, value] : b.point().params) {
      const std::string before = setting(a.point().params, key);
      if (before == value || before.empty()) continue;
      const bool size = key.ends_with("_size") && key != "batch_size";
      const auto describe = [&](const std::string& v) {
        return size ? compact_quantity(std::atof(v.c_str()), Dimension::bytes) : v;
      };
      out += fmt::format("{}{} {}, not {}", out.empty() ? "" : "; ", key, describe(value), describe(before));
    }
    std::ranges::replace(out, '_', ' ');
    if (!out.empty()) out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
    return out;
  }

  /// Packing samples into shards changes how bytes are read and how often files are opened.
  void shards() {
    const Phase *cold = phase("cold_epoch"), *names = phase("metadata");
    const auto missed = [](const Phase* p) { return p && p->outcome != Outcome::pass; };
    if (job_.dataset.layout != Layout::files || (!missed(cold) && !missed(names))) return;
    constexpr double kShardBytes = 256e6;
    const double samples = std::max(1.0, std::floor(kShardBytes / job_.dataset.sample_size));
    Fix fix;
    fix.fix = "shards";
    fix.title = "Pack the samples into shards";
    fix.set = {"dataset.layout=shards", fmt::format("dataset.samples_per_file={:.0f}", samples)};
    const std::string opens = fmt::format(
        "A shard of {} has {:.0f} samples and needs one file open. headrace pack makes shards of a "
        "folder of images.",
        format_quantity(kShardBytes, Dimension::bytes), samples);
    const Phase& of = missed(cold) || names == nullptr ? *cold : *names;
    const auto read = measured("shard_stream.read_bandwidth", "cold");
    if (read.empty()) {
      fix.explanation = "Shard reads were not measured here. " + opens;
      fix.command = commands_.measure_points("shard_stream", "shard_stream*", "cold");
      fix.set.clear();
      return add_unmeasured(std::move(fix), of);
    }
    fix.explanation = opens;
    if (cold != nullptr)
      fix.explanation =
          fmt::format("Reading shards in order gave {}, one file per sample {}. {}",
                      format_in_unit(best(read)->mean, cold->unit), format_in_unit(cold->used.mean, cold->unit), opens);
    for (const Measurement& m : read) fix.built_on.push_back(m.name());
    add_change(std::move(fix), of, [&](Job& job) {
      job.dataset.layout = Layout::shards;
      job.dataset.samples_per_file = samples;
    });
  }

  void more_workers(const Phase& phase) {
    const double now = setting_number(phase.used.point().params, "workers"), planned = way_of(job_).workers;
    if (now <= 0 || has(phase, "workers") || was_raised(phase, "workers")) return;  // measured already
    if (phase.used.point().workload != "small_file_read") return;
    // Each worker waits for its own reads: twice as many get twice as much, up to the best reader's rate.
    const auto shards = measured("shard_stream.read_bandwidth", "cold");
    const Measurement* ceiling = best(shards);
    constexpr double kMost = 1024;  // the most that the workload can start
    const double gpus = job_.cluster.gpus_per_node;
    const double per_gpu = std::ceil(std::min(kMost, now * phase.need_here() / phase.supply.value.low) / gpus);
    const double wanted = per_gpu * gpus;
    if (!(wanted > std::max(now, planned)) || wanted > kMost) return;  // the job has as many
    Fix fix;
    fix.fix = "workers";
    fix.title = planned > 0 ? fmt::format("{:.0f} reading workers per node, not {:.0f}", wanted, planned)
                            : fmt::format("{:.0f} reading workers per node, not the {:.0f} measured", wanted, now);
    fix.command = fmt::format("{} --set job.loader.workers_per_gpu={:.0f}", commands_.measure("cold_epoch"), per_gpu);
    const auto most = ceiling == nullptr ? std::nullopt : on_nodes_of(phase, *ceiling);
    if (!most) {
      fix.explanation = "How much more they would get was not measured.";
      return add_unmeasured(std::move(fix), phase);
    }
    const double times = wanted / now;
    const Bounded value{std::min(phase.supply.value.mean * times, most->mean),
                        std::min(phase.supply.value.low * times, most->low),
                        std::min(phase.supply.value.high * times, most->high)};
    if (value.mean <= phase.supply.value.high) return;  // the ceiling is reached already
    fix.explanation = fmt::format("If waiting is all that limits them: in proportion, up to the {} that shards gave.",
                                  format_in_unit(ceiling->mean, phase.unit));
    fix.built_on = {phase.used.name(), ceiling->name()};
    add_supply(
        std::move(fix), phase,
        [&](Phase& p) {
          if (p.phase == phase.phase) supply(p, value);
        },
        std::max(Basis::modelled, std::max(most->basis, phase.supply.basis)));
  }

  void larger_requests(const Phase& phase) {
    if (job_.dataset.layout == Layout::files || has(phase, "requests") || was_raised(phase, "block_size")) return;
    const double now = job_.dataset.request_size, larger = std::max(1048576.0, now * 8);
    Fix fix;
    fix.fix = "requests";
    fix.title = fmt::format("Requests of {}, not {}", format_quantity(larger, Dimension::bytes, true),
                            format_quantity(now, Dimension::bytes, true));
    fix.explanation = "Larger requests were not measured here.";
    fix.command = fmt::format("{} --set job.dataset.request_size={:.0f}B", commands_.measure("cold_epoch"), larger);
    add_unmeasured(std::move(fix), phase);
  }

  /// Keeping data near helps from the second epoch on: the first stays as it is.
  void local_cache(const Phase& phase) {
    if (!job_.dataset.samples || job_.local_cache || job_.cache) return;
    Fix fix;
    fix.fix = "local_cache";
    fix.title = "Keep the data on local disks after the first epoch";
    const double bytes = *job_.dataset.samples * job_.dataset.stored_size();
    const double digit = std::pow(10, std::floor(std::log10(bytes)) - 2);  // the third: enough to read and to type
    std::string capacity = format_quantity(std::ceil(bytes / digit) * digit, Dimension::bytes);
    std::erase(capacity, ' ');
    fix.set = {"local_cache.capacity=" + capacity};
    fix.explanation =
        "From the second epoch on storage serves only the rest that does not fit. The first epoch stays the "
        "same.";
    fix.command = commands_.size_with(fix.set);
    fix.set.clear();  // nothing that was measured changes by it
    add_unmeasured(std::move(fix), phase);
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
    const double stage =
        copy ? apply("E6", {{"transfer_bytes", bytes * phase.demand.largest_writer / job_.cluster.nodes},
                            {"path_bytes_per_s", copy->per_client()}})
                   .value()
             : plan.stall;
    Fix fix;
    fix.fix = "async";
    fix.title = "Save asynchronously: copy to host memory, write behind";
    fix.set = {"checkpoint.mode=async"};
    fix.explanation = fmt::format("Blocks {} for the copy ({}), then writes until the next save.",
                                  format_duration(stage), copy ? copy->name() : "as the job allows");
    fix.built_on = {phase.used.name()};
    if (copy) fix.built_on.push_back(copy->name());
    add_change(
        std::move(fix), phase, [](Job& job) { job.checkpoint->async = true; }, Basis::modelled);
  }

  void sharding(const Phase& phase) {
    using job::Sharding;
    if (phase.demand.largest_writer <= 1.001) return;
    const double bytes = *job_.model.parameters * job_.checkpoint->bytes_per_parameter + job_.checkpoint->extra;
    Fix fix;
    fix.fix = "sharding";
    fix.title = "Spread weights and optimizer over all ranks (ZeRO-3, or a fully parallel save)";
    fix.set = {"parallelism.sharding=zero3"};
    fix.explanation = fmt::format(
        "Every rank writes {}; now the node that also writes the weights has {:.3g} times the "
        "mean, and all wait for it.",
        format_quantity(bytes / job_.cluster.gpus(), Dimension::bytes), phase.demand.largest_writer);
    add_change(
        std::move(fix), phase, [](Job& job) { job.parallelism.sharding = Sharding::zero3; }, Basis::modelled);
  }

  void interval(const Phase& phase) {
    if (!all_.calendar || !all_.calendar->best_interval_s || job_.checkpoint->async) return;
    const Calendar& c = *all_.calendar;
    const double best = std::round(*c.best_interval_s);
    if (best <= 0 || std::abs(best / c.interval_s - 1) < 0.1) return;
    Fix fix;
    fix.fix = "interval";
    fix.title = fmt::format("Save every {}, not {}", format_duration(best), format_duration(c.interval_s));
    fix.set = {fmt::format("checkpoint.interval={:.0f}s", best)};
    fix.explanation = fmt::format(
        "Loses the least time with this save and this rate of failures; each save still "
        "blocks {}.",
        format_duration(c.stall_s));
    add_change(
        std::move(fix), phase, [&](Job& job) { job.checkpoint->interval = best; }, Basis::modelled);
  }

  /// Multiplies the storage until every phase has its need.
  void more_storage() {
    double times = 1;
    const Phase* first = nullptr;
    for (const Phase& p : all_.phases) {
      if (kind_of(p.phase).per_node || p.outcome == Outcome::pass || (p.local && !p.whole)) continue;
      const double lacking = p.need_here() / p.supply.value.low;
      if (!std::isfinite(lacking) || lacking <= times) continue;
      times = lacking;
      first = &p;
    }
    if (first == nullptr) return;
    times = std::ceil(times * 10) / 10;
    Fix fix;
    fix.fix = "storage";
    fix.title = fmt::format("{:.1f} times this storage", times);
    fix.explanation = "Estimate: assumes linear scaling and no other bottleneck.";
    fix.command = commands_.measure(first->phase);
    add_supply(
        std::move(fix), *first,
        [&](Phase& p) {
          const Bounded now = p.supply.value;
          if (!kind_of(p.phase).per_node) supply(p, {now.mean * times, now.low * times, now.high * times});
        },
        Basis::extrapolated);
  }

  /// Larger is better: gain of the whole job, gain of the phase alone, then how well it is known.
  std::tuple<double, double, double, int> rank(const Fix& fix) const {
    if (!fix.phase_headroom) return {-1, -1, 0, 0};
    const double gpus = job_.cluster.gpus();
    const double fed = fix.gpus_fed ? std::min(fix.gpus_fed->mean, gpus) : gpus;
    return {fed, fix.capped ? 1 : 0, std::min(fix.phase_headroom->mean, 1.0), -static_cast<int>(*fix.basis)};
  }

  const Sizing& all_;
  const Job& job_;
  Commands commands_;
  std::vector<Fix> fixes_;
};

}  // namespace

std::vector<Fix> fixes_of(const Sizing& sizing) { return Fixes(sizing).take(); }

}  // namespace headrace::sizing
