#include "harness/engine/plan/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "harness/base/diagnostics.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/engine/plan/benchmark/checkpoints.h"
#include "harness/engine/plan/own_data.h"
#include "harness/engine/plan/rehearsal/entry.h"
#include "harness/engine/plan/rehearsal/loading.h"
#include "harness/engine/plan/rehearsal/saves.h"
#include "harness/engine/plan/time_share.h"
#include "harness/job/epoch.h"

namespace headrace {
namespace {

using config::Value;
using job::Job;
using job::Layout;
using job::LoaderKind;
using rehearsal::number;
using rehearsal::rows_of_group;
using rehearsal::with;

constexpr double kSteps = 16;             // that show how even they are
constexpr double kStepsOfEachWorker = 4;  // the first of each is prepared while the pipeline fills
constexpr double kFewestSteps = 6;
constexpr unsigned kFewestBeside = 3;  // repetitions of each other point: longer ones report more of an epoch

std::string seconds(double s) { return format_quantity(s, Dimension::seconds); }

/// Is it this entry that reads as the job does?
bool reads(const Value& entry) {
  const Value* label = entry.find("label");
  if (label == nullptr || label->text != rehearsal::kJob) return false;
  for (const char* one : {"small_file_read", "shard_stream", "random_read"})
    if (entry.find("use")->text == one) return true;
  return false;
}

class Rehearsal {
 public:
  Rehearsal(const Job& job, const Means& means) : job_(job), means_(means) {}

  /// `decoding`: the point that measures it alone; none where nothing is decoded.
  FromJob make(Value alone, std::optional<Value> decoding, std::vector<std::string> unproven,
               std::vector<std::string> remarks) {
    reported_ = {std::move(unproven), std::move(remarks)};
    data_bytes_ = means_.data.empty()
                      ? number(alone, "files", Dimension::count) * number(alone, "file_size", Dimension::bytes)
                      : bytes_of_own_data(means_.data);
    share_shards(alone);
    rehearsal::hold_samples(job_, means_, alone);
    tier_ = rehearsal::fills_tier(job_, means_, alone, reported_);
    find_tables(alone);
    const Value without = pipeline(alone);
    const Value whole = saves_ ? rehearsal::saving(job_, means_, without, step_s_, steps_, reported_) : without;
    made_.workloads.kind = Value::Kind::list;
    add(whole, rehearsal::kJob, time_share::kRehearsed);
    if (saves_) {
      reported_.unproven.pop_back();  // of the points that do not save
      add(with(whole, "checkpoint_left_out", "true"), rehearsal::kNoCheckpoint);
    }
    Value free = with(without, "step_time", "0s");
    add(free, rehearsal::kNoStep, 2 * time_share::kAdvice);
    if (tables_)
      add(with(free, "table_decoded", "false"), rehearsal::kNoDecode);
    else if (rehearsal::decodes(job_))
      add(without_decoding(free), rehearsal::kNoDecode);
    else if (job_.dataset.cpu_time_per_sample)
      add(with(free, "cpu_time_per_sample", "0s"), rehearsal::kNoDecode);
    add_in_memory(free);
    const double workers = number(free, "workers", Dimension::count);
    // Own shards do not become more.
    const bool shards_left = means_.data.empty() || alone.find("use")->text != "shard_stream" ||
                             2 * workers * means_.processes <= files_of_own_data(means_.data);
    if (2 * workers <= kMostWorkers && shards_left)
      add(with(free, "workers", fmt::format("{:.0f}", 2 * workers)), rehearsal::kDoubleWorkers);
    const auto ahead_by = [](Value entry, double ahead) {
      return with(std::move(entry), "prefetch_factor", fmt::format("{:.0f}", ahead));
    };
    for (const double each : others_) {
      const Value other = with(without, "workers", fmt::format("{:.0f}", each * workers / own_workers_));
      add(other, rehearsal::setting_label(each, 0).c_str(), time_share::kTried);
      for (const double ahead : aheads_)
        add(ahead_by(other, ahead), rehearsal::setting_label(each, ahead).c_str(), time_share::kTried);
    }
    for (const double ahead : aheads_)
      add(ahead_by(without, ahead), fmt::format("{}{:.0f}", rehearsal::kPrefetch, ahead).c_str(), time_share::kTried);
    add(rehearsal::entry_of("host_facts", alone, {}), "", 0);
    if (decoding && on_gpus()) add(rehearsal::decoded_on_gpus(*decoding), rehearsal::kGpuDecode);
    if (decoding && rehearsal::decodes(job_)) add(std::move(*decoding), rehearsal::kJob);
    if (tier_) add(rehearsal::tier(job_, means_, alone), rehearsal::kTier);
    add(alone, rehearsal::kJob);
    share_time();
    made_.remarks = std::move(reported_.remarks);
    return std::move(made_);
  }

