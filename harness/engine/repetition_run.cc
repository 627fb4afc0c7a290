// One repetition, phase by phase.
#include "harness/engine/repetition_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include "harness/backends/engines.h"
#include "harness/backends/formats/bad_sample.h"
#include "harness/backends/loader.h"
#include "harness/backends/object_store.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"
#include "harness/base/random.h"
#include "harness/base/units.h"
#include "harness/base/utc.h"
#include "harness/engine/ledger.h"
#include "harness/engine/phase_result.h"
#include "harness/engine/probe.h"
#include "harness/engine/watched.h"
#include "harness/engine/worker_threads.h"
#include "harness/record/file_table.h"
#include "harness/record/recorder.h"
#include "harness/workload/data/cache_control.h"
#include "harness/workload/workload.h"

namespace headrace::engine {
namespace {

// The sentence for operations that failed: which part, which file, where, why, how many.

/// "read of /data/d000/f000001.bin at offset 4096: Input/output error (EIO); 3 operations failed". `files` may be
/// nullptr: then the file's number replaces its name.
std::string describe(const OperationError& error, std::uint64_t count, std::span<const std::string> parts,
                     const FileTable* files) {
  const std::string part = error.part >= 1 && error.part <= parts.size() ? parts[error.part - 1u] : "operation";
  const std::string file = files != nullptr && error.file < files->count() ? files->full_path(error.file)
                                                                           : fmt::format("file {}", error.file);
  const std::string at = error.offset == OperationError::kNoOffset ? "" : fmt::format(" at offset {}", error.offset);
  std::string why;
  if (error.code == OperationError::kShortRead) {
    why = files != nullptr && files->holds_objects()
              ? "fewer bytes came than the object had when the data set was opened"
              : "the file ended early: it is shorter than when the data set was opened";
  } else if (error.code == OperationError::kWrongData) {
    why = "the data differs from the written data";
  } else if (error.code == OperationError::kBadSample) {
    const auto flaw = static_cast<formats::Flaw>(error.flaw);
    const std::string plural = count == 1 ? "" : "s";
    if (is_other_image(flaw))
      return fmt::format("{}: {}: {}; {} sample{} cannot be used", file, to_string(flaw), formats::kOtherImages, count,
                         plural);
    return fmt::format("{}{}: {}; {} bad sample{}", file, at, to_string(flaw), count, plural);
  } else if (error.code == OperationError::kChanged) {
    why = "the object was replaced after the data set was opened";
  } else if (error.code == OperationError::kRangeIgnored) {
    why = "the server gave the whole object where a range was asked for (200 instead of 206)";
  } else if (error.code <= OperationError::kHttp) {
    const int status = OperationError::kHttp - error.code;
    why = fmt::format("the server answered {}{}", status,
                      status == 503 || status == 429 ? ", which asks for fewer requests: the store throttles" : "");
  } else {
    why = errno_text(error.code);
  }
  return fmt::format("{} of {}{}: {}; {} operation{} failed", part, file, at, why, count, count == 1 ? "" : "s");
}

/// Two repetitions of a run differ, the same repetition of two points does not: both read in the
/// same order.
std::uint64_t repetition_seed(std::uint64_t seed, unsigned index) { return mix(seed + index * 0x9e3779b97f4a7c15u); }

constexpr std::uint32_t kLookedAtAgain = 2000;  // files, after a repetition; before each, all are

/// The survey of files that must come from storage: made when they are first read, and kept. nullptr where the state
/// does not concern storage.
const FileSurvey* known_files(CacheState state, const FileTable& files, const CacheUse& use,
                              std::optional<FileSurvey>& known, const DataProgress& progress) {
  const bool from_storage = state == CacheState::cold || state == CacheState::bypassed;
  if (use.names_only || files.is_device() || files.holds_objects() || !from_storage) return nullptr;
  if (known) {
    check_unchanged(files, *known, progress);
  } else {
    const auto mount = system::mount_of(files.root());
    const bool stable = mount && system::is_counted_file_system(mount->type) && mount->type != "overlay";
    known = survey(files, stable, progress);
  }
  return &*known;
}

/// Takes a workload's own metrics. A name outside the catalogue or a value that is no number is our own bug.
class CheckedSink final : public MetricSink {
 public:
  CheckedSink(const std::vector<MetricInfo>& catalogue, std::vector<MetricValue>& values)
      : catalogue_(catalogue), values_(values) {}
  void put(std::string_view name, double value, double seconds) override {
    const bool known =
        std::any_of(catalogue_.begin(), catalogue_.end(), [&](const MetricInfo& m) { return m.name == name; });
    if (!known || !std::isfinite(value)) {
      std::fprintf(stderr, "%s:%d: metric %s = %g: %s\n", __FILE__, __LINE__, std::string(name).c_str(), value,
                   known ? "not finite" : "not in the workload's catalogue");
      std::abort();
    }
    values_.push_back({std::string(name), value, seconds});
  }

