#include "harness/plan/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/plan/own_data.h"
#include "harness/plan/time_share.h"
#include "harness/requirements/formula.h"

namespace headrace {
namespace {

using config::Value;
using requirements::Job;
using requirements::Layout;
using requirements::LoaderKind;

constexpr double kSteps = 64;             // that show how even they are
constexpr double kStepsOfEachWorker = 8;  // the first of each is prepared while the pipeline fills
constexpr double kFewestSteps = 6;
constexpr double kSaves = 3;  // checkpoints of a repetition
constexpr double kLeastShard = 4096;
constexpr double kMixed = 16;          // times its shuffle buffer a worker reads, so that most is read with a full one
constexpr double kUsualInitial = 100;  // of WebDataset's shuffle(): held before the first sample goes
constexpr double kMostAhead = 64;      // batches, as the workload has it

std::string seconds(double s) { return format_quantity(s, Dimension::seconds); }

/// Is it this entry that reads as the job does?
bool reads(const Value& entry) {
  const Value* label = entry.find("label");
  if (label == nullptr || label->text != rehearsal::kJob) return false;
  for (const char* one : {"small_file_read", "shard_stream", "random_read"})
    if (entry.find("use")->text == one) return true;
  return false;
}

double number(const Value& entry, const char* key, Dimension dimension) {
  const Value* value = entry.find(key);
  if (value == nullptr) return 0;
  const Parsed parsed = parse_quantity(value->text, dimension);
  return parsed ? parsed.value : 0;
}

class Rehearsal {
 public:
  Rehearsal(const Job& job, const Means& means) : job_(job), means_(means) {}