 private:
  /// Shards for twice the workers of every node, too: each has its own.
  void share_shards(Value& alone) const {
    if (alone.find("use")->text != "shard_stream" || !means_.data.empty()) return;
    const double files = number(alone, "files", Dimension::count), size = number(alone, "file_size", Dimension::bytes);
    const double more = 2 * means_.processes;
    alone = with(std::move(alone), "files", fmt::format("{:.0f}", more * files));
    alone = with(std::move(alone), "file_size", fmt::format("{:.0f}B", std::ceil(size / more)));
  }

  void add(Value entry, const char* label, double weight = time_share::kAdvice) {
    if (*label != 0) entry = with(std::move(entry), "label", label);
    made_.workloads.items.push_back(std::move(entry));
    made_.unproven.push_back(reported_.unproven);
    weights_.push_back(weight);
  }

  /// The same loader, its samples in memory.
  void add_in_memory(const Value& free) { add(dropped(with(free, "source", "memory"), "cache"), rehearsal::kInMemory); }

  /// Files that are not decoded cannot be bad; shards are parsed all the same.
  static Value without_decoding(const Value& free) {
    Value undecoded = with(free, "codec", "none");
    return free.find("layout")->text == "files" ? dropped(std::move(undecoded), "on_error") : undecoded;
  }

  static Value dropped(Value entry, std::string_view key) {
    std::erase_if(entry.entries, [key](const Value::Entry& e) { return e.key == key; });
    return entry;
  }

  /// Could GPUs of this node decode the samples?
  bool on_gpus() const { return means_.copies && job_.dataset.codec == job::SampleCodec::jpeg; }

  /// Is there a point without decoding?
  bool has_no_decode() const {
    return tables_ || rehearsal::decodes(job_) || job_.dataset.cpu_time_per_sample.has_value();
  }

