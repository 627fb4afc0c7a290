// input_pipeline - a training job's input pipeline run for real. Workers read and decode, and GPUs are emulated by
// their step time. The result is the share of time in which they compute.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/job/formula.h"
#include "harness/machine/block_device.h"
#include "harness/machine/device_settings.h"
#include "harness/record/ranks/ranks.h"
#include "harness/workload/data/checkpoint_saver.h"
#include "harness/workload/data/pipeline.h"
#include "harness/workload/workload.h"
#include "workloads/storage/input_pipeline/gpu_copies.h"
#include "workloads/storage/input_pipeline/inputs.h"
#include "workloads/storage/input_pipeline/metrics.h"
#include "workloads/storage/input_pipeline/settings.h"
#include "workloads/storage/input_pipeline/workers.h"

namespace headrace::input_pipeline {
namespace {

// Several nodes that step together: each one's part of a repetition, and the node that holds back the others.

/// What a node did in a repetition.
struct NodeShares {
  double rate = 0;  // samples/s
  pipeline::Utilization gpus;
  double reading = 0, decoding = 0, waiting = 0;  // of the workers' time
};

static_assert(std::is_trivially_copyable_v<NodeShares>);

/// The nodes of a team; one alone sends nothing.
class NodesTogether {
 public:
  /// Untimed.
  void connect(Node& node);
  /// By which they end their steps together; nullptr: there is one.
  std::unique_ptr<pipeline::StepBarrier> barrier() const;

  /// All report their work, and `reported` becomes the slowest one's, as its steps are those of all. Without `steps`
  /// nothing computes and no step waits for another. Then each node counts for as much as the slowest gives.
  void report(NodeShares& reported, bool steps, MetricSink& sink);
  /// By its place, after report().
  std::optional<unsigned> slowest() const { return slowest_; }
  /// A note of the last repetition, once; "" = none.
  std::string take_note();

 private:
  Ranks* ranks_ = nullptr;
  std::vector<unsigned> team_;
  std::optional<unsigned> slowest_;
  std::string held_back_;
};

constexpr double kWords_s = 60;  // for the others' words after a repetition

void NodesTogether::connect(Node& node) {
  ranks_ = &node.ranks();
  team_ = node.team();
}

std::unique_ptr<pipeline::StepBarrier> NodesTogether::barrier() const {
  return team_.size() > 1 ? std::make_unique<pipeline::StepBarrier>(*ranks_, team_) : nullptr;
}

void NodesTogether::report(NodeShares& reported, bool steps, MetricSink& sink) {
  slowest_.reset();
  held_back_.clear();
  if (team_.size() < 2) return;
  const std::string own(reinterpret_cast<const char*>(&reported), sizeof reported);
  std::vector<NodeShares> all;
  for (const std::string& words : ranks_->gather("shares of the steps", team_, own, kWords_s))
    std::memcpy(&all.emplace_back(), words.data(), std::min(words.size(), sizeof reported));
  if (!steps) {
    const auto least = std::ranges::min_element(all, {}, &NodeShares::rate);
    slowest_ = static_cast<unsigned>(least - all.begin());
    reported.rate = least->rate;
    return;
  }
  // The node that ends a step last waits for no other. How often one does proves less: of steps that come in bursts
  // only the first is waited for.
  const auto least = std::ranges::min_element(all, {}, [](const NodeShares& each) { return each.gpus.others; });
  slowest_ = static_cast<unsigned>(least - all.begin());
  double others = 0;
  for (const NodeShares& each : all) others += each.gpus.others;
  others = (others - least->gpus.others) / static_cast<double>(all.size() - 1);
  const double rate = reported.rate;
  const std::uint64_t counted = reported.gpus.steps;
  reported = *least;
  reported.rate = rate;
  reported.gpus.steps = counted;
  sink.put("others_fraction", others);
  sink.put("least_others_fraction", reported.gpus.others);
  held_back_ =
      fmt::format("in the last repetition {} waited for other nodes {:.1f} % of the time, the other{} {:.1f} %",
                  ranks_->who(team_[*slowest_]), 100 * reported.gpus.others, all.size() == 2 ? "" : "s", 100 * others);
}

std::string NodesTogether::take_note() { return std::exchange(held_back_, ""); }

}  // namespace
}  // namespace headrace::input_pipeline

