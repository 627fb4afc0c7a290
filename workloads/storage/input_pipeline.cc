// input_pipeline - a training job's input pipeline run for real: workers read and decode, GPUs are emulated by their step
// time, and what is told is how much of the time they compute.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include "harness/backends/loader.h"
#include "harness/backends/ranks.h"
#include "harness/backends/read_profiles.h"
#include "harness/base/units.h"
#include "harness/storage/checkpoint_saver.h"
#include "harness/storage/loader.h"
#include "harness/storage/pipeline.h"
#include "harness/storage/storage_params.h"
#include "harness/workload.h"
#include "workloads/storage/bad_samples.h"
#include "workloads/storage/in_flight_sources.h"
#include "workloads/storage/own_shards.h"
#include "workloads/storage/row_groups.h"
#include "workloads/storage/sample_decoding.h"
#include "workloads/storage/sample_source.h"
#include "workloads/storage/shuffle_buffer.h"
#include "workloads/storage/stalls.h"
#include "workloads/storage/whole_files.h"

namespace {
using namespace headrace;

constexpr std::array kMetrics{
    Metric{"accelerator_utilization", "ratio", Better::higher,
           "Nominal compute time over the total, the first step left out (A21)"},
    Metric{"accelerator_utilization_low", "ratio", Better::higher,
           "Lower end of its 95 % bounds over windows of the steps"},
    Metric{"accelerator_utilization_high", "ratio", Better::higher, "Upper end"},
    Metric{"dlio_utilization", "ratio", Better::higher,
           "As DLIO counts it: the measured sleep over the total, both without the first step"},
    Metric{"ideal_share", "ratio", Better::higher,
           "Samples per second, the first step included, over those of GPUs that never wait"},
    Metric{"stall_fraction", "ratio", Better::lower, "Share of the time in which GPUs wait for data"},
    Metric{"host_fraction", "ratio", Better::lower, "Share of the time in which GPUs wait for a host that is late"},
    Metric{"sample_rate", "1/s", Better::higher,
           "Samples per second that the GPUs take, once the pipeline is filled; without a step, that workers read and "
           "decode"},
    Metric{"read_bandwidth", "B/s", Better::higher, "Bytes read per second"},
    Metric{"queue_occupancy", "ratio", Better::neither,
           "Batches that are ready when a step begins, as a share of those that can be"},
    Metric{"reading_share", "ratio", Better::neither, "Share of the workers' time in reads"},
    Metric{"decoding_share", "ratio", Better::neither, "Share of the workers' time in decoding"},
    Metric{"waiting_share", "ratio", Better::neither,
           "Share of the workers' time with nothing to do: they are far enough ahead"},
    Metric{"decode_time_s", "s", Better::lower, "Time to decode one sample, waiting for a processor included"},
    Metric{"steps", "count", Better::neither, "Steps after the first"},
    Metric{"first_step_wait_s", "s", Better::lower,
           "How long GPUs waited for the first step's data: the pipeline is empty, and shuffle buffers are filled"},
    Metric{"shuffle_held_bytes", "B", Better::lower, "Most bytes that the shuffle buffers of all workers held"},
    Metric{"utilization_without_saves", "ratio", Better::higher,
           "As accelerator_utilization, of a pipeline whose checkpoints were left out"},
    Metric{"save_fraction", "ratio", Better::lower, "Share of the time in which GPUs stand still for a checkpoint"},
    Metric{"saves", "count", Better::neither, "Checkpoints that became durable"},
    Metric{"time_to_durable_s", "s", Better::lower, "From the begin of a checkpoint until it is durable, the mean"},
    Metric{
        "others_fraction", "ratio", Better::lower,
        "Of several nodes: share of the time in which GPUs are done with a step and wait for other nodes', the mean of "
        "all nodes but the one that waits least: that one holds back the others"},
    Metric{"least_others_fraction", "ratio", Better::neither, "The same of the node that waits least"},
    Metric{"bad_samples", "count", Better::lower,
           "Samples and shards of one's own that could not be used, and were passed over"},
    Metric{"stalled_reads", "count", Better::lower, "Samples that were waited for longer than stalled_after"},
    Metric{"longest_read_s", "s", Better::lower, "The longest that a worker waited for one sample"},
    Metric{"idle_workers", "count", Better::lower, "Workers that no shard of one's own was left for"},
};

enum class Layout { files, shards, indexed };

/// Where one worker's time went.
struct alignas(128) Tally {
  std::uint64_t reading_ns = 0, decoding_ns = 0, waiting_ns = 0, samples = 0, longest_ns = 0;
  std::uint64_t held = 0;     // samples that were read and stay in its shuffle buffer
  std::uint64_t decoded = 0;  // samples of files that hold several
  BadSamples bad;
  Stalls stalls;
};

using Stage = PipelineTrace::Stage;
constexpr std::size_t kTracedSpans = 400'000, kTracedSteps = 20'000;  // that a trace has room for

/// What a node tells the others after a repetition; shares of the time.
struct NodeShares {
  double rate = 0;  // samples/s
  double steps = 0;
  pipeline::Utilization gpus;
  double reading = 0, decoding = 0, waiting = 0;  // of the workers'
};
static_assert(std::is_trivially_copyable_v<NodeShares>);

constexpr double kWords_s = 60;                    // for the others' words after a repetition
constexpr std::uint64_t kMemory = 64_MiB;          // more than processors keep to themselves
constexpr std::uint64_t kWebDatasetInitial = 100;  // of its shuffle(); others fill their buffer
constexpr unsigned kDecode = 1, kTrainer = 2;      // latency parts

/// What do the GPUs of a job get from this storage, through the job's loader?
class InputPipeline final : public Workload {
 public:
  explicit InputPipeline(Params& p)
      : loader_(Loader::declare_with_consumer(p)),
        layout_(layout_of(p)),
        profile_(profile_of(p, layout_)),
        from_(p.choice("source", "storage", {"storage", "memory", "none"},
                       "where samples come from. memory: copied out of memory, as fast as that goes; none: they are "
                       "there at once")),
        io_(StorageParams::declare(
            p, {.workers = 4,
                .block_size = profile_ == ReadProfile::wds ? kTarRecord : 1_MiB,
                .direct_allowed = false,
                .maps = true,
                .queues = loader_.kind() == Loader::Kind::in_flight,
                .workers_help = "reading and decoding threads, of all GPUs together",
                .engine = layout_ == Layout::indexed && profile_ == ReadProfile::mmap ? mapping_engine()
                                                                                      : loader_.engine()})),
        spec_(DataSetSpec::declare(p, {.files = layout_ == Layout::files ? 10'000u : 4u,
                                       .file_size = layout_ == Layout::files ? 128_KiB : 256_MiB,
                                       .samples = true})),
        samples_per_file_(p.ratio("samples_per_file", 1, {.min = 1e-9}, "layout files: samples that one file holds")),
        sample_size_(p.bytes("sample_size", 128_KiB, {.min = 1},
                             "stored bytes of one sample; layout files: only of source memory")),
        gpus_(static_cast<unsigned>(p.count("gpus", 1, {.min = 1, .max = 1024}, "emulated GPUs, each with a loader"))),
        batches_per_step_(static_cast<unsigned>(
            p.count("batches_per_step", 1, {.min = 1, .max = 65536}, "batches that a GPU computes with in one step"))),
        step_time_s_(p.seconds("step_time", 0.1, {.min = 0, .max = 3600},
                               "compute time of one step of batches_per_step batches; 0s: batches are taken as fast as "
                               "they come, and no utilization is told")),
        stalled_after_s_(p.seconds("stalled_after", 1, {.min = 0.001, .max = 3600},
                                   "a sample that takes longer to read is told as a stall of storage, by its place")),
        passes_over_bad_(
            p.choice(
                "on_error", "fail", {"fail", "skip"},
                "with a path: what becomes of samples of shards, or that are decoded, and cannot be used. fail: the "
                "repetition is an error that names the first; skip: they are counted, and named in "
                "the notes") == "skip"),
        cpu_time_s_(p.seconds("cpu_time_per_sample", 0, {.min = 0, .max = 3600},
                              "processor time that a worker spends on decoding one sample")),
        decoding_(p),
        groups_(p),
        shuffling_(Shuffling::declare(p, profile_ == ReadProfile::wds ? kWebDatasetInitial : UINT64_MAX)),
        save_every_(p.count("checkpoint_every", 0, {.min = 0, .max = 1e9},
                            "steps from one checkpoint to the next, the first after half as many; 0: none is saved")),
        saves_left_out_(p.flag("checkpoint_left_out", false,
                               "none is saved, and the utilization is told as utilization_without_saves: what the "
                               "checkpoints cost")),
        save_(checkpoint::SaveParams::declare(p, "checkpoint_")) {
    check_params(p);
  }