  /// The reading part, with a consumer behind it.
  Value pipeline(const Value& alone) {
    static constexpr std::array kTaken{
        "path",        "files",           "file_size",    "file_size_spread", "samples_per_file",
        "sample_size", "block_size",      "read_profile", "loader",           "workers",
        "cache",       "prefetch_factor", "content",      "content_sample",   "engine",
        "queue_depth"};
    static constexpr std::array kLayouts{"files", "shards", "indexed"};
    Value entry = rehearsal::entry_of("input_pipeline", alone, kTaken);
    const std::string& use = alone.find("use")->text;
    const std::size_t layout = use == "small_file_read" ? 0 : use == "shard_stream" ? 1 : 2;
    entry = with(std::move(entry), "layout", kLayouts[layout]);
    // Shards that are made without real samples hold bare bytes, a sample's headers among them.
    const bool bare = layout == 1 && entry.find("content") == nullptr && means_.data.empty();
    const double sample = bare ? job_.dataset.stored_size() : job_.dataset.sample_size;
    entry = with(std::move(entry), "sample_size", fmt::format("{:.0f}B", std::max(1.0, std::round(sample))));
    // GPUs that hold one copy of the model together compute with the same samples.
    const double workers = number(alone, "workers", Dimension::count);
    const double copies = std::floor(job_.cluster.gpus_per_node / job_.gpus_per_replica());
    const double gpus = std::clamp(copies, 1.0, workers);
    if (copies < 1)
      reported_.unproven.push_back(
          fmt::format("the {:.0f} GPUs of one copy of the model lie on several nodes: here one node reads "
                      "for all of them",
                      job_.gpus_per_replica()));
    if (std::fmod(workers, gpus) != 0)
      throw UsageError(
          fmt::format("{:.0f} workers at most are rehearsed, no multiple of {:.0f} GPUs: set "
                      "loader.workers_per_gpu or cluster.gpus_per_node lower",
                      workers, gpus));
    entry = with(std::move(entry), "gpus", fmt::format("{:.0f}", gpus));
    if (tables_)
      entry = with(std::move(entry), "table", "parquet");
    else if (rehearsal::decodes(job_))
      entry = rehearsal::decoded(job_, means_, std::move(entry), layout, reported_);
    else if (job_.dataset.cpu_time_per_sample)
      entry = with(std::move(entry), "cpu_time_per_sample",
                   exact_quantity(*job_.dataset.cpu_time_per_sample, Dimension::seconds));
    copy_to_gpus(entry);
    if (job_.loader.skips_bad_samples && (layout == 1 || tables_ || rehearsal::decodes(job_)) && !means_.data.empty())
      entry = with(std::move(entry), "on_error", "skip");
    if (job_.loader.kind == LoaderKind::in_flight)  // reads alone have no batches
      entry = with(std::move(entry), "prefetch_factor",
                   fmt::format("{:.0f}", std::clamp(job_.loader.prefetch_factor, 1.0, 64.0)));
    own_workers_ = workers / gpus;
    if (means_.tune) {
      // Each worker has a shard; made are some for twice the job's workers.
      const double shards = layout != 1           ? INFINITY
                            : means_.data.empty() ? 2 * workers
                                                  : files_of_own_data(means_.data) / means_.processes;
      others_ = rehearsal::other_workers(own_workers_, std::floor(std::min<double>(kMostWorkers, shards) / gpus));
      aheads_ = rehearsal::other_prefetch(job_);
    }
    // In tf.data all workers prepare each batch together.
    entry = steps(std::move(entry), gpus, job_.loader.kind == LoaderKind::tfdata ? 1 : workers / gpus);
    if (!job_.loader.shuffle_buffer) return entry;
    return rehearsal::mixing(job_, std::move(entry),
                             {.layout = layout, .tables = tables_, .steps = steps_, .workers = workers, .gpus = gpus},
                             reported_);
  }

  /// A benchmark's batches end in host memory.
  void copy_to_gpus(Value& entry) {
    if (!means_.rules.empty()) return;
    const auto& size = job_.dataset.decoded_size;
    if (means_.copies && size)
      entry = with(std::move(entry), "gpu_copy", fmt::format("{:.0f}B", *size));
    else if (means_.copies)
      reported_.remarks.emplace_back(
          "copies to GPUs are not rehearsed: of what size is not known (dataset.decoded_size)");
    else if (size)
      reported_.remarks.emplace_back("copies to GPUs are not rehearsed: there is none here");
  }

  /// Why there is no rehearsal, and what helps. `samples`, `least`: of each GPU. The job's batch does not matter: a
  /// rehearsal takes smaller ones.
  std::string too_little(double gpus, double samples, double at_once, double least) const {
    const char* const fewer = gpus > 1 ? ", or fewer GPUs (--set job.cluster.gpus_per_node=1)" : "";
    if (means_.data.empty())
      return fmt::format(
          "no rehearsal: {:.0f} {} {:.0f} samples{} in the room of {}, less than a batch per worker: --max-write "
          "SIZE{}",
          gpus, gpus > 1 ? "GPUs have" : "GPU has", std::floor(samples), gpus > 1 ? " each" : "",
          format_quantity(data_bytes_, Dimension::bytes), fewer);
    const double files = files_of_own_data(means_.data), all = gpus * means_.processes;
    return fmt::format(
        "no rehearsal: {} has {:.0f} file{} ({}), less than the {:.0f} samples of {} of two batches for each worker: "
        "give more data{}{}",
        means_.data, files, files == 1 ? "" : "s", format_quantity(data_bytes_, Dimension::bytes),
        std::ceil(least * all), format_quantity(job_.dataset.stored_size(), Dimension::bytes),
        at_once > 1 ? ", or fewer workers (--set job.loader.workers_per_gpu=1)" : "", fewer);
  }