namespace {
using namespace headrace;
using namespace headrace::input_pipeline;

constexpr std::size_t kTracedSteps = 20'000;  // that a trace has room for
constexpr unsigned kTrainer = 2;              // its latency parts, behind those of the workers

/// What do the GPUs of a job get from this storage, through the job's loader?
class InputPipeline final : public Workload,
                            public ReadsFiles,
                            public JoinsRanks,
                            public SavesCheckpoints,
                            public TracesItems {
 public:
  explicit InputPipeline(Params& p) : set_(p), inputs_(set_), workers_(set_, inputs_) {}

  static constexpr WorkloadTraits kTraits{.threads_stay = false};
  static std::span<const Metric> metrics() { return kMetrics; }
  std::optional<Skip> check(Node& node) override { return set_.check(node); }
  Footprint footprint() const override { return set_.footprint(); }
  /// After those that read, the GPUs, their processes, and then the ranks of checkpoints.
  unsigned workers() const override { return first_process() + processes() + background_workers(); }
  unsigned background_workers() const override { return set_.saves() ? set_.save.ranks : 0; }
  std::vector<std::string> latency_parts() const override { return {"decode", "batch_wait", "step", "wakeup"}; }
  std::vector<CacheState> cache_states() const override {
    if (set_.from != "storage") return {};
    return set_.io.cache_states();
  }
  /// It fills, runs, and runs empty: its own windows report the steady part.
  std::vector<PhaseSpec> phases() const override { return {{.name = "main", .keeps_cache = false, .varies = true}}; }

  void prepare(Node& node, const DataProgress& progress) override {
    cores_ = node.cores();
    if (set_.settled && set_.layout == Layout::shards && set_.from == "storage")
      if (const auto device = system::device_of(set_.spec.path.empty() ? node.scratch_path() : set_.spec.path))
        read_ahead_ = system::device_settings(device->sys_path).read_ahead.value_or(0);
    inputs_.prepare(node, progress);
    if (inputs_.data() != nullptr) requests_.open(node, set_.io.engine, inputs_.data()->files());
    if (set_.saves()) {
      saver_ = std::make_unique<checkpoint::Saver>(set_.save, node, progress);
      saving_engine_ = &node.backends().storage(set_.save.engine);
      if (set_.save.objects && !requests_.on()) requests_.open(node, set_.save.engine, node.scratch_path());
    }
    if (set_.copied_bytes() == 0) return;
    no_copies_ = node.backends().why_not(Gives::gpus);
    if (no_copies_.empty())
      copies_ = std::make_unique<GpuCopies>(node.backends().gpu(), set_.gpus, set_.copied_bytes());
  }
  void connect(Node& node) override {
    nodes_.connect(node);
    if (steps()) others_ = nodes_.barrier();
  }
  const DataSet* data() const override { return inputs_.data(); }
  CacheUse cache_use() const override { return {.whole_files = set_.layout == Layout::files}; }

  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    inputs_.before_phase(seed);
    requests_.before_phase();
    if (saver_) {
      saver_->fill(seed);
      in_loop_ = std::make_unique<pipeline::SavesInLoop>(*saver_, set_.save_every);
    }
    pipeline_ = std::make_unique<Pipeline>(
        Pipeline::Shape{.gpus = set_.gpus,
                        .workers = set_.io.workers / set_.gpus,
                        .ahead = set_.ahead(),
                        .pieces = set_.pieces(),
                        .batches_per_step = set_.batches_per_step,
                        .compute_ns = set_.compute_ns(),
                        .taking_ns = static_cast<std::uint64_t>(std::llround(1e9 * set_.taking_s)),
                        .growing = set_.shuffling.active() ? set_.growing() : 0,
                        .order = set_.flies() ? pipeline::Order::as_ready : pipeline::Order::by_turns,
                        .kept_steps = traced_ ? kTracedSteps : 0},
        in_loop_.get(), others_.get(), copies_.get());
    workers_.before_phase(seed, traced_);
  }
  void before_run(Worker& worker) override {
    if (worker.index < set_.io.workers) inputs_.source(worker.index).attach();
    if (worker.index == set_.io.workers && copies_) copies_->attach();
    if (worker.index >= first_rank()) saver_->attach(worker.index - first_rank());
  }

  void run(Worker& worker) override {
    if (worker.index < set_.io.workers) return workers_.run(worker, *pipeline_);
    if (worker.index >= first_rank()) return in_loop_->run(worker.index - first_rank(), worker.recorder);
    if (worker.index >= first_process())
      return pipeline_->take_batches(worker.index - first_process(), worker.recorder);
    pipeline_->train(worker.recorder, kTrainer);
    if (copies_)
      if (const std::string failure = copies_->take_failure(); !failure.empty()) throw RunError(failure);
    if (others_)
      if (const std::string who = others_->lost(); !who.empty())
        throw RunError("no step can end any more: " + who + " fell silent");
  }