 private:
  const std::vector<MetricInfo>& catalogue_;
  std::vector<MetricValue>& values_;
};

void put_latencies(const Histogram& h, const std::string& prefix, MetricSink& sink) {
  if (h.total() == 0) return;
  for (const Metric& m : standard_metrics()) {
    if (const auto share = percentile_of(m.name)) sink.put(prefix + std::string(m.name), h.percentile(*share));
  }
  sink.put(prefix + "latency_max_ns", static_cast<double>(h.max_ns()));
}

}  // namespace

/// The state of one repetition while it runs.
class RepetitionRunner::Attempt {
 public:
  Attempt(RepetitionRunner& runner, unsigned index, unsigned look)
      : runner_(runner),
        point_(runner.point_),
        workload_(*point_.workload),
        files_(files_of(workload_)),
        takes_part_(runner.node_.team_index() < runner.node_.team().size()) {
    result_.index = index;
    result_.look = look;
    result_.cache = nothing_proven(point_.cache);
    seed_ = repetition_seed(runner.plan_.seed, index);
  }

  Repetition run() {
    measure();
    if (runner_.rank_sync_.alone() || lost_) return std::move(result_);
    try {
      return runner_.rank_sync_.merged(std::move(result_), runner_.node_.team(), point_.info->traits.across_ranks,
                                       runner_.catalogue(), slowest_);
    } catch (const RanksError& e) {
      lose(e.what());
      return std::move(result_);
    }
  }

 private:
  void measure() {
    const bool minds = runner_.limits_.mind_neighbours;
    const double before = minds ? runner_.probe() : -1;
    const std::vector<PhaseSpec> phases = workload_.phases();
    for (unsigned p = 0; p < phases.size() && result_.status == RepetitionStatus::ok; ++p) {
      if (stop_signal.load() != 0) result_.status = RepetitionStatus::interrupted;
      try {
        if (result_.status == RepetitionStatus::ok) takes_part_ ? run_one(p, phases[p]) : stand_by(p);
      } catch (const RanksError& e) {
        lose(e.what());
      } catch (const std::exception& e) {
        fail(e.what());
      }
      end_together(p);
    }
    if (runner_.hung_ || lost_) return;
    if (takes_part_) result_.faults = as<UsesDevices>(workload_).faults();
    if (const std::string limit = ledger_.held_to(runner_.io_limits_); !limit.empty())
      runner_.note_ = fmt::format(
          "the limit of this process's control group was reached, {}: that was measured, not the "
          "storage",
          limit);
    if (minds)
      result_.disturbance = ledger_.judge(moved_, before, ledger_.can_drift() ? runner_.probe_after(before) : -1);
    if (result_.status == RepetitionStatus::ok) {
      if (!takes_part_) return;
      try {
        doubt(as<UsesDevices>(workload_).disturbance());
        if (minds) doubt(standstill());
        report();
        result_.pairs = as<JoinsRanks>(workload_).pairs();
        slowest_ = as<JoinsRanks>(workload_).slowest();
      } catch (const std::exception& e) {
        fail(e.what());
      }
    }
  }