  /// Batches of the job's size where there are enough of them for a rehearsal. Else smaller ones that compute for a
  /// shorter time, so the GPUs take as many samples per second. `at_once`: batches that each GPU's workers prepare side
  /// by side.
  Value steps(Value entry, double gpus, double at_once) {
    const double own = std::clamp(job_.step.micro_batch, 1.0, 65536.0), parts = job_.step.accumulation;
    const double samples = data_bytes_ / job_.dataset.stored_size() / gpus / means_.processes;
    const double wanted = std::max(kSteps, kStepsOfEachWorker * at_once / parts);
    const double least =
        (job_.dataset.layout == Layout::files) ? std::ceil(job_.dataset.samples_per_file) : rows_of_group(entry);
    longest_s_ =
        time_share::repetition_s(measuring_s() * time_share::kRehearsed / weights(), time_share::kFewest, beside());
    // A benchmark keeps its batch as long as there is data for a few. Fewer steps are reported; other batches are
    // another workload.
    const bool by_rules = !means_.rules.empty();
    const double by_data = std::floor(samples / (by_rules ? 2 * std::max(1.0, at_once) : wanted) / parts);
    const double by_time = by_rules ? own : std::floor(own * longest_s_ / wanted / job_.step.time);
    const double batch = std::max(least, std::min({own, by_data, by_time}));
    const double step_s = job_.step.time * batch / own;
    step_s_ = step_s;
    steps_ = std::min(std::floor(samples / batch / parts), longest_s_ / step_s);
    if (const double least_samples = 2 * batch * parts * std::max(1.0, at_once / parts); samples < least_samples)
      throw UsageError(too_little(gpus, samples, at_once, least_samples));
    if (kFewestSteps * step_s > longest_s_) {
      const double budget =
          kFewestSteps * step_s * time_share::kFewest * beside() * weights() / time_share::kRehearsed / (1 - making());
      throw UsageError(
          fmt::format("no rehearsal: a step takes {}, and {} of --budget have no room for {:.0f} of them "
                      "in each repetition: --budget {:.0f}min has",
                      seconds(step_s), seconds(means_.budget_s), kFewestSteps, std::ceil(budget / 60)));
    }
    if (batch < own)
      reported_.unproven.push_back(
          fmt::format("batches of {:.0f} samples with {} of computing instead of {:.0f} with {}, for enough steps: "
                      "each GPU takes as much per second, but less is read ahead",
                      batch, seconds(step_s / parts), own, seconds(job_.step.time / parts)));
    if (batch > own)
      reported_.unproven.push_back(
          fmt::format("{:.0f} samples are read at once, more than a batch: batches are as large, with {} of computing "
                      "instead of {:.0f} with {}",
                      batch, seconds(step_s / parts), own, seconds(job_.step.time / parts)));
    if (by_rules) {
      // Whole row groups are taken.
      const double rows = job_.dataset.layout == Layout::files ? 1 : rows_of_group(entry);
      const double taken = std::max(1.0, std::round(batch / rows)) * rows;
      made_.rules = check_planned(means_.rules, job_,
                                  {.batch = taken * parts,
                                   .step_s = step_s * taken / batch,
                                   .data_bytes = data_bytes_,
                                   .host_memory = means_.host_memory});
    }
    if (!by_rules) entry = with(std::move(entry), "settled", "true");
    // Smaller batches fill the pipeline as much sooner as their steps are shorter.
    if (const auto epoch = job::epoch_steps_of(job_); epoch && !by_rules)
      entry = with(std::move(entry), "epoch_steps", fmt::format("{:.0f}", *epoch));
    entry = with(std::move(entry), "batch_size", fmt::format("{:.0f}", batch));
    if (parts > 1) entry = with(std::move(entry), "batches_per_step", fmt::format("{:.0f}", parts));
    if (job_.loader.cpu_time_per_batch)  // of smaller batches less: the time of a sample is the same
      entry = with(std::move(entry), "cpu_time_per_batch",
                   exact_quantity(*job_.loader.cpu_time_per_batch * batch / own, Dimension::seconds));
    return with(std::move(entry), "step_time", exact_quantity(step_s, Dimension::seconds));
  }

