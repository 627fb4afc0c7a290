// checkpoint_write - N ranks save their shards at once: written next to the old ones, made durable, put in their place.
#include <algorithm>
#include <array>

#include "harness/backends/loader.h"
#include "harness/workload/data/checkpoint_saver.h"
#include "harness/workload/workload.h"
#include "workloads/storage/object_metrics.h"

namespace {
using namespace headrace;
using checkpoint::SaveTimes;

constexpr auto kCheckpointWriteMetrics = with_object_metrics(std::array{
    Metric{"durable_bandwidth", "B/s", Better::higher, "Bytes of all ranks over the time until the last is durable"},
    Metric{"write_bandwidth", "B/s", Better::higher, "Bytes of all ranks over the time until the last write returned"},
    Metric{"time_to_durable_s", "s", Better::lower, "From the start of the save until every rank's shard is durable"},
    Metric{"stall_s", "s", Better::lower,
           "How long training waits: sync, until durable; async, for the copy in memory"},
    Metric{"stage_bandwidth", "B/s", Better::higher, "async: bytes of all ranks over the stall"},
});

/// How long does a save take, and how long does training wait for it?
class CheckpointWrite final : public Workload, public SavesCheckpoints {
 public:
  explicit CheckpointWrite(Params& p) : params_(checkpoint::SaveParams::declare(p)) {}

  static std::span<const Metric> metrics() { return kCheckpointWriteMetrics; }
  std::optional<Skip> check(Node& node) override { return params_.check(node); }
  Footprint footprint() const override {
    return {.written_bytes = 2 * params_.total_bytes(),  // the old one stays until the new one is durable
            .read_bytes_per_repetition = 0,
            .memory_bytes = params_.memory_bytes(),
            .page_cache_bytes = params_.direct || params_.objects ? 0 : params_.total_bytes(),
            .data_id = "checkpoint"};
  }
  unsigned workers() const override { return params_.ranks; }
  std::vector<std::string> latency_parts() const override { return checkpoint::save_parts(); }

  void prepare(Node& node, const DataProgress& progress) override {
    saver_ = std::make_unique<checkpoint::Saver>(params_, node, progress);
    engine_ = &node.backends().storage(params_.engine);
    times_.resize(params_.ranks);
    if (params_.objects) requests_.open(node, params_.engine, node.scratch_path());
  }
  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    saver_->fill(seed);
    std::fill(times_.begin(), times_.end(), SaveTimes{});
    requests_.before_phase();
  }
  void before_run(Worker& worker) override { saver_->attach(worker.index); }
  void run(Worker& worker) override { times_[worker.index] = saver_->save(worker.index, worker.recorder); }

  void report(const Repetition&, MetricSink& sink) const override {
    requests_.report(sink);
    const auto last = [this](std::uint64_t SaveTimes::*what) {
      std::uint64_t latest = 0;
      for (const SaveTimes& t : times_) latest = std::max(latest, t.*what);
      return latest;
    };
    std::uint64_t begin = UINT64_MAX;
    for (const SaveTimes& t : times_) {
      if (t.durable_ns == 0) return;  // stopped: no save, no value
      begin = std::min(begin, t.begin_ns);
    }
    const auto since = [begin](std::uint64_t end) { return 1e-9 * static_cast<double>(end - begin); };
    const auto bytes = static_cast<double>(saver_->params().total_bytes());
    const double durable_s = since(last(&SaveTimes::durable_ns));
    sink.put("durable_bandwidth", bytes / durable_s);
    sink.put("write_bandwidth", bytes / since(last(&SaveTimes::written_ns)));
    sink.put("time_to_durable_s", durable_s);
    sink.put("stall_s", params_.async ? since(last(&SaveTimes::staged_ns)) : durable_s);
    if (params_.async) sink.put("stage_bandwidth", bytes / since(last(&SaveTimes::staged_ns)));
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override { return saver_->verify(progress); }
  std::string unproven() const override { return saver_ ? saver_->unproven() : ""; }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes = engine_ ? engine_->take_notes() : std::vector<std::string>{};
    if (saver_) notes.insert(notes.end(), saver_->notes().begin(), saver_->notes().end());
    requests_.add_notes(notes);
    return notes;
  }
  void cleanup(Node&) override { saver_.reset(); }

 private:
  checkpoint::SaveParams params_;
  std::unique_ptr<checkpoint::Saver> saver_;
  StorageEngine* engine_ = nullptr;
  std::vector<SaveTimes> times_;
  ObjectRequests requests_;
};

const Register<CheckpointWrite> registered_checkpoint_write{
    "checkpoint_write", "N ranks save their shards at once: written, made durable, renamed"};
}  // namespace