  /// A rank is gone: nothing can be measured together any more.
  void lose(std::string why) {
    lost_ = true;
    runner_.hung_ = true;
    fail(std::move(why));
  }
  Word word() const {
    if (runner_.hung_) return {Word::Kind::hung, result_.error};
    if (result_.status == RepetitionStatus::error) return {Word::Kind::failed, result_.error};
    if (result_.status == RepetitionStatus::interrupted) return {Word::Kind::interrupted, ""};
    return {};
  }
  void heed(const Word& all) {
    if (all.kind == Word::Kind::ok || word().kind != Word::Kind::ok) {
      if (all.kind == Word::Kind::hung) runner_.hung_ = true;
      return;
    }
    if (all.kind == Word::Kind::interrupted) {
      result_.status = RepetitionStatus::interrupted;
      return;
    }
    runner_.hung_ = all.kind == Word::Kind::hung;
    fail(all.why);
  }
  /// All start a phase together, or none does.
  bool start_together(const std::string& error) {
    started_together_ = true;
    if (!error.empty()) fail(error);
    heed(runner_.rank_sync_.agree("the start of a phase", word()));
    return result_.status == RepetitionStatus::ok;
  }
  void end_together(unsigned) {
    if (runner_.rank_sync_.alone() || lost_) return;
    try {
      if (!std::exchange(started_together_, false)) {
        start_together("");
        started_together_ = false;
      }
      heed(runner_.rank_sync_.agree("the end of a phase", word()));
    } catch (const RanksError& e) {
      lose(e.what());
    }
  }
  /// Another team measures.
  void stand_by(unsigned) { start_together(""); }

  void fail(std::string why) {
    result_.status = RepetitionStatus::error;
    result_.error = std::move(why);
  }

  std::string standstill() const {
    constexpr double kOfNoAccount = 0.01;  // of the time
    double elapsed_s = 0;
    for (const PhaseResult& phase : result_.phases) elapsed_s += phase.elapsed_s;
    if (stood_still_s_ <= kOfNoAccount * elapsed_s) return "";
    return fmt::format("headrace itself was paused for {} (stopped, frozen or not scheduled)",
                       format_duration(stood_still_s_));
  }

  void doubt(const std::string& why) {
    if (why.empty()) return;
    Disturbance& d = result_.disturbance;
    d.disturbed = true;
    d.why += (d.why.empty() ? "" : "; ") + why;
  }

  void run_one(unsigned number, const PhaseSpec& spec) {
    const bool proves = files_ != nullptr && !spec.keeps_cache;
    CacheProof proof = nothing_proven(point_.cache);
    if (!make_ready(number, proves, proof)) return;

    Counters before, after;
    std::optional<system::ClientCounters> asked_before, asked_after;
    PhaseHooks hooks;
    hooks.ready = [&](const std::string& error) {
      bool go = true;
      try {
        go = runner_.rank_sync_.alone() || start_together(error);
      } catch (const RanksError& e) {
        lose(e.what());
        go = false;
      }
      before = read_counters(runner_.device_);
      asked_before = runner_.client_counters();
      if (result_.began_unix_s == 0) result_.began_unix_s = wall_clock_s();
      return go;
    };
    hooks.ended = [&] {
      result_.ended_unix_s = wall_clock_s();
      after = read_counters(runner_.device_);
      asked_after = runner_.client_counters();
    };
    hooks.live = [this](const LiveRate& rate, double elapsed_s) { runner_.observer_.live(point_, rate, elapsed_s); };
    PhaseEnd end = run_phase({.workload = point_.workload,
                              .phase = number,
                              .repetition = result_.index,
                              .seed = seed_,
                              .duration_s = point_.duration_s,
                              .device = runner_.device_,
                              // Several processes would pin theirs to the same processors.
                              .pinned = point_.info->traits.threads_stay && runner_.node_.ranks().size() == 1},
                             runner_.limits_, hooks);
    if (end.kind == PhaseEnd::Kind::hung) {
      hang(end.error);
      return;
    }
    if (result_.status != RepetitionStatus::ok) return;  // not started, for another rank's sake
    PhaseResult& phase = keep(end, spec, before, after);
    if (asked_before && asked_after) {
      phase.storage_bytes = asked_after->read_bytes - asked_before->read_bytes;
      proof.requests = asked_after->requests - asked_before->requests;
      if (runner_.mount_)
        add(result_.client, calls_between(*asked_before, *asked_after, system::client_counters_of(*runner_.mount_)));
    }
    if (end.kind == PhaseEnd::Kind::failed) return fail(end.error);
    if (end.kind == PhaseEnd::Kind::interrupted) {
      result_.status = RepetitionStatus::interrupted;
      return;
    }
    const std::uint64_t errors = phase.errors + (phase.background ? phase.background->errors : 0);
    if (errors > 0) return fail(first_error(end, errors));
    if (point_.ceiling && phase.bytes_per_s() > *point_.ceiling) {
      return fail(fmt::format("cannot be true: {} is more than the ceiling of {}",
                              format_quantity(phase.bytes_per_s(), Dimension::bytes_per_second),
                              format_quantity(*point_.ceiling, Dimension::bytes_per_second)));
    }
    if (proves) {
      if (proof.counter == CacheProof::kOwnCounter && !after.self_known) proof.counter.clear();
      prove(proof, phase);
    }
  }