  /// Are one's own Parquet files read by their row groups, and decoded? Where they cannot be, that is reported.
  void find_tables(const Value& alone) {
    const Value* profile = alone.find("read_profile");
    if (profile == nullptr || profile->text != "row_group" || means_.data.empty() || !is_parquet(means_.data)) return;
    tables_ = means_.no_tables.empty() && means_.rules.empty();
    if (!means_.no_tables.empty())
      reported_.unproven.push_back(fmt::format(
          "bytes of the files are read as dataset.request_size has them, and nothing is decoded, where their own "
          "row groups would be: {}",
          means_.no_tables));
    if (!tables_) return;
    if (job_.dataset.cpu_time_per_sample)
      reported_.remarks.emplace_back(
          "dataset.cpu_time_per_sample is not spent: arrays are made of the row groups, and what follows that is left "
          "out");
    if (rehearsal::decodes(job_))
      reported_.remarks.emplace_back("dataset.codec: of tables arrays are made, and nothing else is decoded");
  }
  /// The share of the budget that goes to data: they are there already, or may have to be made.
  double making() const { return means_.data.empty() ? time_share::kMaking : 0; }
  /// Each worker's read-ahead of a shard is a large part of a short repetition.
  double beside() const {
    return job_.dataset.layout == Layout::files ? time_share::kBeside : time_share::kBesideShards;
  }
  double measuring_s() const { return means_.budget_s * (1 - making()); }
  /// The weights of all expected points: the whole pipeline, five or six others, and settings that are tried.
  double weights() const {
    return time_share::kRehearsed + (has_no_decode() ? 6 : 5) + (rehearsal::decodes(job_) ? 1 : 0) +
           (on_gpus() ? 1 : 0) + (saves_ ? 1 : 0) + (tier_ ? 1 : 0) +
           (others_.empty() && aheads_.empty() ? 0 : time_share::kTries * time_share::kTried);
  }

  void share_time() {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      const double own_s = measuring_s() * weights_[i] / weights();
      const bool whole = i == 0;
      Value& entry = made_.workloads.items[i];
      // Through a tier three epochs are a repetition, the first of which takes a third of this.
      const bool epochs = entry.find("use")->text == "local_cache";
      const bool stepped = weights_[i] == time_share::kTried;
      // The measurement of storage alone, which predicts an epoch, takes as long as the predicted point.
      const double each_s =
          whole || reads(entry) ? longest_s_
          : stepped ? std::max(time_share::repetition_s(own_s, kFewestBeside, beside()), kFewestSteps * step_s_)
                    : time_share::repetition_s(own_s, kFewestBeside, beside()) / (epochs ? 2 : 1);
      entry = with(std::move(entry), "duration", fmt::format("{:.3g}s", each_s));
      entry.set("repeat", time_share::repeat_within(own_s, whole ? 0 : kFewestBeside));
    }
  }

  const Job& job_;
  const Means& means_;
  double data_bytes_ = 0, longest_s_ = 0, own_workers_ = 1;  // the last: of each GPU
  double step_s_ = 0, steps_ = 0;                            // of a repetition
  const bool saves_ = rehearsal::saves(job_, means_);
  bool tables_ = false;         // the user's Parquet files are read as such
  bool tier_ = false;           // the job's local cache is rehearsed
  std::vector<double> others_;  // numbers of workers that are tried, too
  std::vector<double> aheads_;  // and prefetch_factors
  rehearsal::PlanNotes reported_;
  std::vector<double> weights_;
  FromJob made_;
};

}  // namespace

std::string rehearsal::setting_label(double workers, double prefetch_factor) {
  const std::string label = fmt::format("{}{:.0f}", kWorkers, workers);
  return prefetch_factor > 0 ? fmt::format("{}-{}{:.0f}", label, kPrefetch, prefetch_factor) : label;
}