  static std::span<const Metric> metrics() { return kMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = decoding_.check(node)) return skip;
    if (auto skip = groups_.check(node)) return skip;
    if (saves())
      if (auto skip = save_.check(node)) return skip;
    if (auto skip = check_files_held(node)) return skip;
    if (shuffling_.active())
      if (auto skip = shuffling().check(node, io_.workers, operation_bytes())) return skip;
    if (from_ != "storage") return std::nullopt;
    return io_.check(node);
  }
  Footprint footprint() const override {
    Footprint all;
    if (from_ == "storage") all = io_.footprint(spec_, spec_.bytes());
    if (from_ == "memory") all.memory_bytes = kMemory + io_.workers * operation_bytes();
    if (decoding_.active()) all.memory_bytes += SampleDecoding::kHeld;
    if (shuffling_.active()) all.memory_bytes += io_.workers * shuffling().samples * operation_bytes();
    if (!saves()) return all;
    all.written_bytes += 2 * save_.total_bytes();  // the old one stays until the new one is durable
    all.memory_bytes += save_.memory_bytes();
    all.page_cache_bytes += save_.direct ? 0 : save_.total_bytes();
    return all;
  }
  /// After those that read, the GPUs, and then the ranks of checkpoints.
  unsigned workers() const override { return io_.workers + 1 + background_workers(); }
  unsigned background_workers() const override { return saves() ? save_.ranks : 0; }
  std::vector<std::string> latency_parts() const override { return {"decode", "batch_wait", "step", "wakeup"}; }
  std::vector<CacheState> cache_states() const override {
    if (from_ != "storage") return {};
    return io_.cache_states();
  }
  /// It fills, runs, and runs empty: what is steady of it, its own windows tell.
  std::vector<PhaseSpec> phases() const override { return {{.name = "main", .keeps_cache = false, .varies = true}}; }

