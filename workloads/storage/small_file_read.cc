// small_file_read - whole files in random order without replacement: what a loader with one file
// per sample does.
#include <array>
#include <cmath>

#include "harness/backends/loader.h"
#include "harness/backends/read_profiles.h"
#include "harness/workload/data/loader.h"
#include "harness/workload/data/open_loop.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"
#include "workloads/storage/object_metrics.h"
#include "workloads/storage/whole_files.h"

namespace {
using namespace headrace;

constexpr auto kSmallFileReadMetrics = with_open_loop(with_object_metrics(std::array{
    Metric{"sample_rate", "1/s", Better::higher, "Samples read per second"},
    Metric{"read_bandwidth", "B/s", Better::higher, "File bytes delivered per second"},
    Metric{"file_rate", "1/s", Better::higher, "Files opened, read and closed per second"},
    Metric{"open_rate", "1/s", Better::higher, "Opens per second"},
    Metric{"metadata_rate", "1/s", Better::higher, "Opens and closes per second"},
    Metric{"read_iops", "1/s", Better::higher, "Read requests, of block_size at most, per second"},
}));

/// One worker's counts in addition to its recorder's, for undelivered batches, too.
struct alignas(128) Tally {
  std::uint64_t files = 0, opens = 0, closes = 0, reads = 0;
};

/// How many samples/s, and at what latency, do whole small files give a data loader?
class SmallFileRead final : public Workload, public ReadsFiles, public SearchesSettings {
 public:
  explicit SmallFileRead(Params& p)
      : loader_(Loader::declare(p)),
        profile_(read_profile(p.choice("read_profile", "whole", {"whole", "pil", "mmap", "npz"},
                                       "calls that read a file. whole: open, read, close. pil: as PIL reads an image. "
                                       "mmap: mapped and copied out. npz: as numpy reads an array of an .npz"))),
        io_(StorageParams::declare(
            p,
            {.workers = 8, .block_size = 1_MiB, .direct_allowed = false, .engine = loader_.engine(), .objects = true})),
        spec_(DataSetSpec::declare(p, {.files = 10'000, .file_size = 128_KiB, .samples = true, .objects = true})),
        samples_per_file_(p.ratio("samples_per_file", 1, {.min = 1e-9}, "samples that one file holds")),
        open_loop_(OpenLoop::declare(p, per_file())) {
    loader_.check(p, io_, open_loop_, false);
    if (profile_ == ReadProfile::whole) return;
    if (io_.traits().objects)
      p.conflict("read_profile", "is of files: objects are read whole");
    else if (!io_.traits().blocks())
      p.conflict("read_profile", "only whole files are read by engine " + io_.engine);
    if (p.given("block_size")) p.conflict("block_size", "only read_profile whole reads by it");
  }

  static std::span<const Metric> metrics() { return kSmallFileReadMetrics; }
  std::optional<Skip> check(Node& node) override { return io_.check(node); }
  Footprint footprint() const override { return io_.footprint(spec_, spec_.bytes()); }
  unsigned workers() const override { return io_.workers; }
  std::vector<std::string> latency_parts() const override { return open_loop_.latency_parts(parts()); }
  std::vector<CacheState> cache_states() const override { return io_.cache_states(); }

  void prepare(Node& node, const DataProgress& progress) override {
    team_index_ = node.team_index();
    team_size_ = static_cast<unsigned>(node.team().size());
    data_ = DataSet::open(spec_, node, progress);
    engine_ = &node.backends().storage(io_.engine);
    requests_.open(node, io_.engine, data_->files());
    for (unsigned i = 0; i < io_.workers; ++i)
      readers_.push_back(profile_ == ReadProfile::whole
                             ? engine_->whole_file_reader(data_->files(), io_.reader_options())
                             : profile_file_reader(profile_, data_->files()));
  }
  void search(const RunTrial& trial) override { open_loop_.ramp(trial); }
  const DataSet* data() const override { return data_.get(); }

  void before_phase(unsigned, unsigned, std::uint64_t seed) override {
    queue_.fill(data_->files(), seed);
    if (open_loop_.on()) queue_.keep_due();
    queue_.split(team_index_, team_size_);
    open_loop_.before_phase(io_.workers, parts().size(), seed);
    per_batch_ = loader_.operations(samples_per_file_);
    loader_.before_phase(io_.workers, per_batch_, queue_.size(), false);
    tallies_.assign(io_.workers, {});
    requests_.before_phase();
  }
  void before_run(Worker& worker) override { readers_[worker.index]->attach(); }

  void run(Worker& worker) override {
    Tally tally;
    const auto count = [&](const FileCompletion& file) {
      tally.files += file.error == 0;
      tally.reads += file.requests;
      tally.opens += file.error == 0 || file.failed_part > 1;
      tally.closes += file.error == 0 || file.failed_part == 2;
    };
    if (loader_.in_order()) {
      read_batches(worker, count);
    } else {
      read_whole_files(*readers_[worker.index], queue_, open_loop_.begin(worker), worker.recorder, count);
    }
    tallies_[worker.index] = tally;
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    const PhaseResult& phase = repetition.phases.front();
    Tally all;
    for (const Tally& t : tallies_) {
      all.files += t.files;
      all.opens += t.opens;
      all.closes += t.closes;
      all.reads += t.reads;
    }
    // That many for each file that was read, at the rate of the delivered files. All rates are of the same, steady
    // part.
    const auto per_second = [&](std::uint64_t n) {
      if (all.files == 0) return 0.0;
      return static_cast<double>(n) / static_cast<double>(all.files) * phase.operations_per_s();
    };
    sink.put("sample_rate", phase.operations_per_s() * samples_per_file_);
    sink.put("read_bandwidth", phase.bytes_per_s());
    sink.put("file_rate", phase.operations_per_s());
    if (!requests_.on()) {  // an object is asked for, and neither opened nor closed
      sink.put("open_rate", per_second(all.opens));
      sink.put("metadata_rate", per_second(all.opens + all.closes));
    }
    sink.put("read_iops", per_second(all.reads));
    open_loop_.report(phase, sink);
    requests_.report(phase, sink);
  }
  std::string why_missing(std::string_view metric) const override {
    const bool of_files = metric == "open_rate" || metric == "metadata_rate";
    return of_files && requests_.on() ? "an object is asked for, and neither opened nor closed" : "";
  }

  std::vector<WrongBlock> verify(const DataProgress& progress) override { return data_->verify(progress); }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes = open_loop_.notes();
    if (engine_)
      for (std::string& note : engine_->take_notes()) notes.push_back(std::move(note));
    requests_.add_notes(notes);
    return notes;
  }
  void cleanup(Node&) override {
    readers_.clear();
    data_.reset();
  }

 private:
  std::vector<std::string> parts() const { return whole_file_parts(io_.traits().objects); }

  /// Only those bytes and requests of a file that are known before the files are seen.
  std::vector<PerOperation> per_file() const {
    std::vector<PerOperation> per_file{
        {"sample_rate", samples_per_file_}, {"file_rate", 1}, {"open_rate", 1}, {"metadata_rate", 2}};
    if (!spec_.path.empty()) return per_file;
    per_file.push_back({"read_bandwidth", static_cast<double>(spec_.file_size)});
    per_file.push_back(
        {"read_iops", std::ceil(static_cast<double>(spec_.file_size) / static_cast<double>(io_.block_size))});
    return per_file;
  }

  /// Where in the order the `number`-th file of a worker's `batch`-th batch is.
  std::size_t place(const Worker& worker, std::uint64_t batch, std::uint64_t number) const noexcept {
    const std::uint64_t own = batch * per_batch_ + number;
    if (loader_.kind() == Loader::Kind::pytorch_iterable) return own * worker.count + worker.index;
    return (batch * worker.count + worker.index) * per_batch_ + number;
  }

  /// One worker's batches, each file after file, as long as the order lasts.
  template <class Seen>
  void read_batches(const Worker& worker, Seen&& seen) {
    Batches::Lane& lane = loader_.begin(worker);
    WholeFileReader& reader = *readers_[worker.index];
    for (std::uint64_t batch = 0; place(worker, batch, 0) < queue_.size(); ++batch) {
      if (!lane.next()) return;
      for (std::uint64_t i = 0; i < per_batch_; ++i) {
        const std::size_t at = place(worker, batch, i);
        if (at >= queue_.size()) break;
        const FileCompletion& file = reader.exchange({&queue_[at], 1}, 1).front();
        seen(file);
        record_file(file, file.begin_ns, lane);
        if (!lane.goes_on(file.end_ns)) return lane.leave();
      }
      lane.read();
    }
    lane.end();
  }

  Loader loader_;
  ReadProfile profile_;
  StorageParams io_;
  std::uint64_t per_batch_ = 1;              // files
  unsigned team_index_ = 0, team_size_ = 1;  // processes that share the files
  DataSetSpec spec_;
  double samples_per_file_;
  OpenLoop open_loop_;
  ObjectRequests requests_;
  std::shared_ptr<DataSet> data_;
  StorageEngine* engine_ = nullptr;
  std::vector<std::unique_ptr<WholeFileReader>> readers_;
  FileQueue queue_;
  std::vector<Tally> tallies_;
};

const Register<SmallFileRead> registered_small_file_read{
    "small_file_read", "whole files in random order: open, read, close, as a loader of one file per sample"};
}  // namespace
