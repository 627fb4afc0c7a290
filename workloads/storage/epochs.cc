// epochs - the same data set again and again, in a new random order each time, first from a cold cache. It shows the
// benefit of the page cache.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>

#include "harness/backends/loader.h"
#include "harness/workload/data/hit_ratio.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"
#include "workloads/storage/whole_files.h"

namespace {
using namespace headrace;

constexpr std::array kEpochsMetrics{
    Metric{"cold_read_bandwidth", "B/s", Better::higher, "File bytes per second of the first epoch"},
    Metric{"steady_read_bandwidth", "B/s", Better::higher, "File bytes per second of the settled epochs"},
    Metric{"steady_storage_bandwidth", "B/s", Better::higher,
           "Bytes per second that came from storage in the settled epochs; none when the cache "
           "holds nearly all"},
    Metric{"hit_ratio", "ratio", Better::higher, "Share of the settled epochs' bytes that the page cache served"},
    Metric{"hit_ratio_predicted_c2", "ratio", Better::neither, "Formula C2 (LRU) for this memory and data set"},
    Metric{"hit_ratio_predicted_c4", "ratio", Better::neither, "Formula C4 (LRU, same order every epoch)"},
    Metric{"hit_ratio_predicted_c7", "ratio", Better::neither, "Formula C7 (Linux estimate, from the third epoch on)"},
    Metric{"cache_ratio", "ratio", Better::neither, "Formula C1: memory available to the page cache / data set"},
};

constexpr double kHardlyAny = 0.05;  // of the bytes from storage: too little to call it the storage's rate
constexpr double kSurprise = 0.05;   // a hit ratio so far from C7 is explained
constexpr std::uint64_t kPage = 4096;

/// What is the rate of later epochs, how much comes from storage, and do the formulas predict it?
class Epochs final : public Workload, public ReadsFiles {
 public:
  explicit Epochs(Params& p)
      : io_(StorageParams::declare(p, {.workers = 8, .block_size = 1_MiB, .direct_allowed = false})),
        spec_(DataSetSpec::declare(p, {.files = 10'000, .file_size = 128_KiB})),
        epochs_(static_cast<unsigned>(
            p.count("epochs", 3, {.min = 2, .max = 100}, "times that the data set is read, each in a new order"))) {}

  static std::span<const Metric> metrics() { return kEpochsMetrics; }
  std::optional<Skip> check(Node& node) override { return io_.check(node); }
  Footprint footprint() const override { return io_.footprint(spec_, spec_.bytes() * epochs_); }
  unsigned workers() const override { return io_.workers; }
  std::vector<std::string> latency_parts() const override { return whole_file_parts(); }
  std::vector<CacheState> cache_states() const override { return {CacheState::cold}; }
  std::vector<PhaseSpec> phases() const override {
    std::vector<PhaseSpec> phases;
    for (unsigned i = 1; i <= epochs_; ++i) phases.push_back({fmt::format("epoch{}", i), i > 1});
    return phases;
  }

  void prepare(Node& node, const DataProgress& progress) override {
    node_ = &node;
    team_index_ = node.team_index();
    team_size_ = static_cast<unsigned>(node.team().size());
    data_ = DataSet::open(spec_, node, progress);
    engine_ = &node.backends().storage(io_.engine);
    for (unsigned i = 0; i < io_.workers; ++i)
      readers_.push_back(engine_->whole_file_reader(data_->files(), io_.reader_options()));
  }
  const DataSet* data() const override { return data_.get(); }

  void before_phase(unsigned phase, unsigned, std::uint64_t seed) override {
    if (phase == 0) {
      watch_.start(CacheLook::now(*node_));
    } else {
      watch_.look(CacheLook::now(*node_));
    }
    queue_.fill(data_->files(), Random(seed + phase).next());
    queue_.split(team_index_, team_size_);
  }
  void before_run(Worker& worker) override { readers_[worker.index]->attach(); }
  void run(Worker& worker) override {
    read_whole_files(*readers_[worker.index], queue_, worker.recorder, [](const FileCompletion&) {});
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const std::span<const PhaseResult> phases(repetition.phases);
    sink.put("cold_read_bandwidth", phases.front().bytes_per_s(), phases.front().elapsed_s);
    // The later half of the epochs after the first: two-list reclaim settles only after two epochs.
    PhaseResult settled;
    for (const PhaseResult& epoch : phases.subspan(std::max<std::size_t>(1, phases.size() / 2))) {
      settled.elapsed_s += epoch.elapsed_s;
      settled.bytes += epoch.bytes;
      settled.storage_bytes += epoch.storage_bytes;
    }
    sink.put("steady_read_bandwidth", settled.bytes_per_s(), settled.elapsed_s);
    const double asked = static_cast<double>(settled.bytes) * pages_per_byte();
    const double from_storage = asked > 0 ? static_cast<double>(settled.storage_bytes) / asked : 0;
    const double hit_ratio = std::clamp(1 - from_storage, 0.0, 1.0);
    sink.put("hit_ratio", hit_ratio);
    held_ = from_storage < kHardlyAny;
    if (!held_)
      sink.put("steady_storage_bandwidth", static_cast<double>(settled.storage_bytes) / settled.elapsed_s,
               settled.elapsed_s);

    cut_ = std::any_of(phases.begin(), phases.end(),
                       [this](const PhaseResult& epoch) { return epoch.bytes < data_->files().total_bytes(); });
    const HitRatios predicted =
        predict_hit_ratios(static_cast<double>(watch_.cache_bytes()),
                           static_cast<double>(data_->files().total_bytes()) * pages_per_byte());
    sink.put("cache_ratio", predicted.cache_ratio);
    if (cut_) return;
    sink.put("hit_ratio_predicted_c2", predicted.lru);
    sink.put("hit_ratio_predicted_c4", predicted.cyclic);
    sink.put("hit_ratio_predicted_c7", predicted.two_list);
    explain(hit_ratio, predicted);
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override { return data_->verify(progress); }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes = engine_ ? engine_->take_notes() : std::vector<std::string>{};
    if (!surprise_.empty()) notes.push_back(surprise_);
    if (held_)
      notes.push_back(
          "the page cache holds the data set: too little came from storage in the settled epochs "
          "to give "
          "its rate; a larger data set would show it");
    if (cut_)
      notes.push_back(
          "the time budget cut epochs short: the formulas predict whole epochs, so no prediction "
          "is given");
    return notes;
  }
  void cleanup(Node&) override {
    readers_.clear();
    data_.reset();
  }

 private:
  /// The cache and the storage hold whole pages: a file of 130 kB takes 131,072 bytes of them.
  double pages_per_byte() const {
    const FileTable& files = data_->files();
    std::uint64_t pages = 0;
    for (std::uint32_t i = 0; i < files.count(); ++i) pages += (files.size(i) + kPage - 1) / kPage;
    return static_cast<double>(pages * kPage) / static_cast<double>(files.total_bytes());
  }

  /// Why the hit ratio differs from C7, as far as can be reported.
  void explain(double measured, const HitRatios& predicted) const {
    if (std::abs(measured - predicted.two_list) <= kSurprise) return;
    std::vector<std::string> odd = watch_.oddities(predicted);
    if (epochs_ < 3) odd.push_back("C7 holds from the third epoch on");
    if (odd.empty()) odd.push_back("no cause found");
    surprise_ =
        fmt::format("hit ratio {:.3f}, C7 predicts {:.3f} for a cache of {}: {}", measured, predicted.two_list,
                    format_quantity(static_cast<double>(watch_.cache_bytes()), Dimension::bytes), fmt::join(odd, "; "));
  }

  StorageParams io_;
  unsigned team_index_ = 0, team_size_ = 1;  // processes that share the files
  DataSetSpec spec_;
  unsigned epochs_;
  Node* node_ = nullptr;
  std::shared_ptr<DataSet> data_;
  StorageEngine* engine_ = nullptr;
  std::vector<std::unique_ptr<WholeFileReader>> readers_;
  FileQueue queue_;
  CacheWatch watch_;
  // Found in report(), reported in notes().
  mutable bool held_ = false, cut_ = false;
  mutable std::string surprise_;
};

const Register<Epochs> registered_epochs{"epochs",
                                         "the same data set again and again in a new order, from a cold "
                                         "cache: what the page cache gives"};
}  // namespace