  /// The cache state and the workload's own steps before a phase. False: it hung.
  bool make_ready(unsigned number, bool proves, CacheProof& proof) {
    const auto made = std::make_shared<CacheProof>(proof);
    const bool root = runner_.node_.is_root();
    const WatchedEnd end = run_watched(
        "making the cache state", runner_.limits_, {},
        [workload = point_.workload, state = point_.cache, files = files_, made, proves, root, survey = runner_.survey_,
         number, index = result_.index, seed = seed_](const DataProgress& progress) {
          if (proves) {
            const CacheUse use = as<ReadsFiles>(*workload).cache_use();
            const FileSurvey* seen = known_files(state, *files, use, *survey, progress);
            establish(state, *files, {.drop_caches = root, .use = use, .survey = seen, .seed = seed}, *made, progress);
          }
          workload->before_phase(number, index, seed);
        });
    if (end.hung) return hang(end.why);
    proof = *made;
    return true;
  }

  /// Looks at the page cache afterwards. False: it hung.
  bool look_again(CacheProof& proof) {
    const auto resident = std::make_shared<double>(-1);
    const WatchedEnd end = run_watched("checking the page cache", runner_.limits_, {},
                                       [workload = point_.workload, files = files_, resident, seed = seed_,
                                        survey = runner_.survey_](const DataProgress&) {
                                         std::string method;
                                         *resident = resident_share(*files, method, seed);
                                         if (*survey) check_unchanged(*files, **survey, {}, kLookedAtAgain);
                                       });
    if (end.hung) return hang(end.why);
    proof.resident_after = *resident;
    return true;
  }

  bool hang(std::string why) {
    runner_.hung_ = true;
    fail(std::move(why));
    return false;
  }

  PhaseResult& keep(PhaseEnd& end, const PhaseSpec& spec, const Counters& before, const Counters& after) {
    TimeSeries series;
    const auto parts = static_cast<unsigned>(runner_.parts_.size());
    PhaseResult phase = phase_result(end, as<SavesCheckpoints>(workload_).background_workers(), parts, series);
    Ledger ledger;
    ledger.add(before, after);
    ledger_.add(before, after);
    stood_still_s_ += end.stood_still_s;
    phase.name = spec.name;
    phase.cpu_s = ledger.cpu_s();
    phase.storage_bytes = ledger.storage_bytes();
    phase.device_bytes = ledger.device_bytes();
    moved_ += phase.bytes + (phase.background ? phase.background->bytes : 0);
    phase.must_be = level_of(phase, spec);
    // Several ranks would each cut another warm-up; and where the change is measured, none is cut.
    const bool cuts = point_.cache != CacheState::cold && runner_.rank_sync_.alone() && !spec.varies;
    store_series(series, cuts ? Window::settled : Window::whole, phase, runner_.starts_[spec.name]);
    if (!phase.not_steady.empty() && result_.steady) {
      result_.steady = false;
      result_.steady_why = phase.not_steady;
    }
    result_.phases.push_back(std::move(phase));
    return result_.phases.back();
  }

  Level level_of(const PhaseResult& phase, const PhaseSpec& spec) const {
    // A phase that continues with the present cache cannot be level: its hits change as it goes.
    if (spec.keeps_cache || spec.varies) return Level::any;
    const bool each_byte_once = files_ && phase.bytes == files_->total_bytes();
    return point_.cache == CacheState::cold && each_byte_once ? Level::no_fall : Level::level;
  }