FromJob rehearsal_from_job(const Job& asked, Means means) {
  Job job = asked;
  if (!means.rules.empty()) {
    check_rules_name(means.rules);
    if (benchmark_model(means.rules, job) != nullptr) return rehearsal::benchmark_saves(job, means);
    job.dataset.cpu_time_per_sample.reset();  // they leave decoding out
    job.dataset.codec = job::SampleCodec::none;
  }
  const bool objects = means.data.empty() ? means.makes_objects : is_object_path(means.data);
  const bool anywhere = job.dataset.layout == Layout::tokens || job.dataset.samples_per_file < 1;
  const bool leaves_decoding_out = objects && anywhere && rehearsal::decodes(job);
  if (leaves_decoding_out) job.dataset.codec = job::SampleCodec::none;
  if (job.step.time <= 0) throw UsageError("no rehearsal: the job has no step.time, which is needed to emulate GPUs");
  // Saves, names and networks have points of their own in `qualify`; the space that those would take, the data has.
  Job reading = job;
  reading.checkpoint.reset();
  means.copies = means.gpus;
  means.root = means.gpus = means.ranks = false;
  means.own_batches = true;
  // The data, and of a job that saves two checkpoints at a time.
  const bool saves = rehearsal::saves(job, means);
  if (saves) means.save_space = static_cast<double>(means.space) / 8;
  means.space = saves ? means.space / 2 * 3 : means.space * 2;
  FromJob all = points_from_job(reading, means);
  if (leaves_decoding_out)
    all.remarks.emplace_back(
        "decoding is left out: samples are decoded out of whole objects and of shards that are read from front to "
        "back");
  std::optional<Value> decoding;
  for (const Value& entry : all.workloads.items)
    if (entry.find("use")->text == "decode") decoding = entry;
  for (std::size_t i = 0; i < all.workloads.items.size(); ++i)
    if (reads(all.workloads.items[i]))
      return Rehearsal(job, means)
          .make(std::move(all.workloads.items[i]), std::move(decoding), std::move(all.unproven[i]),
                std::move(all.remarks));
  throw UsageError(fmt::format("no rehearsal: {}", join(all.remarks)));
}

namespace {

/// Distinguishes the job's own pipeline from those with another setting of its loader.
std::vector<job::JobParameter> of_job(const std::vector<Point>& points) {
  std::vector<job::JobParameter> own;
  for (const Point& point : points)
    if (point.id == fmt::format("{}/{}", rehearsal::kPipeline, rehearsal::kJob))
      for (const auto& [name, key] :
           {std::pair("workers", "loader.workers_per_gpu"), std::pair("prefetch_factor", "loader.prefetch_factor")})
        own.push_back({name, key, static_cast<double>(std::get<std::uint64_t>(point.params.at(name)))});
  return own;
}

}  // namespace

void judge_rehearsal(Plan& plan) {
  plan.not_asked.clear();
  if (!plan.rules.empty() && benchmark_model(plan.rules, *plan.job) != nullptr) {
    std::erase_if(plan.needs, [](const job::Need& need) {
      return !std::ranges::any_of(need.measured_by, [](const std::string& m) { return m.starts_with("checkpoint_"); });
    });
    return;
  }
  plan.needs.clear();
  // A job waits for its pipeline to fill, even though MLPerf's rule does not count it.
  const bool whole = plan.rules.empty() && job::epoch_steps_of(*plan.job).has_value();
  const std::string metric = whole ? "wall_clock_utilization" : "accelerator_utilization";
  plan.declared_needs.push_back({.id = metric,
                                 .metric = "input_pipeline." + metric,
                                 .at_least = true,
                                 .value = plan.job->step.target_utilization,
                                 .unit = "ratio",
                                 .source = whole ? "step.target_utilization of the job, over an epoch's wall clock"
                                                 : "step.target_utilization of the job",
                                 .with = of_job(plan.points),
                                 .where = {}});
}

}  // namespace headrace
