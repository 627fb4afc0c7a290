// local_cache - epochs through a cache tier on a device of this node. Straight from storage, then filling the tier,
// then from it, as far as it holds them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <memory>

#include "harness/backends/loader.h"
#include "harness/job/formula.h"
#include "harness/workload/data/local_tier.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"
#include "workloads/storage/object_metrics.h"
#include "workloads/storage/whole_files.h"

namespace {
using namespace headrace;

constexpr auto kLocalCacheMetrics = with_object_metrics(std::array{
    Metric{"storage_sample_rate", "1/s", Better::higher, "Samples per second of an epoch straight from storage"},
    Metric{"fill_sample_rate", "1/s", Better::higher, "Of the first epoch through the tier, which fills it"},
    Metric{"cached_sample_rate", "1/s", Better::higher, "Of the epochs after that"},
    Metric{"hit_ratio", "ratio", Better::higher, "Share of these epochs' bytes that the tier gave"},
    Metric{"hit_ratio_predicted_c5", "ratio", Better::neither, "Formula C5 (a tier that evicts nothing)"},
    Metric{"cache_ratio", "ratio", Better::neither, "Formula C1: what the tier holds at most / what an epoch reads"},
    Metric{"tier_write_rate", "B/s", Better::higher, "Bytes per second at which workers write copies, all together"},
    Metric{"storage_epoch_s", "s", Better::lower, "An epoch straight from storage"},
    Metric{"fill_epoch_s", "s", Better::lower, "The epoch that fills the tier"},
    Metric{"cached_epoch_s", "s", Better::lower, "An epoch after that, the mean"},
    Metric{"fill_time_predicted_c10", "s", Better::neither,
           "Formula C10: filling the tier before the run, at the rates that were measured"},
    Metric{"break_even_epochs", "count", Better::lower,
           "Epochs after the first one until filling has paid: C11 of what it added to that one; none where it never "
           "does"},
    Metric{"break_even_predicted_c11", "count", Better::neither,
           "Formula C11 of C10: where the tier is filled before the run"},
});

constexpr unsigned kStorage = 0, kFill = 1, kKeepPart = 1;
constexpr double kFirstShare = 1.0 / 3;  // of the time, for the first epoch: the others read what it read

/// What does a tier cost in the first epoch, what does it gain later, and when has it paid?
class LocalCache final : public Workload, public ReadsFiles {
 public:
  explicit LocalCache(Params& p)
      : io_(StorageParams::declare(p, {.workers = 8, .block_size = 1_MiB, .direct_allowed = false, .objects = true})),
        spec_(DataSetSpec::declare(p, {.files = 10'000, .file_size = 128_KiB, .objects = true})),
        samples_per_file_(p.ratio("samples_per_file", 1, {.min = 1e-9}, "samples that one file holds")),
        path_(p.path("tier",
                     "a folder of headrace's own on the tier's device, made where it is not there; copies of the "
                     "files are written into it, and removed at the end")),
        share_(p.ratio("tier_ratio", 1, {.min = 0, .max = 1},
                       "how much of what an epoch reads the tier holds (C1): nothing is evicted")),
        epochs_(static_cast<unsigned>(
            p.count("epochs", 1, {.min = 1, .max = 100}, "that are read after the one that fills the tier"))) {
    if (io_.traits().objects ? io_.queue_depth > 1 : io_.traits().queues())
      p.conflict(io_.traits().objects ? "queue_depth" : "engine",
                 "a tier is filled by workers that wait for each file or object: posix, s3 with one in flight");
  }

  static std::span<const Metric> metrics() { return kLocalCacheMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (path_.empty()) return Skip{"no tier: name a folder on a device of this node (tier)"};
    return io_.check(node);
  }
  Footprint footprint() const override { return io_.footprint(spec_, spec_.bytes() * (2 + epochs_)); }
  unsigned workers() const override { return io_.workers; }
  std::vector<std::string> latency_parts() const override { return {"keep"}; }
  /// The counters of a store's bytes do not see those that come out of the tier.
  std::vector<CacheState> cache_states() const override {
    return io_.traits().objects ? std::vector{CacheState::asis} : io_.cache_states();
  }
  std::vector<PhaseSpec> phases() const override {
    std::vector<PhaseSpec> phases{{"storage", false}, {"fill", false}};
    for (unsigned i = 0; i < epochs_; ++i) phases.push_back({fmt::format("epoch{}", i + 2), false});
    return phases;
  }

  void prepare(Node& node, const DataProgress& progress) override {
    team_index_ = node.team_index();
    team_size_ = static_cast<unsigned>(node.team().size());
    LocalTier::require_usable(path_);
    data_ = DataSet::open(spec_, node, progress);
    engine_ = &node.backends().storage(io_.engine);
    requests_.open(node, io_.engine, data_->files());
    StorageEngine& copies = io_.traits().objects ? node.backends().storage(blocking_engine()) : *engine_;
    tier_ = std::make_unique<LocalTier>(path_, data_->files());
    ReaderOptions options = io_.reader_options();
    for (unsigned i = 0; i < io_.workers; ++i) cached_.push_back(copies.whole_file_reader(tier_->files(), options));
    options.keep_data = true;
    // Each worker holds the file that it copies.
    if (const double held = double(io_.workers) * double(data_->files().largest()),
        free = double(node.memory_available());
        held > free / 2)
      throw RunError(
          fmt::format("{} workers hold a file of up to {} each to copy it: {} of this node's memory are free",
                      io_.workers, format_quantity(double(data_->files().largest()), Dimension::bytes, true),
                      format_quantity(free, Dimension::bytes, true)));
    options.block_size = std::max(options.block_size, (data_->files().largest() + 4095) / 4096 * 4096);
    for (unsigned i = 0; i < io_.workers; ++i) source_.push_back(engine_->whole_file_reader(data_->files(), options));
    tallies_.assign(phases().size(), std::vector<Tally>(io_.workers));
    read_.assign(data_->files().count(), 0);
  }
  const DataSet* data() const override { return data_.get(); }

  void before_phase(unsigned phase, unsigned, std::uint64_t seed) override {
    tallies_[phase].assign(io_.workers, {});
    const FileTable& files = data_->files();
    if (phase == kStorage) {
      requests_.before_phase();
      std::fill(read_.begin(), read_.end(), 0);
      tier_->clear(0);
      queue_.fill(files, seed);
      queue_.split(team_index_, team_size_);
      return;
    }
    if (phase == kFill) {
      epoch_.clear();
      for (std::uint32_t file = 0; file < files.count(); ++file)
        if (read_[file] != 0) epoch_.push_back(file);
      std::uint64_t bytes = 0;
      for (const std::uint32_t file : epoch_) bytes += files.size(file);
      epoch_bytes_ = bytes;
      const auto capacity = static_cast<std::uint64_t>(std::llround(share_ * static_cast<double>(bytes)));
      if (const std::uint64_t free = tier_->free_bytes(); capacity > free)
        throw RunError(fmt::format("{}: the tier is to hold {}, and {} are free there", path_,
                                   format_quantity(static_cast<double>(capacity), Dimension::bytes, true),
                                   format_quantity(static_cast<double>(free), Dimension::bytes, true)));
      tier_->clear(capacity);
    } else if (phase == kFill + 1) {
      tier_->settle();
    }
    queue_.fill(files, epoch_, Random(seed + phase).next());
  }
  void before_run(Worker& worker) override {
    source_[worker.index]->attach();
    cached_[worker.index]->attach();
  }

  void run(Worker& worker) override {
    Recorder& recorder = worker.recorder;
    Tally tally;
    const std::uint64_t started = recorder.started_ns(), deadline = recorder.deadline_ns();
    const std::uint64_t until =
        worker.phase != kStorage || deadline == UINT64_MAX
            ? deadline
            : started + static_cast<std::uint64_t>(kFirstShare * static_cast<double>(deadline - started));
    for (std::uint64_t now = started; recorder.running() && now < until;) {
      const auto files = queue_.take(1);
      if (files.empty()) break;
      const std::uint32_t file = files.front();
      const bool hit = tier_->holds(file);
      WholeFileReader& reader = hit ? *cached_[worker.index] : *source_[worker.index];
      FileCompletion done = reader.exchange(files, 1).front();
      if (done.error == 0) {
        tally.bytes += done.bytes;
        tally.hit_bytes += hit ? done.bytes : 0;
        tally.files += 1;
        if (worker.phase == kStorage) read_[file] = 1;
        if (worker.phase == kFill) keep(reader, done, recorder, tally);
      }
      now = done.end_ns;
      if (done.error != 0)
        recorder.fail({done.error, done.file, done.failed_offset, done.failed_part}, done.end_ns);
      else
        recorder.op(done.begin_ns, done.end_ns, done.bytes);
    }
    tallies_[worker.phase][worker.index] = tally;
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    requests_.report(sink);
    const Tally storage = tally(kStorage), fill = tally(kFill);
    Tally cached;
    double cached_s = 0;
    for (unsigned phase = kFill + 1; phase < repetition.phases.size(); ++phase) {
      cached.add(tally(phase));
      cached_s += repetition.phases[phase].elapsed_s;
    }
    const double storage_s = repetition.phases[kStorage].elapsed_s, fill_s = repetition.phases[kFill].elapsed_s;
    const auto rate = [&](const char* name, const Tally& t, double time_s) {
      if (t.files > 0) sink.put(name, static_cast<double>(t.files) * samples_per_file_ / time_s, time_s);
    };
    rate("storage_sample_rate", storage, storage_s);
    rate("fill_sample_rate", fill, fill_s);
    rate("cached_sample_rate", cached, cached_s);
    // Both formulas speak of whole epochs of the same files.
    const bool whole = storage.files > 0 && fill.files == epoch_.size() && cached.files == epochs_ * epoch_.size();
    cut_ = !whole;
    if (cut_) return;
    const double epoch_bytes = static_cast<double>(epoch_bytes_);
    const double ratio =
        job::apply("C1", {{"available_bytes", share_ * epoch_bytes}, {"dataset_bytes", epoch_bytes}}).value();
    const double cached_each_s = cached_s / epochs_;
    sink.put("hit_ratio", static_cast<double>(cached.hit_bytes) / static_cast<double>(cached.bytes));
    sink.put("cache_ratio", ratio);
    sink.put("hit_ratio_predicted_c5", job::apply("C5", {{"cache_ratio", ratio}}).value());
    sink.put("storage_epoch_s", storage_s);
    sink.put("fill_epoch_s", fill_s);
    sink.put("cached_epoch_s", cached_each_s);
    if (fill.keep_ns == 0) return;
    const double write_rate =
        1e9 * static_cast<double>(fill.kept_bytes) * io_.workers / static_cast<double>(fill.keep_ns);
    sink.put("tier_write_rate", write_rate);
    const double staging_s = job::apply("C10", {{"staged_bytes", static_cast<double>(fill.kept_bytes)},
                                                {"remote_bytes_per_s", epoch_bytes / storage_s},
                                                {"local_write_bytes_per_s", write_rate}})
                                 .value();
    sink.put("fill_time_predicted_c10", staging_s);
    const auto pays_after = [&](const char* name, double cost_s) {
      const double epochs = job::apply("C11", {{"staging_time_s", cost_s},
                                               {"remote_epoch_time_s", storage_s},
                                               {"local_epoch_time_s", cached_each_s}})
                                .value();
      if (epochs >= 0) sink.put(name, epochs + 0.0);  // none is no minus zero
    };
    pays_after("break_even_epochs", std::max(0.0, fill_s - storage_s));
    pays_after("break_even_predicted_c11", staging_s);
    never_ = cached_each_s >= storage_s;
  }
  std::string why_missing(std::string_view metric) const override {
    if (cut_) return "the time ended within an epoch";
    return metric.starts_with("break_even") && never_ ? "epochs out of the tier take no less than straight from storage"
                                                      : "";
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override { return data_->verify(progress); }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes = engine_ ? engine_->take_notes() : std::vector<std::string>{};
    requests_.add_notes(notes);
    if (data_ && !epoch_.empty() && epoch_.size() < data_->files().count())
      notes.push_back(fmt::format("an epoch here is {} of {} files: as many as storage gave in a third of the time",
                                  epoch_.size(), data_->files().count()));
    if (cut_) notes.emplace_back("the time ended within an epoch, and formulas need a whole one: no value");
    if (!cut_ && never_)
      notes.emplace_back("epochs out of the tier take no less than straight from storage: it never pays (C11)");
    return notes;
  }
  void cleanup(Node&) override {
    source_.clear();
    cached_.clear();
    tier_.reset();
    data_.reset();
  }

 private:
  /// For one worker and phase.
  struct alignas(128) Tally {
    std::uint64_t files = 0, bytes = 0, hit_bytes = 0, kept_bytes = 0, keep_ns = 0;
    void add(const Tally& more) {
      files += more.files;
      bytes += more.bytes;
      hit_bytes += more.hit_bytes;
      kept_bytes += more.kept_bytes;
      keep_ns += more.keep_ns;
    }
  };
  Tally tally(unsigned phase) const {
    Tally all;
    for (const Tally& t : tallies_[phase]) all.add(t);
    return all;
  }

  /// Writes the file that was read into the tier, where there is room. The sample is there when that is done.
  void keep(const WholeFileReader& reader, FileCompletion& done, Recorder& recorder, Tally& tally) noexcept {
    const std::uint64_t begun = now_ns();
    const LocalTier::Kept kept = tier_->keep(done.file, {reader.data(done.slot), done.bytes});
    if (kept == LocalTier::Kept::full) return;
    const int why = errno;
    done.end_ns = now_ns();
    recorder.part(kKeepPart, done.end_ns - begun);
    if (kept == LocalTier::Kept::failed) {
      done.error = why;
      done.failed_part = kKeepPart;
      return;
    }
    tally.kept_bytes += done.bytes;
    tally.keep_ns += done.end_ns - begun;
  }

  StorageParams io_;
  DataSetSpec spec_;
  double samples_per_file_;
  std::string path_;
  double share_;
  unsigned epochs_;
  unsigned team_index_ = 0, team_size_ = 1;  // processes that share the files
  std::shared_ptr<DataSet> data_;
  StorageEngine* engine_ = nullptr;
  std::unique_ptr<LocalTier> tier_;
  std::vector<std::unique_ptr<WholeFileReader>> source_, cached_;  // of each worker; the latter out of the tier
  FileQueue queue_;
  ObjectRequests requests_;
  std::vector<unsigned char> read_;   // by file: in the first epoch
  std::vector<std::uint32_t> epoch_;  // these, then
  std::uint64_t epoch_bytes_ = 0;
  std::vector<std::vector<Tally>> tallies_;  // by phase
  // Found in report(), reported in notes().
  mutable bool cut_ = false, never_ = false;
};

const Register<LocalCache> registered_local_cache{
    "local_cache",
    "epochs through a cache tier of this node: straight from storage, filling it, and "
    "out of it"};
}  // namespace