  std::string first_error(const PhaseEnd& end, std::uint64_t count) const {
    for (const auto& r : end.recorders) {
      if (r->errors() > 0) return describe(r->kept_errors()[0], count, runner_.parts_, files_);
    }
    return "";
  }

  void prove(CacheProof& proof, const PhaseResult& phase) {
    proof.delivered_bytes = phase.bytes;
    proof.operations = phase.operations;
    proof.storage_bytes = phase.storage_bytes;
    proof.device_bytes = phase.device_bytes;
    if (!proof.use.names_only && !look_again(proof)) return;
    judge(proof);
    if (proofs_++ == 0)
      result_.cache = proof;
    else
      add(result_.cache, proof);
  }

  void report() {
    CheckedSink checked(runner_.catalogue_, result_.metrics);
    MetricSink& sink = checked;
    workload_.report(result_, sink);
    Histogram whole;
    std::vector<Histogram> parts(runner_.parts_.size());
    double elapsed_s = 0, cpu_s = 0;
    for (const PhaseResult& phase : result_.phases) {
      whole.merge(phase.latency);
      for (std::size_t p = 0; p < parts.size(); ++p) parts[p].merge(phase.parts[p]);
      elapsed_s += phase.elapsed_s;
      cpu_s += phase.cpu_s;
    }
    if (!phases_differ(workload_)) put_latencies(whole, "", sink);
    sink.put("elapsed_s", elapsed_s);
    sink.put("cpu_s", cpu_s);
    for (std::size_t p = 0; p < parts.size(); ++p) put_latencies(parts[p], runner_.parts_[p] + "_", sink);
  }

  RepetitionRunner& runner_;
  const Point& point_;
  Workload& workload_;
  const FileTable* files_;
  std::uint64_t seed_ = 0;
  Repetition result_;
  Ledger ledger_;
  std::uint64_t moved_ = 0;  // bytes read, and written by the work in the background
  double stood_still_s_ = 0;
  unsigned proofs_ = 0;
  std::optional<unsigned> slowest_;
  bool takes_part_, started_together_ = false, lost_ = false;
};

RepetitionRunner::RepetitionRunner(const Plan& plan, const Point& point, Node& node, RunObserver& observer,
                                   const EngineLimits& limits)
    : plan_(plan),
      point_(point),
      node_(node),
      observer_(observer),
      limits_(limits),
      rank_sync_(node.ranks()),
      parts_(point.workload->latency_parts()) {
  catalogue_ = metric_catalogue(*point.info, parts_, as<UsesDevices>(*point.workload).devices());
  const FileTable* files = files_of(*point.workload);
  const bool objects = files != nullptr && files->holds_objects();
  if (objects) store_ = node.backends().storage(object_engine()).object_store();
  if (files != nullptr && !files->is_device() && !objects) mount_ = system::mount_of(files->root());
  const std::string place = files != nullptr ? files->place() : node.scratch_path();
  if (!objects && !is_object_path(place)) device_ = system::device_of(place);
  io_limits_ = system::io_limits(system::cgroup_limits(), device_ ? system::disk_number(*device_) : "none");
}

double RepetitionRunner::probe() {
  constexpr std::uint64_t kFresh_ns = 500'000'000;
  if (probed_ns_ == 0 || now_ns() - probed_ns_ > kFresh_ns) {
    probe_ = take_probe();
    probed_ns_ = now_ns();
  }
  return probe_;
}

double RepetitionRunner::probe_after(double before) {
  probe_ = take_probe_after(before);
  probed_ns_ = now_ns();
  return probe_;
}

std::optional<system::ClientCounters> RepetitionRunner::client_counters() const {
  if (store_ != nullptr) {
    const RequestCounts counts = store_->counts();
    return system::ClientCounters{counts.received, counts.requests};
  }
  return mount_ ? system::read_client_counters(*mount_) : std::nullopt;
}

Repetition RepetitionRunner::run(unsigned index, unsigned look) { return Attempt(*this, index, look).run(); }

}  // namespace headrace::engine