  /// `decoding`: the point that measures it alone; none where nothing is decoded.
  FromJob make(Value alone, std::optional<Value> decoding, std::vector<std::string> unproven,
               std::vector<std::string> remarks) {
    unproven_ = std::move(unproven);
    made_.remarks = std::move(remarks);
    data_bytes_ = means_.data.empty()
                      ? number(alone, "files", Dimension::count) * number(alone, "file_size", Dimension::bytes)
                      : bytes_of_own_data(means_.data);
    share_shards(alone);
    hold_samples(alone);
    tier_ = fills_tier(alone);
    find_tables(alone);
    const Value without = pipeline(alone);
    const Value whole = saving(without);
    made_.workloads.kind = Value::Kind::list;
    add(whole, rehearsal::kJob, time_share::kOwn);
    if (saves_) {
      unproven_.pop_back();  // of the points that do not save
      add(with(whole, "checkpoint_left_out", "true"), rehearsal::kNoCheckpoint);
    }
    Value free = with(without, "step_time", "0s");
    add(free, rehearsal::kNoStep);
    if (tables_)
      add(with(free, "table_decoded", "false"), rehearsal::kNoDecode);
    else if (decodes())
      add(with(free, "codec", "none"), rehearsal::kNoDecode);
    else if (job_.dataset.cpu_time_per_sample)
      add(with(free, "cpu_time_per_sample", "0s"), rehearsal::kNoDecode);
    add_in_memory(free);
    const double workers = number(free, "workers", Dimension::count);
    // Own shards do not become more.
    const bool shards_left = means_.data.empty() || alone.find("use")->text != "shard_stream" ||
                             2 * workers * means_.processes <= files_of_own_data(means_.data);
    if (2 * workers <= kMostWorkers && shards_left)
      add(with(free, "workers", fmt::format("{:.0f}", 2 * workers)), rehearsal::kDoubleWorkers);
    for (const double each : others_)
      add(with(free, "workers", fmt::format("{:.0f}", each * workers / own_workers_)),
          fmt::format("{}{:.0f}", rehearsal::kWorkers, each).c_str());
    for (const double ahead : aheads_)
      add(with(without, "prefetch_factor", fmt::format("{:.0f}", ahead)),
          fmt::format("{}{:.0f}", rehearsal::kPrefetch, ahead).c_str());
    Value facts;
    facts.kind = Value::Kind::map;
    facts.set("use", Value::scalar("host_facts", {"job", 0, 0}));
    add(facts, "", 0);
    if (decoding) add(std::move(*decoding), rehearsal::kJob);
    if (tier_) add(tier(alone), rehearsal::kTier);
    add(alone, rehearsal::kJob);
    share_time();
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

  static Value with(Value entry, const char* key, std::string text) {
    entry.set(key, Value::scalar(std::move(text), {"job", 0, 0}));
    return entry;
  }

  void add(Value entry, const char* label, double weight = time_share::kAdvice) {
    if (*label != 0) entry = with(std::move(entry), "label", label);
    made_.workloads.items.push_back(std::move(entry));
    made_.unproven.push_back(unproven_);
    weights_.push_back(weight);
  }

  /// The same loader, its samples in memory.
  void add_in_memory(const Value& free) {
    Value memory = with(free, "source", "memory");
    std::erase_if(memory.entries, [](const Value::Entry& e) { return e.key == "cache"; });
    add(std::move(memory), rehearsal::kInMemory);
  }

  /// Lets generated files hold what the workers decode, where such samples are made: one in each file, or in tar shards of
  /// several.
  void hold_samples(Value& alone) const {
    if (!decodes() || !means_.data.empty()) return;
    constexpr double kLeast = 4096, kLeastInTar = 8192;  // as DataSetSpec takes them [B]
    const std::string& use = alone.find("use")->text;
    const double size = number(alone, "file_size", Dimension::bytes), sample = std::round(job_.dataset.sample_size);
    const double spread = 3 * number(alone, "file_size_spread", Dimension::bytes);
    const double largest = is_array() && use != "shard_stream" ? 512 << 20 : 16 << 20;
    const bool in_tar = use == "shard_stream" || job_.dataset.samples_per_file > 1;
    if (use == "random_read" || job_.dataset.samples_per_file < 1) return;
    if (in_tar ? sample < kLeastInTar || sample > largest || size - spread < 2 * kLeastInTar
               : size - spread < kLeast || size + spread > largest)
      return;
    alone = with(std::move(alone), "content", codec_word(job_.dataset));
    if (in_tar) alone = with(std::move(alone), "content_sample", fmt::format("{:.0f}B", sample));
  }

  bool is_array() const { return job_.dataset.codec == requirements::SampleCodec::npz; }
  bool decodes() const { return job_.dataset.codec != requirements::SampleCodec::none; }
  /// With the job's codec: the samples that are read, or drawn ones of their size beside generated files.
  Value decoded(Value entry, std::size_t layout) {
    const char* why = means_.data.empty() ? nullptr
                      : layout == 2       ? "out of shards that are read from front to back"
                      : layout == 0 && job_.dataset.samples_per_file < 1 ? "where none lies in several files"
                                                                         : nullptr;
    if (why != nullptr)
      throw UsageError(
          fmt::format("no rehearsal: dataset.codec {}: samples of your own are decoded {}; elsewhere "
                      "cpu_time_per_sample stands for it (--set job.dataset.codec=none)",
                      codec_word(job_.dataset), why));
    if (is_array()) {
      if (means_.data.empty() && entry.find("content") == nullptr)
        unproven_.push_back(fmt::format(
            "the files that are read are headrace's, and no .npz files: after each, one of {} that lies in memory is "
            "unpacked (--data PATH unpacks what is read)",
            format_quantity(std::min(job_.dataset.sample_size, 16.0 * (1 << 20)), Dimension::bytes)));
    } else if (entry.find("content") != nullptr)
      unproven_.emplace_back(
          "images of waves and noise stand for the job's: photographs may take more or less to decode (--data PATH "
          "decodes "
          "one's own)");
    else if (means_.data.empty())
      unproven_.push_back(fmt::format(
          "the files that are read are headrace's, with nothing to decode in them: after each, an image of {} that "
          "lies in memory is decoded (--data PATH decodes what is read)",
          format_quantity(job_.dataset.sample_size, Dimension::bytes)));
    if (job_.dataset.image_size)
      entry = with(std::move(entry), "output", fmt::format("{:.0f}", *job_.dataset.image_size));
    return with(std::move(entry), "codec", codec_word(job_.dataset));
  }
  /// Is there a point without decoding?
  bool has_no_decode() const { return tables_ || decodes() || job_.dataset.cpu_time_per_sample.has_value(); }

  /// What reads, with a consumer behind it.
  Value pipeline(const Value& alone) {
    static constexpr std::array kTaken{
        "path",        "files",           "file_size",    "file_size_spread", "samples_per_file",
        "sample_size", "block_size",      "read_profile", "loader",           "workers",
        "cache",       "prefetch_factor", "content",      "content_sample",   "engine",
        "queue_depth"};
    static constexpr std::array kLayouts{"files", "shards", "indexed"};
    Value entry;
    entry.kind = Value::Kind::map;
    entry.set("use", Value::scalar("input_pipeline", {"job", 0, 0}));
    for (const char* key : kTaken)
      if (const Value* value = alone.find(key)) entry.set(key, *value);
    const std::string& use = alone.find("use")->text;
    const std::size_t layout = use == "small_file_read" ? 0 : use == "shard_stream" ? 1 : 2;
    entry = with(std::move(entry), "layout", kLayouts[layout]);
    entry = with(std::move(entry), "sample_size",
                 fmt::format("{:.0f}B", std::max(1.0, std::round(job_.dataset.sample_size))));
    // GPUs that hold one copy of the model together compute with the same samples.
    const double workers = number(alone, "workers", Dimension::count);
    const double copies = std::floor(job_.cluster.gpus_per_node / job_.gpus_per_replica());
    const double gpus = std::clamp(copies, 1.0, workers);
    if (copies < 1)
      unproven_.push_back(
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
    else if (decodes())
      entry = decoded(std::move(entry), layout);
    else if (job_.dataset.cpu_time_per_sample)
      entry = with(std::move(entry), "cpu_time_per_sample",
                   exact_quantity(*job_.dataset.cpu_time_per_sample, Dimension::seconds));
    if (job_.loader.skips_bad_samples && (layout == 1 || tables_ || decodes()) && !means_.data.empty())
      entry = with(std::move(entry), "on_error", "skip");
    if (job_.loader.kind == LoaderKind::in_flight)  // reads alone have no batches
      entry = with(std::move(entry), "prefetch_factor",
                   fmt::format("{:.0f}", std::clamp(job_.loader.prefetch_factor, 1.0, 64.0)));
    own_workers_ = workers / gpus;
    if (means_.tune) others_ = other_workers(gpus, own_workers_), aheads_ = other_prefetch();
    // Of tf.data all workers prepare each batch together.
    entry = steps(std::move(entry), gpus, job_.loader.kind == LoaderKind::tfdata ? 1 : workers / gpus);
    return job_.loader.shuffle_buffer ? mixing(std::move(entry), layout, workers, gpus) : entry;
  }

  /// With the job's shuffle buffer, or one as much smaller as a worker reads less here than in an epoch.
  Value mixing(Value entry, std::size_t layout, double workers, double gpus) {
    if (layout == 0) {
      made_.remarks.emplace_back(
          "loader.shuffle_buffer: files are shuffled by their names, and no sample is held for it");
      return entry;
    }
    const bool groups = rows_of_group(entry) > 1;
    if (layout == 2 && !groups) {
      made_.remarks.emplace_back("loader.shuffle_buffer: samples are read in a random order, and none is held for it");
      return entry;
    }
    if (tables_) {
      made_.remarks.emplace_back("loader.shuffle_buffer: rows of one's own Parquet files are not held for it");
      return entry;
    }
    const double own = *job_.loader.shuffle_buffer;
    const double usual = entry.find("read_profile") != nullptr && entry.find("read_profile")->text == "wds"
                             ? std::min(own, kUsualInitial)
                             : own;
    const double initial = job_.loader.shuffle_initial.value_or(usual);
    const double reads =
        steps_ * number(entry, "batch_size", Dimension::count) * job_.step.accumulation * gpus / workers;
    const double held = std::clamp(std::floor(reads / kMixed), 1.0, own);
    const double first = std::clamp(std::round(initial * held / own), 1.0, held);
    if (held < own)
      unproven_.push_back(fmt::format(
          "a shuffle buffer of {:.0f} samples of each worker, {:.0f} of them before the first batch, stands for {:.0f} "
          "and {:.0f}, as a worker reads {:.0f} in a repetition: the job's takes {:.3g} times as long to fill, and as "
          "much more memory, {} on each node",
          held, first, own, initial, std::floor(reads), initial / first,
          format_quantity(own * job_.dataset.sample_size * workers, Dimension::bytes)));
    entry = with(std::move(entry), "shuffle_buffer", fmt::format("{:.0f}", held));
    return with(std::move(entry), "shuffle_initial", fmt::format("{:.0f}", first));
  }

  /// Of each GPU, fewer than the job's: the powers of two, and what decoding alone takes (B3).
  std::vector<double> other_workers(double gpus, double own) const {
    std::set<double> others;
    for (double each = 1; each < own; each *= 2) others.insert(each);
    if (job_.dataset.cpu_time_per_sample) {
      const double taken = job_.step.micro_batch * job_.step.accumulation / job_.step.time;
      const double decoding = requirements::apply("B3", {{"rank_sample_rate_per_s", taken},
                                                         {"wall_time_per_sample_s", *job_.dataset.cpu_time_per_sample},
                                                         {"target_utilization_ratio", 1}})
                                  .value();
      if (decoding < own) others.insert(std::max(1.0, decoding));
    }
    std::erase_if(others, [&](double each) { return each * gpus > kMostWorkers; });
    return {others.begin(), others.end()};
  }

  /// The powers of two below the job's own prefetch_factor, and twice and four times it.
  std::vector<double> other_prefetch() const {
    const double own = std::clamp(job_.loader.prefetch_factor, 1.0, kMostAhead);
    std::set<double> others{2 * own, 4 * own};
    for (double ahead = 1; ahead < own; ahead *= 2) others.insert(ahead);
    std::erase_if(others, [](double ahead) { return ahead > kMostAhead; });
    return {others.begin(), others.end()};
  }

  /// That a loader takes at once, each a sample.
  static double rows_of_group(const Value& entry) {
    const Value* profile = entry.find("read_profile");
    if (profile == nullptr || profile->text != "row_group") return 1;
    return std::max(
        1.0, std::ceil(number(entry, "block_size", Dimension::bytes) / number(entry, "sample_size", Dimension::bytes)));
  }

  /// Batches of the job's size where there are enough of them for a rehearsal, else smaller ones that compute for as much
  /// shorter: the GPUs take as many samples per second. `at_once`: batches that each GPU's workers prepare side by side.
  Value steps(Value entry, double gpus, double at_once) {
    const double own = std::clamp(job_.step.micro_batch, 1.0, 65536.0), parts = job_.step.accumulation;
    const double samples = data_bytes_ / job_.dataset.sample_size / gpus / means_.processes;
    const double wanted = std::max(kSteps, kStepsOfEachWorker * at_once / parts);
    const double least =
        (job_.dataset.layout == Layout::files) ? std::ceil(job_.dataset.samples_per_file) : rows_of_group(entry);
    longest_s_ = time_share::repetition_s(measuring_s() * time_share::kOwn / weights());
    // A benchmark's batch is its own as long as there is data for a few: fewer steps are told, other batches are another
    // workload.
    const bool by_rules = !means_.rules.empty();
    const double by_data = std::floor(samples / (by_rules ? 2 * std::max(1.0, at_once) : wanted) / parts);
    const double by_time = by_rules ? own : std::floor(own * longest_s_ / wanted / job_.step.time);
    const double batch = std::max(least, std::min({own, by_data, by_time}));
    const double step_s = job_.step.time * batch / own;
    step_s_ = step_s;
    steps_ = std::min(std::floor(samples / batch / parts), longest_s_ / step_s);
    if (samples < 2 * batch * parts * std::max(1.0, at_once / parts))
      throw UsageError(
          fmt::format("no rehearsal: each of {:.0f} GPUs has {:.0f} samples of what there is room for, {}, "
                      "which is no batch for each of its workers: --max-write SIZE, or fewer GPUs "
                      "(--set job.cluster.gpus_per_node=1)",
                      gpus, std::floor(samples), format_quantity(data_bytes_, Dimension::bytes)));
    if (kFewestSteps * step_s > longest_s_) {
      const double budget = kFewestSteps * step_s * time_share::kFewest * time_share::kBeside * weights() /
                            time_share::kOwn / (1 - time_share::kMaking);
      throw UsageError(
          fmt::format("no rehearsal: a step takes {}, and {} of --budget have no room for {:.0f} of them "
                      "in each repetition: --budget {:.0f}min has",
                      seconds(step_s), seconds(means_.budget_s), kFewestSteps, std::ceil(budget / 60)));
    }
    if (batch < own)
      unproven_.push_back(
          fmt::format("batches of {:.0f} samples with {} of computing stand for {:.0f} with {}, so that there are "
                      "enough steps: what "
                      "a GPU takes per second is the same, what is read ahead for it is less",
                      batch, seconds(step_s / parts), own, seconds(job_.step.time / parts)));
    if (batch > own)
      unproven_.push_back(fmt::format(
          "{:.0f} samples are read at once, more than a batch: batches of as many with {} of computing stand "
          "for {:.0f} with {}",
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
    entry = with(std::move(entry), "batch_size", fmt::format("{:.0f}", batch));
    if (parts > 1) entry = with(std::move(entry), "batches_per_step", fmt::format("{:.0f}", parts));
    return with(std::move(entry), "step_time", exact_quantity(step_s, Dimension::seconds));
  }

  /// With the job's checkpoints, as many bytes per second of computing as the job has, so that each repetition has a few.
  Value saving(Value entry) {
    if (!saves_) return entry;
    const requirements::Job::Checkpoint& save = *job_.checkpoint;
    const double ranks = std::min(std::floor(job_.cluster.gpus_per_node), 1024.0);
    const double size = (*job_.model.parameters * save.bytes_per_parameter + save.extra) / job_.cluster.gpus();
    const double own_every = save.interval / step_s_;  // steps
    const double most =
        (save.async ? std::min(means_.save_space, static_cast<double>(means_.memory) / 2) : means_.save_space) / ranks;
    // Whole steps; at least two, as the first step of a repetition counts for nothing.
    double every = std::max(2.0, std::floor(std::min(own_every, steps_ / kSaves)));
    every = std::max(2.0, std::floor(std::min(every, own_every * most / size)));
    const double shard = std::floor(std::min(size * every / own_every, most));
    unproven_.push_back(fmt::format(
        "checkpoints of {} of each of {:.0f} ranks every {} of computing stand for {} every {}: {}, and what large "
        "saves "
        "meet (caches that fill, limits of bursts) is not shown",
        format_quantity(std::max(shard, kLeastShard), Dimension::bytes), ranks, seconds(every * step_s_),
        format_quantity(size, Dimension::bytes), seconds(save.interval),
        shard < 0.99 * size * every / own_every || shard < kLeastShard ? "not as many bytes per second as the job's"
                                                                       : "as many bytes per second"));
    entry = with(std::move(entry), "checkpoint_every", fmt::format("{:.0f}", every));
    entry = with(std::move(entry), "checkpoint_ranks", fmt::format("{:.0f}", ranks));
    entry = with(std::move(entry), "checkpoint_shard_size", fmt::format("{:.0f}B", std::max(shard, kLeastShard)));
    return with(std::move(entry), "checkpoint_mode", save.async ? "async" : "sync");
  }

  /// Are one's own Parquet files read by their row groups, and decoded? Where they cannot be, that is told.
  void find_tables(const Value& alone) {
    const Value* profile = alone.find("read_profile");
    if (profile == nullptr || profile->text != "row_group" || means_.data.empty() || !is_parquet(means_.data)) return;
    tables_ = means_.no_tables.empty() && means_.rules.empty();
    if (!means_.no_tables.empty())
      unproven_.push_back(fmt::format(
          "bytes of the files are read as dataset.request_size has them, and nothing is decoded, where their own "
          "row groups would be: {}",
          means_.no_tables));
    if (!tables_) return;
    if (job_.dataset.cpu_time_per_sample)
      made_.remarks.emplace_back(
          "dataset.cpu_time_per_sample is not spent: arrays are made of the row groups, and what follows that is left "
          "out");
    if (decodes()) made_.remarks.emplace_back("dataset.codec: of tables arrays are made, and nothing else is decoded");
  }
  /// Is the job's cache tier rehearsed? Where it is not, that is told.
  bool fills_tier(const Value& alone) {
    if (!job_.local_cache || !means_.rules.empty()) return false;
    const requirements::Job::LocalCache& tier = *job_.local_cache;
    const char* why =
        tier.path.empty()                               ? "name its folder on this node (local_cache.path)"
        : alone.find("use")->text != "small_file_read"  ? "only copies of whole files are (dataset.layout: files)"
        : job_.loader.kind == LoaderKind::in_flight     ? "only one of workers that wait for each file is"
        : tier.policy == requirements::CachePolicy::lru ? "only one that evicts nothing is (policy pinned)"
        : !job_.dataset.samples                         ? "how much of the data it holds is not known (dataset.samples)"
                                                        : nullptr;
    if (why != nullptr) made_.remarks.push_back(fmt::format("the local cache is not rehearsed: {}", why));
    return why == nullptr;
  }
  /// Epochs through the job's tier, which holds as great a part of them as the job's does of its data set (C1).
  Value tier(const Value& alone) {
    static constexpr std::array kTaken{
        "path",           "files",   "file_size", "file_size_spread", "samples_per_file", "content",
        "content_sample", "workers", "cache"};
    Value entry;
    entry.kind = Value::Kind::map;
    entry.set("use", Value::scalar("local_cache", {"job", 0, 0}));
    for (const char* key : kTaken)
      if (const Value* value = alone.find(key)) entry.set(key, *value);
    const requirements::Job::LocalCache& own = *job_.local_cache;
    const double ratio =
        requirements::apply("C1", {{"available_bytes", own.capacity},
                                   {"dataset_bytes", *job_.dataset.samples * job_.dataset.sample_size}})
            .value();
    entry = with(std::move(entry), "tier", own.path);
    return with(std::move(entry), "tier_ratio", fmt::format("{:.6g}", std::min(1.0, ratio)));
  }

  double measuring_s() const { return means_.budget_s * (1 - time_share::kMaking); }
  /// Of all points: the whole pipeline, four or five others.
  double weights() const {
    return time_share::kOwn + (has_no_decode() ? 5 : 4) + (decodes() ? 1 : 0) + (saves_ ? 1 : 0) + (tier_ ? 1 : 0) +
           static_cast<double>(others_.size() + aheads_.size());
  }

  void share_time() {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      const double own_s = measuring_s() * weights_[i] / weights();
      const bool whole = i == 0;
      Value& entry = made_.workloads.items[i];
      // Through a tier three epochs are a repetition, the first of which takes a third of this.
      const bool epochs = entry.find("use")->text == "local_cache";
      const Value* const label = entry.find("label");
      const bool stepped = label != nullptr && label->text.starts_with(rehearsal::kPrefetch);
      const double each_s =
          whole ? longest_s_
                : std::max(time_share::repetition_s(own_s) / (epochs ? 2 : 1), stepped ? kFewestSteps * step_s_ : 0);
      entry = with(std::move(entry), "duration", fmt::format("{:.3g}s", each_s));
      entry.set("repeat", time_share::repeat_within(own_s, !whole));
    }
  }

  const Job& job_;
  const Means& means_;
  double data_bytes_ = 0, longest_s_ = 0, own_workers_ = 1;  // the last: of each GPU
  double step_s_ = 0, steps_ = 0;                            // of a repetition
  const bool saves_ = job_.checkpoint && job_.model.parameters && means_.rules.empty();
  bool tables_ = false;         // one's own Parquet files are read for what they are
  bool tier_ = false;           // the job's local cache is rehearsed
  std::vector<double> others_;  // numbers of workers that are tried, too
  std::vector<double> aheads_;  // and prefetch_factors
  std::vector<std::string> unproven_;
  std::vector<double> weights_;
  FromJob made_;
};

}  // namespace

FromJob rehearsal_from_job(const Job& asked, Means means) {
  Job job = asked;
  if (!means.rules.empty()) {
    check_rules_name(means.rules);
    job.dataset.cpu_time_per_sample.reset();  // they leave decoding out
    job.dataset.codec = requirements::SampleCodec::none;
  }
  if (job.step.time <= 0) throw UsageError("no rehearsal: the job does not tell step.time, which GPUs are emulated by");
  // Saves, names and networks have points of their own in `qualify`; the space that those would take, the data has.
  Job reading = job;
  reading.checkpoint.reset();
  means.root = means.gpus = means.ranks = false;
  means.own_batches = true;
  // The data, and of a job that saves two checkpoints at a time.
  const bool saves = job.checkpoint && job.model.parameters && means.rules.empty();
  if (saves) means.save_space = static_cast<double>(means.space) / 8;
  means.space = saves ? means.space / 2 * 3 : means.space * 2;
  FromJob all = points_from_job(reading, means);
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

void judge_utilization(Plan& plan) {
  plan.needs.clear();
  plan.not_asked.clear();
  plan.declared_needs.push_back({.id = "accelerator_utilization",
                                 .metric = "input_pipeline.accelerator_utilization",
                                 .at_least = true,
                                 .value = plan.job->step.target_utilization,
                                 .unit = "ratio",
                                 .source = "step.target_utilization of the job",
                                 .where = {}});
}

}  // namespace headrace