  void prepare(Node& node, const DataProgress& progress) override {
    team_index_ = node.team_index();
    team_size_ = static_cast<unsigned>(node.team().size());
    sources_.clear();
    several_.clear();
    shards_ = {};
    if (from_ == "memory") memory_.assign(kMemory, 1);
    if (from_ == "storage") {
      data_ = DataSet::open(spec_, node, progress);
      engine_ = &node.backends().storage(io_.engine);
      if (layout_ == Layout::shards) find_shards();
      if (layout_ == Layout::indexed && !groups_.active())
        places_.emplace(data_->files(), io_.block_size, io_.block_size);
    }
    prepare_decoding(node, progress);
    if (groups_.active()) {
      if (!data_) data_ = DataSet::open(spec_, node, progress);  // with samples in memory, one group of each worker is
      groups_.find(node, data_->files(), passes_over_bad_);
    }
    shuffles_.clear();
    for (unsigned i = 0; i < io_.workers; ++i) {
      sources_.push_back(source(i));
      if (!shuffling_.active()) continue;
      auto mixed = std::make_unique<ShuffleBuffer>(std::move(sources_.back()), shuffling(), operation_bytes(), i);
      shuffles_.push_back(mixed.get());
      sources_.back() = std::move(mixed);
    }
    if (saves()) saver_ = std::make_unique<checkpoint::Saver>(save_, node, progress);
  }
  void connect(Node& node) override {
    ranks_ = &node.ranks();
    team_ = node.team();
    if (compute_ns() > 0 && team_.size() > 1) others_ = std::make_unique<pipeline::StepBarrier>(*ranks_, team_);
  }
  const DataSet* data() const override { return data_.get(); }
  CacheUse cache_use() const override { return {.whole_files = layout_ == Layout::files}; }

  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    if (layout_ == Layout::files && data_) {
      if (several_.empty())
        order_.fill(data_->files(), seed);
      else
        order_.fill(data_->files(), shards_.files, seed);  // an index.json beside them is none
      order_.split(team_index_, team_size_);
    }
    for (const auto& one : sources_) one->rewind(seed + team_index_);
    if (saver_) {
      saver_->fill(seed);
      in_loop_ = std::make_unique<pipeline::SavesInLoop>(*saver_, save_every_);
    }
    pipeline_ = std::make_unique<Pipeline>(
        Pipeline::Shape{.gpus = gpus_,
                        .workers = io_.workers / gpus_,
                        .ahead = ahead(),
                        .pieces = pieces(),
                        .batches_per_step = batches_per_step_,
                        .compute_ns = compute_ns(),
                        .growing = shuffling_.active() ? growing() : 0,
                        .order = flies() ? pipeline::Order::as_ready : pipeline::Order::by_turns,
                        .kept_steps = traced_ ? kTracedSteps : 0},
        in_loop_.get(), others_.get());
    collect_bad();
    decoding_.begin(seed + team_index_);
    tallies_.assign(io_.workers, {});
    spans_.clear();
    for (unsigned i = 0; i < io_.workers; ++i) spans_.emplace_back(traced_ ? kTracedSpans / io_.workers : 0);
  }
  void before_run(Worker& worker) override {
    if (worker.index < io_.workers) sources_[worker.index]->attach();
    if (worker.index > io_.workers) saver_->attach(worker.index - io_.workers - 1);
  }

  void run(Worker& worker) override {
    if (worker.index == io_.workers) {
      pipeline_->train(worker.recorder, kTrainer);
      if (others_)
        if (const std::string who = others_->lost(); !who.empty())
          throw RunError("no step can end any more: " + who + " fell silent");
      return;
    }
    if (worker.index > io_.workers) return in_loop_->run(worker.index - io_.workers - 1, worker.recorder);
    Tally tally;
    SampleSource& source = *sources_[worker.index];
    read_batches(worker, source, tally);
    source.detach();
    if (!shuffles_.empty()) tally.held = shuffles_[worker.index]->held();
    tallies_[worker.index] = tally;
  }

  bool keep_trace() override { return traced_ = true; }
  std::shared_ptr<const PipelineTrace> trace() const override {
    if (compute_ns() == 0 && !traced_) return nullptr;
    auto all = std::make_shared<PipelineTrace>(pipeline_->trace());
    if (traced_)
      for (const pipeline::SpanLog& one : spans_) all->workers.push_back(one.worker());
    return all;
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    NodeShares told = shares(repetition);
    tell_others(told, sink);
    const pipeline::Utilization& u = told.gpus;
    const std::uint64_t passed_over = passed_over_samples();
    if (passed_over > 0 && repetition.phases.front().operations == 0)
      throw RunError(fmt::format(
          "not one sample could be used: all that were read, {}, were passed over (on_error: skip)", passed_over));
    sink.put("steps", static_cast<double>(u.steps));
    if (groups_.active()) {
      sink.put("bad_samples", static_cast<double>(groups_.bad_files() + passed_over));
    } else if (shards_.format != formats::Format::none) {
      sink.put("bad_samples", static_cast<double>(data_->empty_files().size() + shards_.faults.size() + passed_over));
      if (layout_ == Layout::shards) sink.put("idle_workers", idle_workers_);
    } else if (decoding_.active()) {
      sink.put("bad_samples", static_cast<double>(passed_over));
    }
    if (u.steps == 0) return;
    if (compute_ns() > 0) {
      if (saves_left_out_) {
        sink.put("utilization_without_saves", u.rule);
      } else {
        sink.put("accelerator_utilization", u.rule);
        sink.put("accelerator_utilization_low", u.low);
        sink.put("accelerator_utilization_high", u.high);
      }
      sink.put("dlio_utilization", u.dlio);
      sink.put("ideal_share", u.ideal);
      sink.put("stall_fraction", u.wait);
      sink.put("host_fraction", u.host);
    }
    if (in_loop_) {
      sink.put("save_fraction", u.save);
      sink.put("saves", static_cast<double>(in_loop_->durable()));
      if (in_loop_->durable() > 0)
        sink.put("time_to_durable_s",
                 1e-9 * static_cast<double>(in_loop_->durable_ns()) / static_cast<double>(in_loop_->durable()));
    }
    sink.put("first_step_wait_s", 1e-9 * static_cast<double>(pipeline_->account().first().wait_ns));
    if (!shuffles_.empty()) sink.put("shuffle_held_bytes", shuffle_bytes());
    sink.put("queue_occupancy", u.ready);
    sink.put("sample_rate", told.rate);
    sink.put("read_bandwidth", repetition.phases.front().bytes_per_s());
    sink.put("reading_share", told.reading);
    sink.put("decoding_share", told.decoding);
    sink.put("waiting_share", told.waiting);
    const Tally all = tally();
    sink.put("stalled_reads", static_cast<double>(all.stalls.count()));
    sink.put("longest_read_s", 1e-9 * static_cast<double>(all.longest_ns));
    if (all.samples > 0)
      sink.put("decode_time_s", 1e-9 * static_cast<double>(all.decoding_ns) /
                                    (static_cast<double>(all.samples) * samples_per_operation()));
  }
  std::optional<unsigned> slowest() const override { return slowest_; }
  std::string why_missing(std::string_view) const override {
    if (!pipeline_ || pipeline_->account().steps() > 1) return "";
    for (const ShuffleBuffer* one : shuffles_)
      if (!one->took_all() && one->most_held() < shuffling().initial)
        return fmt::format("a shuffle buffer had {} of the {} samples that it holds before the first is handed over",
                           one->most_held(), shuffling().initial);
    return pipeline_->out_of_data() ? "the data set has fewer than two steps of whole batches for every GPU"
                                    : "fewer than two steps ended within the repetition's time";
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong;
    if (data_) wrong = data_->verify(progress);
    if (saver_ && in_loop_ && in_loop_->durable() > 0)
      for (WrongBlock& block : saver_->verify(progress)) wrong.push_back(std::move(block));
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    if (engine_ != nullptr) notes = engine_->take_notes();
    if (saver_) notes.insert(notes.end(), saver_->notes().begin(), saver_->notes().end());
    collect_bad();
    if (!held_back_.empty()) notes.push_back(held_back_);
    held_back_.clear();
    decoding_.tell(data_ ? &data_->files() : nullptr, notes);
    groups_.tell(notes);
    if (data_ && !groups_.active()) bad_.tell(data_->files(), notes);
    double files = 0, decoded = 0;
    for (const Tally& t : tallies_) files += static_cast<double>(t.samples), decoded += static_cast<double>(t.decoded);
    if (decoded > 0 && std::abs(decoded / files / samples_per_file_ - 1) > 0.1)
      notes.push_back(
          fmt::format("files hold {:.3g} samples each on average that can be decoded, not {:.6g} "
                      "(samples_per_file), which rates count",
                      decoded / files, samples_per_file_));
    stalls_.tell(data_ ? &data_->files() : nullptr, notes);
    stalls_ = {};
    tell_shuffling(notes);
    std::move(shard_notes_.begin(), shard_notes_.end(), std::back_inserter(notes));
    shard_notes_.clear();
    return notes;
  }
  void cleanup(Node&) override {
    shuffles_.clear();
    sources_.clear();
    decoding_.clear();
    several_.clear();
    pipeline_.reset();
    others_.reset();
    in_loop_.reset();
    saver_.reset();
    places_.reset();
    data_.reset();
    engine_ = nullptr;
    memory_ = {};
  }

 private:
  static Layout layout_of(Params& p) {
    const std::string word = p.choice("layout", "files", {"files", "shards", "indexed"},
                                      "files: one or a few samples in each; shards: read from front to back, each "
                                      "worker its own; indexed: samples anywhere in large files");
    return word == "files" ? Layout::files : word == "shards" ? Layout::shards : Layout::indexed;
  }
  static ReadProfile profile_of(Params& p, Layout layout) {
    const std::string word =
        p.choice("read_profile", layout == Layout::files ? "whole" : "ranged",
                 {"whole", "pil", "mmap", "npz", "ranged", "wds", "mds", "row_group"},
                 "calls by which a sample is read: as small_file_read has them for files, shard_stream for shards and "
                 "random_read for indexed");
    const std::vector<std::string> known =
        layout == Layout::files    ? std::vector<std::string>{"whole", "pil", "mmap", "npz"}
        : layout == Layout::shards ? std::vector<std::string>{"ranged", "wds"}
                                   : std::vector<std::string>{"ranged", "mmap", "mds", "row_group"};
    if (std::find(known.begin(), known.end(), word) == known.end())
      p.conflict("read_profile", "no such data of this layout is read by " + word);
    return read_profile(word);
  }

  void check_params(Params& p) const {
    if (flies() && !io_.traits().queues())
      p.conflict("engine", "a loader that keeps requests in flight reads with " + queueing_engine() + "; engine " +
                               io_.engine + " waits for each");
    if (flies() && profile_ != ReadProfile::whole && profile_ != ReadProfile::ranged)
      p.conflict("read_profile", "who reads like that waits for each read: a loader with requests in flight does not");
    if (groups_.active()) check_groups(p);
    const bool parses =
        groups_.active() || layout_ == Layout::shards || (layout_ == Layout::files && decoding_.active());
    if (passes_over_bad_ && (!parses || spec_.path.empty()))
      p.conflict("on_error", "skip goes with a path, and layout shards or a codec: nothing else is parsed or decoded");
    if (decoding_.active() && cpu_time_s_ > 0)
      p.conflict("cpu_time_per_sample", "it stands for decoding, and codec " + decoding_.codec() + " decodes");
    if (spec_.holds_samples() && decoding_.active() && spec_.content != decoding_.codec())
      p.conflict("content", "workers decode another codec: " + decoding_.codec());
    if (spec_.holds_samples() && layout_ != Layout::files && (layout_ == Layout::indexed || spec_.content_sample == 0))
      p.conflict("content",
                 "files that hold a sample each are read by layout files; tar shards (content_sample) by layout "
                 "shards, too");
    if (spec_.holds_samples() && layout_ == Layout::files && (spec_.content_sample > 0) != (samples_per_file_ > 1))
      p.conflict("content_sample", "goes with samples_per_file of more than 1");
    if (decoding_.active() && !spec_.path.empty() && layout_ == Layout::indexed)
      p.conflict("codec",
                 "samples of one's own are decoded out of files and of shards that are read from front to back");
    if (decoding_.active() && !spec_.path.empty() && samples_per_file_ < 1)
      p.conflict("samples_per_file", "a sample that lies in several files is not decoded: 1 or more");
    check_shuffling(p);
    if (saves_left_out_ && save_every_ == 0) p.conflict("checkpoint_left_out", "there is none: give checkpoint_every");
    if (save_every_ == 1) p.conflict("checkpoint_every", "0, or at least 2: the first step counts for nothing");
    if (io_.workers % gpus_ != 0) p.conflict("workers", "each GPU has as many: a multiple of gpus");
    if (layout_ == Layout::shards && loader_.kind() == Loader::Kind::pytorch)
      p.conflict("loader", "workers have shards of their own: pytorch_iterable, tfdata");
    if (layout_ == Layout::files && samples_per_file_ > static_cast<double>(loader_.batch_size()))
      p.conflict("samples_per_file", "one file has more samples than a batch: dataset.layout shards reads such files");
    const bool mapped = layout_ == Layout::indexed && profile_ == ReadProfile::mmap;
    if (io_.traits().maps != mapped) p.conflict("engine", "mmap goes with layout indexed and read_profile mmap");
    if (profile_ == ReadProfile::wds && io_.block_size != kTarRecord)
      p.conflict("block_size", "wds reads 10 KiB at a time");
  }

  /// Each worker holds a file that it decodes in one piece, and what it is made of.
  std::optional<Skip> check_files_held(Node& node) const {
    if (!decodes_what_is_read() || !spec_.path.empty() || layout_ != Layout::files) return std::nullopt;
    const double each = static_cast<double>(spec_.file_size + 3 * spec_.file_size_spread);
    const double all = 2 * each * io_.workers, memory = static_cast<double>(node.memory_available());
    if (all <= memory / 10 * 9) return std::nullopt;
    return Skip{fmt::format("{} workers that each decode a file of up to {} take {} of memory, {} is available",
                            io_.workers, format_quantity(each, Dimension::bytes, true),
                            format_quantity(all, Dimension::bytes, true),
                            format_quantity(memory, Dimension::bytes, true))};
  }
  void check_groups(Params& p) const {
    if (profile_ != ReadProfile::row_group)
      p.conflict("table", "row groups are read by layout indexed with read_profile row_group");
    else if (spec_.path.empty())
      p.conflict("table", "goes with a path: generated files have no tables in them");
    if (from_ == "none") p.conflict("table", "nothing is read: source storage or memory");
    if (flies()) p.conflict("table", "Arrow's calls wait for each row group: another loader than in_flight");
    if (cpu_time_s_ > 0 && groups_.decodes())
      p.conflict("cpu_time_per_sample", "it stands for decoding, and arrays are made of the row groups");
    if (decoding_.active()) p.conflict("codec", "of tables arrays are made, and nothing else is decoded");
    if (shuffling_.active())
      p.conflict("shuffle_buffer", "row groups of a table are not held: table raw holds their bytes");
  }
  void check_shuffling(Params& p) const {
    if (!shuffling_.active()) return;
    if (layout_ == Layout::files)
      p.conflict("shuffle_buffer", "files are shuffled by their names, and none is held: layout shards");
    else if (layout_ == Layout::indexed && profile_ != ReadProfile::row_group)
      p.conflict("shuffle_buffer", "indexed samples are read in a random order: layout shards, or whole row groups");
    else if (layout_ == Layout::indexed && flies())
      p.conflict("shuffle_buffer", "row groups of a loader with requests in flight come in any order: layout shards");
    else if (loader_.kind() == Loader::Kind::pytorch)
      p.conflict("shuffle_buffer", "pytorch shuffles its indices: loader pytorch_iterable, tfdata or in_flight");
    else if (from_ == "none")
      p.conflict("shuffle_buffer", "samples that are there at once have no bytes to hold: source storage or memory");
  }
  /// As operations of a worker's source count.
  Shuffling shuffling() const { return shuffling_.in_operations(samples_per_operation()); }
  /// Most that all of them held [B].
  double shuffle_bytes() const {
    double held = 0;
    for (const ShuffleBuffer* one : shuffles_) held += static_cast<double>(one->most_bytes());
    return held;
  }
  /// Batches that a worker hands over while its buffer still grows.
  std::uint64_t growing() const { return (shuffling().samples - shuffling().initial) / operations_at_once(); }
  void tell_shuffling(std::vector<std::string>& notes) const {
    if (shuffles_.empty() || !pipeline_) return;
    if (pipeline_->account().steps() > 0)
      notes.push_back(fmt::format(
          "{} for the first step's data, with {} of {} samples in each worker's shuffle buffer; all of them held up to "
          "{}",
          format_duration(1e-9 * static_cast<double>(pipeline_->account().first().wait_ns)), shuffling_.initial,
          shuffling_.samples, format_quantity(shuffle_bytes(), Dimension::bytes)));
    const auto all = static_cast<std::uint64_t>(std::ranges::count_if(shuffles_, &ShuffleBuffer::took_all));
    if (all > 0)
      notes.push_back(
          fmt::format("the data of {} of {} workers ended before their shuffle buffers of {} samples were full: what a "
                      "loader does for most of an epoch, a read for each sample that goes, was not measured",
                      all, io_.workers, shuffling_.samples));
  }

  Tally tally() const {
    Tally all;
    for (const Tally& t : tallies_) {
      all.reading_ns += t.reading_ns;
      all.decoding_ns += t.decoding_ns;
      all.waiting_ns += t.waiting_ns;
      all.samples += t.samples;
      all.held += t.held;
      all.longest_ns = std::max(all.longest_ns, t.longest_ns);
      all.stalls.add(t.stalls);
    }
    return all;
  }
  /// Of this node.
  NodeShares shares(const Repetition& repetition) const {
    NodeShares own;
    own.gpus = pipeline::utilization(pipeline_->account(), pipeline_->settling());
    const Tally all = tally();
    // Where batches are taken as they come, what was read tells more than whole batches do.
    const double held = all.samples > 0 ? static_cast<double>(all.held) / static_cast<double>(all.samples) : 0;
    own.rate = compute_ns() == 0 ? repetition.phases.front().operations_per_s() * samples_per_operation() * (1 + held)
                                 : settled_step_rate(pipeline_->account(), pipeline_->settling()) * samples_per_step();
    const auto time = static_cast<double>(all.reading_ns + all.decoding_ns + all.waiting_ns);
    const auto share = [time](std::uint64_t ns) { return time > 0 ? static_cast<double>(ns) / time : 0; };
    own.reading = share(all.reading_ns);
    own.decoding = share(all.decoding_ns);
    own.waiting = share(all.waiting_ns);
    return own;
  }
  /// Of several nodes: all say what they did, and what is told is the slowest one's, as its steps are everybody's. Where
  /// nothing computes no step waits for another; then each node counts for as much as the slowest gives.
  void tell_others(NodeShares& told, MetricSink& sink) const {
    slowest_.reset();
    held_back_.clear();
    if (team_.size() < 2) return;
    const std::string own(reinterpret_cast<const char*>(&told), sizeof told);
    std::vector<NodeShares> all;
    for (const std::string& words : ranks_->gather("shares of the steps", team_, own, kWords_s))
      std::memcpy(&all.emplace_back(), words.data(), std::min(words.size(), sizeof told));
    if (compute_ns() == 0) {
      const auto least = std::ranges::min_element(all, {}, &NodeShares::rate);
      slowest_ = static_cast<unsigned>(least - all.begin());
      told.rate = least->rate;
      return;
    }
    // Who ends a step last waits for nobody. How often one does says less: of steps that come in bursts only the first is
    // waited for.
    const auto least = std::ranges::min_element(all, {}, [](const NodeShares& each) { return each.gpus.others; });
    slowest_ = static_cast<unsigned>(least - all.begin());
    double others = 0;
    for (const NodeShares& each : all) others += each.gpus.others;
    others = (others - least->gpus.others) / static_cast<double>(all.size() - 1);
    const double rate = told.rate;
    const std::uint64_t steps = told.gpus.steps;
    told = *least;
    told.rate = rate;
    told.gpus.steps = steps;
    sink.put("others_fraction", others);
    sink.put("least_others_fraction", told.gpus.others);
    held_back_ =
        fmt::format("in the last repetition {} waited for other nodes {:.1f} % of the time, the other{} {:.1f} %",
                    ranks_->who(team_[*slowest_]), 100 * told.gpus.others, all.size() == 2 ? "" : "s", 100 * others);
  }

  /// Does a worker keep several requests in flight?
  bool flies() const { return loader_.kind() == Loader::Kind::in_flight; }
  bool saves() const { return save_every_ > 0 && !saves_left_out_; }
  std::uint64_t operations_per_batch() const { return loader_.operations_per_batch(samples_per_operation()); }
  /// That a worker hands over at once.
  std::uint64_t operations_at_once() const { return loader_.operations(samples_per_operation()); }
  std::uint64_t pieces() const { return std::max<std::uint64_t>(1, operations_per_batch() / operations_at_once()); }
  /// What each worker may be ahead by: batches of its own, or its part of those that all prepare together.
  unsigned ahead() const {
    if (loader_.kind() != Loader::Kind::tfdata) return loader_.prefetch_factor();
    const std::uint64_t each = io_.workers / gpus_, all = pieces() * loader_.prefetch_factor();
    return static_cast<unsigned>((all + each - 1) / each);
  }
  /// A file may hold several; of a row group that was read a loader takes all rows.
  double samples_per_operation() const {
    if (layout_ == Layout::files) return samples_per_file_;
    if (profile_ != ReadProfile::row_group) return 1;
    if (groups_.active()) return std::max(1.0, groups_.rows());
    return std::max(1.0, static_cast<double>(io_.block_size) / static_cast<double>(sample_size_));
  }
  std::uint64_t operation_bytes() const {
    return static_cast<std::uint64_t>(std::ceil(static_cast<double>(sample_size_) * samples_per_operation()));
  }
  double samples_per_batch() const { return static_cast<double>(operations_per_batch()) * samples_per_operation(); }
  double samples_per_step() const { return samples_per_batch() * gpus_ * batches_per_step_; }
  /// Of one batch, which may have other samples than batch_size where files hold several.
  std::uint64_t compute_ns() const {
    return static_cast<std::uint64_t>(std::llround(1e9 * step_time_s_ / batches_per_step_ * samples_per_batch() /
                                                   static_cast<double>(loader_.batch_size())));
  }

  std::unique_ptr<SampleSource> source(unsigned number) const {
    if (from_ == "none") return no_source();
    if (groups_.active())
      return groups_.source(number + team_index_ * io_.workers, io_.workers * team_size_, from_ == "memory");
    if (from_ == "memory") return memory_source(memory_, operation_bytes());
    const FileTable& files = data_->files();
    const std::uint64_t per_batch = operations_at_once();
    ReaderOptions options = io_.reader_options();
    switch (layout_) {
      case Layout::files: {
        const WorkerShare share{.gpu = number % gpus_,
                                .gpus = gpus_,
                                .worker = number / gpus_,
                                .workers = io_.workers / gpus_,
                                .per_batch = per_batch,
                                .own_share = loader_.kind() == Loader::Kind::pytorch_iterable};
        // A decoder gets a file in one piece.
        options.keep_data = decodes_what_is_read();
        if (options.keep_data)
          options.block_size = std::max(options.block_size, (files.largest() + 4095) / 4096 * 4096);
        if (flies()) return files_in_flight(engine_->whole_file_reader(files, options), order_, share);
        return whole_files_source(profile_ == ReadProfile::whole
                                      ? engine_->whole_file_reader(files, options)
                                      : profile_file_reader(profile_, files, options.keep_data),
                                  order_, share);
      }
      case Layout::shards: {
        std::vector<std::uint32_t> shards = shards_.of(number, io_.workers, team_index_, team_size_);
        if (flies()) options.advice = Advice::sequential;  // frameworks tell the kernel nothing
        auto reader = profile_ == ReadProfile::ranged ? engine_->block_reader(files, shards, options)
                                                      : profile_block_reader(profile_, files, shards, io_.block_size);
        if (flies()) {
          std::vector<std::uint64_t> sizes;
          for (const std::uint32_t shard : shards) sizes.push_back(files.size(shard));
          reader = read_ahead(std::move(reader), std::move(sizes), io_.block_size, io_.queue_depth);
        }
        if (shards_.format != formats::Format::none)
          return own_shards_source(std::move(reader), files, std::move(shards), io_.block_size, shards_, payload());
        return shards_source(std::move(reader), files, std::move(shards), io_.block_size, sample_size_, per_batch,
                             shuffling_.active());
      }
      case Layout::indexed:
        break;
    }
    if (flies()) options.advice = Advice::random;
    const bool plain = profile_ == ReadProfile::ranged || profile_ == ReadProfile::mmap;
    auto reader = plain ? engine_->block_reader(files, places_->selected(), options)
                        : profile_block_reader(profile_, files, places_->selected(), io_.block_size);
    const std::uint64_t blocks = (sample_size_ + io_.block_size - 1) / io_.block_size;
    if (flies())
      return places_in_flight(std::move(reader), *places_, io_.block_size, blocks, number, io_.workers, per_batch,
                              io_.queue_depth);
    return places_source(std::move(reader), *places_, io_.block_size, blocks, number, io_.workers, per_batch,
                         shuffling_.active());
  }
  /// What one worker keeps of each sample that it parses; nullptr: nothing.
  std::unique_ptr<formats::Payload> payload() const {
    if (decodes_what_is_read()) return decoding_.payload(sample_size_);
    return shuffling_.active() ? std::make_unique<formats::Payload>(2 * sample_size_) : nullptr;
  }

  /// Is what the files hold samples, as far as can be known?
  bool has_samples() const { return !spec_.path.empty() || spec_.holds_samples(); }
  bool decodes_what_is_read() const { return decoding_.active() && from_ == "storage" && has_samples(); }
  /// Untimed.
  void prepare_decoding(Node& node, const DataProgress& progress) {
    decoding_.prepare(node, io_.workers);
    if (!decoding_.active()) return;
    if (decodes_what_is_read()) {
      if (several_are_decoded()) find_several();
      return;
    }
    if (!has_samples()) return decoding_.hold_drawn(node, sample_size_);
    data_ = DataSet::open(spec_, node, progress);
    const bool several = layout_ == Layout::shards || several_are_decoded();
    if (several) shards_ = parsed_shards();
    decoding_.hold(data_->files(), several ? &shards_ : nullptr, passes_over_bad_);
    shards_ = {};
    data_.reset();
  }
  /// Files of several samples, which are small shards, read whole.
  bool several_are_decoded() const {
    return decoding_.active() && has_samples() && layout_ == Layout::files && samples_per_file_ > 1;
  }
  /// Throws RunError: what is to be decoded cannot be told apart.
  OwnShards parsed_shards() const {
    OwnShards shards = own_shards(data_->files(), data_->empty_files());
    if (shards.format == formats::Format::none)
      throw RunError(data_->files().root() +
                     ": samples are decoded out of tar, TFRecord and MDS files, and these are none "
                     "(codec: none, with cpu_time_per_sample, leaves decoding out)");
    return shards;
  }
  void find_several() {
    shards_ = parsed_shards();
    several_.clear();
    for (unsigned i = 0; i < io_.workers; ++i) several_.emplace_back(shards_, decoding_.payload(sample_size_));
  }
  /// Decodes what was read. False: it cannot be, and `done` says so.
  bool decode(unsigned worker, SampleRead& done) noexcept {
    std::uint64_t offset = done.data_offset;
    const std::uint32_t file = done.data_file.value_or(done.file);
    if (decoding_.run(worker, done.data, file, offset)) return true;
    done.error = {.code = OperationError::kBadSample,
                  .file = file,
                  .offset = offset,
                  .part = kDecode,
                  .flaw = static_cast<std::uint8_t>(formats::Flaw::undecodable)};
    return false;
  }

  /// Decodes each sample of a file that was read; what cannot be used is counted where it is passed over. False: none can
  /// be, or one cannot and that is to fail; `done` says so.
  bool decode_several(unsigned worker, SampleRead& done, Tally& tally) noexcept {
    FileSamples& samples = several_[worker];
    samples.begin(done.data);
    const std::uint32_t file = done.file;
    bool some = false;
    formats::Flaw flaw;
    for (std::uint64_t offset = 0; samples.next(flaw, offset);) {
      SampleRead one = done;
      one.data = samples.bytes();
      one.data_offset = offset;
      if (flaw == formats::Flaw::none && decode(worker, one)) {
        some = true;
        ++tally.decoded;
        continue;
      }
      if (flaw != formats::Flaw::none) {
        one.error = {.code = OperationError::kBadSample,
                     .file = file,
                     .offset = offset,
                     .part = kDecode,
                     .flaw = static_cast<std::uint8_t>(flaw)};
        tally.bad.add(one.error);
      }
      done.error = one.error;
      if (!passes_over_bad_) return false;
    }
    if (some) done.error = {};
    return some;
  }

  /// Untimed: which files are shards to be parsed. Throws RunError where there is too little and that is to fail.
  void find_shards() {
    idle_workers_ = 0;
    shards_ = {};
    if (data_->generated() && !data_->holds_samples()) {
      shards_.files.resize(data_->files().count());
      std::iota(shards_.files.begin(), shards_.files.end(), 0u);
      return;
    }
    shards_ = decoding_.active() ? parsed_shards() : own_shards(data_->files(), data_->empty_files());
    if (shards_.format == formats::Format::none) return;
    for (unsigned i = 0; i < io_.workers; ++i)
      idle_workers_ += shards_.of(i, io_.workers, team_index_, team_size_).empty();
    std::vector<std::string> lacking;
    for (const MdsIndexFault& fault : shards_.faults) lacking.push_back(fault.words);
    for (const std::string& name : data_->empty_files())
      lacking.push_back(data_->files().root() + "/" + name + ": the shard is empty (0 bytes)");
    if (idle_workers_ > 0)
      lacking.push_back(fmt::format("{} of {} workers have no shard: there are {} for {} process{}", idle_workers_,
                                    io_.workers, shards_.files.size(), team_size_, team_size_ == 1 ? "" : "es"));
    if (!passes_over_bad_ && !lacking.empty()) throw RunError(lacking.front() + " (on_error: skip goes on)");
    shard_notes_ = std::move(lacking);
    shard_notes_.push_back(fmt::format(
        "samples are those of {} {} shards, parsed{}", shards_.files.size(), to_string(shards_.format),
        shards_.parts.empty() ? "" : fmt::format("; each has to have: {}", fmt::join(shards_.parts, ", "))));
    if (shards_.others > 0)
      shard_notes_.push_back(fmt::format("{} other files beside the shards are not read", shards_.others));
  }
  std::uint64_t passed_over_samples() const {
    std::uint64_t bad = decoding_.bad();
    for (const Tally& t : tallies_) bad += t.bad.count();
    return bad;
  }
  /// What ends a shard that an index told already is named, and not counted again.
  void add_bad(Tally& tally, const OperationError& error) const noexcept {
    const auto flaw = static_cast<formats::Flaw>(error.flaw);
    const bool of_shard = rest_is_lost(flaw) || flaw == formats::Flaw::no_sample;
    tally.bad.add(error, !of_shard || !shards_.told(error.file));
  }
  void collect_bad() {
    for (Tally& t : tallies_) {
      bad_.add(t.bad);
      stalls_.add(t.stalls);
      t.bad = {};
      t.stalls = {};
    }
  }

  void read_batches(Worker& worker, SampleSource& source, Tally& tally) noexcept {
    Recorder& recorder = worker.recorder;
    const std::uint64_t per_batch = operations_at_once();
    const auto decode_ns = static_cast<std::uint64_t>(std::llround(1e9 * cpu_time_s_ * samples_per_operation()));
    pipeline::SpanLog& spans = spans_[worker.index];
    const double held = decodes_what_is_read() ? 1 : std::max(1.0, std::round(samples_per_operation()));
    const auto decodes = decoding_.active() ? static_cast<unsigned>(held) : 0u;
    const auto stalled_ns = static_cast<std::uint64_t>(1e9 * stalled_after_s_);
    std::uint64_t now = now_ns();
    for (std::uint64_t batch = 0; source.has(batch); ++batch) {
      const bool goes_on = pipeline_->begin(worker.index, recorder);
      const std::uint64_t begun = now_ns();
      tally.waiting_ns += begun - now;
      spans.add(Stage::waiting, now, begun, batch, 0);
      now = begun;
      if (!goes_on) return;
      bool whole = false;
      std::uint64_t bytes = 0;  // read for samples that cannot be used
      for (std::uint64_t i = 0; i < per_batch;) {
        SampleRead done = source.read(batch, i);
        const std::uint64_t came = std::max(now, done.end_ns);  // of those in flight some have come before
        const std::uint64_t took = came - now;
        tally.reading_ns += took;
        tally.longest_ns = std::max(tally.longest_ns, took);
        if (took > stalled_ns)
          tally.stalls.add({.ns = took,
                            .begin_ns = now - recorder.started_ns(),
                            .offset = done.offset,
                            .file = done.file,
                            .worker = worker.index});
        spans.add(Stage::reading, now, came, batch, i);
        now = came;
        if (done.held) {
          recorder.came(now, done.bytes);
          if (pipeline_->over()) return;
          continue;
        }
        bytes += done.bytes;
        if (done.over) break;
        const bool parsed = done.error.code == 0, own = parsed && source.decodes();
        if (parsed && decodes > 0 && !several_.empty()) {
          decode_several(worker.index, done, tally);
        } else if (parsed && decodes > 0) {
          // What lies in memory stands for each sample of a file.
          for (unsigned k = 0; k < decodes && decode(worker.index, done); ++k) {
          }
        } else if (own) {
          source.decode(done);
        } else if (parsed) {
          pipeline::burn(decode_ns);
        }
        if (parsed && (decodes > 0 || decode_ns > 0 || own)) {
          const std::uint64_t decoded = now_ns();
          recorder.part(kDecode, decoded - now);
          tally.decoding_ns += decoded - now;
          spans.add(Stage::decoding, now, decoded, batch, i);
          now = decoded;
        }
        const bool bad = done.error.code == OperationError::kBadSample;
        if (done.error.code != 0 && !(bad && passes_over_bad_)) recorder.fail(done.error, now);
        if (bad && (!parsed || passes_over_bad_)) {
          if (!parsed || own) add_bad(tally, done.error);
          recorder.extend(now);
          source.pass_over();
          if (pipeline_->over()) return;
          continue;
        }
        if (done.error.code == 0) recorder.op(done.begin_ns, done.end_ns, std::exchange(bytes, 0));
        ++i;
        whole = i == per_batch;
        ++tally.samples;
        if (pipeline_->over()) return;
      }
      if (!whole) break;
      pipeline_->ready(worker.index);
    }
    pipeline_->end(worker.index);
  }

  Loader loader_;
  Layout layout_;
  ReadProfile profile_;
  std::string from_;
  StorageParams io_;
  DataSetSpec spec_;
  double samples_per_file_;
  std::uint64_t sample_size_;
  unsigned gpus_, batches_per_step_;
  double step_time_s_;
  double stalled_after_s_;
  bool passes_over_bad_;
  double cpu_time_s_;
  SampleDecoding decoding_;
  RowGroups groups_;
  Shuffling shuffling_;
  std::uint64_t save_every_;
  bool saves_left_out_;
  checkpoint::SaveParams save_;
  unsigned team_index_ = 0, team_size_ = 1;  // processes that share the files
  Ranks* ranks_ = nullptr;                   // where there are several
  std::vector<unsigned> team_;
  std::unique_ptr<pipeline::StepBarrier> others_;  // they step with this node
  mutable std::optional<unsigned> slowest_;        // by its place, of the last repetition
  mutable std::string held_back_;
  std::shared_ptr<DataSet> data_;
  StorageEngine* engine_ = nullptr;
  std::optional<BlockPlaces> places_;
  OwnShards shards_;
  std::vector<FileSamples> several_;  // of each worker, where files hold several samples that are decoded
  unsigned idle_workers_ = 0;
  std::vector<std::string> shard_notes_;
  NamedBadSamples bad_;
  Stalls stalls_;  // of all repetitions
  std::vector<unsigned char> memory_;
  FileQueue order_;
  std::vector<std::unique_ptr<SampleSource>> sources_;
  std::vector<ShuffleBuffer*> shuffles_;  // of each worker, among them, where there is one
  std::unique_ptr<checkpoint::Saver> saver_;
  std::unique_ptr<pipeline::SavesInLoop> in_loop_;
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<Tally> tallies_;
  std::vector<pipeline::SpanLog> spans_;  // of each worker
  bool traced_ = false;
};

const Register<InputPipeline> registered{
    "input_pipeline", "a job's loader run for real: read, decode, batch, and GPUs emulated by their step time"};
}  // namespace