  bool keep_trace() override { return traced_ = true; }
  std::shared_ptr<const PipelineTrace> trace() const override {
    if (!steps() && !traced_) return nullptr;
    auto all = std::make_shared<PipelineTrace>(pipeline_->trace());
    if (traced_)
      for (const pipeline::SpanLog& one : workers_.spans()) all->workers.push_back(one.worker());
    return all;
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    NodeShares reported = shares(repetition);
    nodes_.report(reported, steps(), sink);
    const std::uint64_t passed_over = workers_.passed_over();
    if (passed_over > 0 && repetition.phases.front().operations == 0)
      throw RunError(fmt::format(
          "not one sample could be used: all that were read, {}, were passed over (on_error: skip)", passed_over));
    sink.put("steps", static_cast<double>(reported.gpus.steps));
    report_bad(passed_over, sink);
    requests_.report(sink);
    if (reported.gpus.steps == 0) return;
    if (steps()) report_utilization(reported.gpus, sink);
    if (in_loop_) report_saves(reported.gpus, sink);
    if (copies_) {
      sink.put("copy_fraction", reported.gpus.copy);
      sink.put("copy_time_s", copies_->mean_s());
    }
    sink.put("first_step_wait_s", first_wait_s());
    if (inputs_.shuffles()) sink.put("shuffle_held_bytes", inputs_.shuffle_bytes());
    sink.put("queue_occupancy", reported.gpus.ready);
    sink.put("sample_rate", reported.rate);
    sink.put("read_bandwidth", repetition.phases.front().bytes_per_s());
    sink.put("reading_share", reported.reading);
    sink.put("decoding_share", reported.decoding);
    sink.put("waiting_share", reported.waiting);
    if (processes() > 0) sink.put("taking_share", pipeline_->taking_share());
    if (set_.decoding.active() && reported.decoding > 0) sink.put("decode_headroom", decode_headroom(reported));
    const Tally all = workers_.tally();
    sink.put("stalled_reads", static_cast<double>(all.stalls.count()));
    sink.put("longest_read_s", 1e-9 * static_cast<double>(all.longest_ns));
    if (all.samples > 0)
      sink.put("decode_time_s", 1e-9 * static_cast<double>(all.decoding_ns) /
                                    (static_cast<double>(all.samples) * set_.samples_per_operation()));
  }
  std::optional<unsigned> slowest() const override { return nodes_.slowest(); }
  std::string why_missing(std::string_view) const override {
    if (!pipeline_ || pipeline_->account().steps() > 1) return "";
    if (std::string why = inputs_.still_filling(); !why.empty()) return why;
    return pipeline_->out_of_data() ? "the data set has fewer than two steps of whole batches for every GPU"
                                    : "fewer than two steps ended within the repetition's time";
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override {
    std::vector<WrongBlock> wrong = inputs_.verify(progress);
    if (saver_ && in_loop_ && in_loop_->durable() > 0)
      for (WrongBlock& block : saver_->verify(progress)) wrong.push_back(std::move(block));
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    inputs_.report_engine(notes);
    if (saving_engine_)
      for (std::string& note : saving_engine_->take_notes()) notes.push_back(std::move(note));
    requests_.add_notes(notes);
    if (saver_) notes.insert(notes.end(), saver_->notes().begin(), saver_->notes().end());
    if (copies_) notes.push_back(copies_->note());
    if (!no_copies_.empty()) notes.push_back("no batch is copied to a GPU: " + no_copies_);
    if (std::string held_back = nodes_.take_note(); !held_back.empty()) notes.push_back(std::move(held_back));
    workers_.report(notes);
    if (pipeline_)
      inputs_.report_shuffling(pipeline_->account().steps() > 0 ? std::optional(first_wait_s()) : std::nullopt, notes);
    inputs_.report_shards(notes);
    return notes;
  }
  void cleanup(Node&) override {
    inputs_.clear();
    pipeline_.reset();
    others_.reset();
    in_loop_.reset();
    saver_.reset();
    copies_.reset();
  }

 private:
  // Threads: workers, GPUs, their processes, ranks of checkpoints.
  unsigned processes() const { return set_.taking_s > 0 ? set_.gpus : 0; }
  unsigned first_process() const { return set_.io.workers + 1; }
  unsigned first_rank() const { return first_process() + processes(); }

  /// Does anything compute? Else batches are taken as fast as they come.
  bool steps() const { return set_.compute_ns() > 0; }
  double first_wait_s() const { return 1e-9 * static_cast<double>(pipeline_->account().first().wait_ns); }

  /// The shares of this node.
  NodeShares shares(const Repetition& repetition) const {
    NodeShares own;
    own.gpus = set_.settled
                   ? pipeline::settled_utilization(pipeline_->account(), pipeline_->settling(), read_ahead_steps())
                   : pipeline::utilization(pipeline_->account(), pipeline_->settling());
    const Tally all = workers_.tally();
    // Where batches are taken as they come, read samples report more than whole batches do.
    const double held = all.samples > 0 ? static_cast<double>(all.held) / static_cast<double>(all.samples) : 0;
    const bool by_batches = steps() || processes() > 0;  // with few of them, the ready batches are a large part
    own.rate = set_.settled && steps()
                   ? 1e9 * own.gpus.rule / static_cast<double>(set_.compute_ns()) * set_.samples_per_step()
               : by_batches ? settled_step_rate(pipeline_->account(), pipeline_->settling()) * set_.samples_per_step()
                            : repetition.phases.front().operations_per_s() * set_.samples_per_operation() * (1 + held);
    const auto time = static_cast<double>(all.reading_ns + all.decoding_ns + all.waiting_ns);
    const auto share = [time](std::uint64_t ns) { return time > 0 ? static_cast<double>(ns) / time : 0; };
    own.reading = share(all.reading_ns);
    own.decoding = share(all.decoding_ns);
    own.waiting = share(all.waiting_ns);
    return own;
  }

  /// Steps whose bytes storage reads at the begin for later steps: each worker's window in the kernel, and another.
  std::uint64_t read_ahead_steps() const {
    const double step = set_.samples_per_step() * static_cast<double>(set_.sample_size);
    return static_cast<std::uint64_t>(2 * set_.io.workers * static_cast<double>(read_ahead_) / step);
  }
  /// Waiting workers could decode instead, and so could idle processors.
  double decode_headroom(const NodeShares& reported) const {
    const double taking = processes() > 0 ? pipeline_->taking_share() * processes() : 0;
    const double processors = std::max(0.0, cores_ - taking) / (reported.decoding * set_.io.workers);
    return std::min((1 - reported.reading) / reported.decoding, processors);
  }
  /// Where anything is parsed or decoded.
  void report_bad(std::uint64_t passed_over, MetricSink& sink) const {
    const std::optional<std::uint64_t> shards = inputs_.bad_shards();
    if (shards || set_.decoding.active())
      sink.put("bad_samples", static_cast<double>(shards.value_or(0) + passed_over));
    if (shards && set_.layout == Layout::shards) sink.put("idle_workers", inputs_.idle_workers());
  }
  void report_utilization(const pipeline::Utilization& u, MetricSink& sink) const {
    if (set_.saves_left_out) {
      sink.put("utilization_without_saves", u.rule);
    } else {
      sink.put("accelerator_utilization", u.rule);
      sink.put("accelerator_utilization_low", u.low);
      sink.put("accelerator_utilization_high", u.high);
      if (set_.epoch_steps > 1 && u.rule > 0)
        sink.put("wall_clock_utilization", job::apply("A27", {{"steps_count", static_cast<double>(set_.epoch_steps)},
                                                              {"step_time_s", set_.step_time_s},
                                                              {"fill_time_s", first_wait_s()},
                                                              {"au_ratio", std::min(1.0, u.rule)}})
                                               .value());
    }
    sink.put("dlio_utilization", u.dlio);
    sink.put("ideal_share", u.ideal);
    sink.put("stall_fraction", u.wait);
    sink.put("host_fraction", u.host);
  }
  void report_saves(const pipeline::Utilization& u, MetricSink& sink) const {
    sink.put("save_fraction", u.save);
    sink.put("saves", static_cast<double>(in_loop_->durable()));
    if (in_loop_->durable() > 0)
      sink.put("time_to_durable_s",
               1e-9 * static_cast<double>(in_loop_->durable_ns()) / static_cast<double>(in_loop_->durable()));
  }

  Settings set_;
  Inputs inputs_;
  ObjectRequests requests_;
  Workers workers_;
  mutable NodesTogether nodes_;                    // the slowest node is known once all have reported
  std::unique_ptr<pipeline::StepBarrier> others_;  // they step with this node
  std::unique_ptr<GpuCopies> copies_;              // of each batch to its GPU
  std::string no_copies_;                          // why there are none, though they were asked for
  std::unique_ptr<checkpoint::Saver> saver_;
  StorageEngine* saving_engine_ = nullptr;
  std::unique_ptr<pipeline::SavesInLoop> in_loop_;
  std::unique_ptr<Pipeline> pipeline_;
  unsigned cores_ = 0;
  std::uint64_t read_ahead_ = 0;  // of the kernel for each file that is streamed [B]
  bool traced_ = false;
};

const Register<InputPipeline> registered_input_pipeline{
    "input_pipeline", "a job's loader run for real: read, decode, batch, and GPUs emulated by their step time"};
}  // namespace
