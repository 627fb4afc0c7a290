// metadata - names and attributes, call by call. They are the requests of a data loader's scan and of a checkpoint's
// folder.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "harness/base/error.h"
#include "harness/base/object_path.h"
#include "harness/base/random.h"
#include "harness/job/formula.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/name_tree.h"
#include "harness/workload/data/storage_params.h"
#include "harness/workload/workload.h"
#include "workloads/storage/name_calls.h"
#include "workloads/storage/object_metrics.h"
#include "workloads/storage/object_scan.h"

namespace {
using namespace headrace;

constexpr auto kMetadataMetrics = with_object_metrics(std::array{
    Metric{"operation_rate", "1/s", Better::higher,
           "Calls per second while files are opened, asked for their attributes and closed"},
    Metric{"list_rate", "1/s", Better::higher, "Names that listing folders gives per second"},
    Metric{"stat_rate", "1/s", Better::higher, "Files asked for their attributes per second"},
    Metric{"open_rate", "1/s", Better::higher, "Files opened and closed per second"},
    Metric{"create_rate", "1/s", Better::higher, "Empty files made per second"},
    Metric{"rename_rate", "1/s", Better::higher, "Files renamed in their folder per second"},
    Metric{"unlink_rate", "1/s", Better::higher, "Files removed per second"},
    Metric{"scan_time_s", "s", Better::lower,
           "Listing every folder, then reading the attributes of every file; of objects, listing alone is enough"},
    Metric{"data_set_scan_time_s", "s", Better::lower,
           "Formula A9: the same for data_set_files files, at this time per file and as many workers"},
});

enum Step : unsigned { kCreate, kList, kStat, kOpen, kRename, kUnlink };
constexpr std::array<const char*, 6> kNames{"create", "list", "stat", "open", "rename", "unlink"};
constexpr unsigned kCallsPerOpen = 3;  // open, fstat, close

/// Latency channels: those of the steps, and closing after an open.
constexpr std::uint8_t kClosePart = kNames.size() + 1;
constexpr std::uint8_t part_of(Step step) { return static_cast<std::uint8_t>(step + 1); }

constexpr unsigned kLongestPath = 512;
constexpr std::uint64_t kHeads = 1000;
constexpr unsigned kClaim = 16;  // items that a worker takes at once

/// Names seen by one worker, on a cache line of its own.
struct alignas(128) Count {
  std::uint64_t names = 0;
};

/// How many metadata operations/s does the file system answer, and how long does a scan take?
class Metadata final : public Workload, public ReadsFiles {
 public:
  explicit Metadata(Params& p)
      : workers_(static_cast<unsigned>(p.count("workers", 4, {.min = 1, .max = 1024}, "threads that ask"))),
        shape_(NameTreeShape::declare(p)),
        scanned_files_(p.count("data_set_files", 0, {.max = 1e15},
                               "files of the data set whose scan time is estimated; 0 = as many as are here")) {
    users_.path =
        p.path("path",
               "existing files to list, stat and open, read-only: a folder; or objects to list and ask for, below "
               "s3://bucket/prefix; none: empty files are made",
               true);
    objects_ = is_object_path(users_.path);
    retries_ = StorageParams::declare_retries(p, objects_);
    heads_ = p.count("heads", objects_ ? kHeads : 0, {.max = 1e6},
                     "of objects: how many at most are asked for one by one, of the first of each prefix");
    if (!objects_ && heads_ > 0) p.conflict("heads", "is of objects: of files, all are asked for");
    if (objects_ && heads_ == 0) p.conflict("heads", "at least one is asked for");
    if (objects_) {
      steps_ = {kList, kStat};
    } else if (users_.path.empty()) {
      steps_ = {kCreate, kList, kStat, kOpen, kRename, kUnlink};
    } else {
      steps_ = {kList, kStat, kOpen};
    }
    if (!users_.path.empty()) {
      for (const char* key : {"depth", "width", "files_per_folder"})
        if (p.given(key)) p.conflict(key, "makes files; not together with path, which asks existing ones");
    }
  }

  static std::span<const Metric> metrics() { return kMetadataMetrics; }
  Footprint footprint() const override {
    if (!users_.path.empty()) return {};
    return {.written_bytes = shape_.disk_bytes(),
            .written_files = shape_.files() + shape_.folders(),
            .read_bytes_per_repetition = 0,
            .memory_bytes = 0,
            .data_id = "metadata"};
  }
  unsigned workers() const override { return workers_; }
  std::vector<std::string> latency_parts() const override {
    std::vector<std::string> parts(kNames.begin(), kNames.end());
    parts.emplace_back("close");
    return parts;
  }
  std::optional<Skip> check(Node& node) override {
    if (!objects_) return std::nullopt;
    std::string why = node.backends().why_not(object_engine());
    return why.empty() ? std::nullopt : std::optional(Skip{std::move(why)});
  }
  std::vector<CacheState> cache_states() const override {
    if (objects_) return {CacheState::asis};  // nothing is kept on this side, and the store's caches are not seen
    return {CacheState::cold, CacheState::warm, CacheState::asis};
  }
  CacheUse cache_use() const override { return {.names_only = true}; }
  /// A scan asks for attributes with what listing left in memory; opening starts anew.
  std::vector<PhaseSpec> phases() const override {
    std::vector<PhaseSpec> phases;
    for (const Step step : steps_) {
      // Each block that a cold name brings into memory holds others, too: such phases grow faster.
      const bool anew = step == kList || step == kOpen;
      phases.push_back({kNames[step], !anew, anew, /*differs=*/true});
    }
    return phases;
  }

  void prepare(Node& node, const DataProgress& progress) override {
    if (objects_) {
      requests_.open(node, object_engine(), users_.path);
      ObjectStore& store = *node.backends().storage(object_engine()).object_store();
      scan_ = std::make_unique<ObjectScan>(store, users_.path, workers_, retries_, heads_);
      files_ = &scan_->files();
      return;
    }
    if (users_.path.empty()) {
      node.reserve_writes("metadata", shape_.disk_bytes());
      tree_ = std::make_unique<NameTree>(shape_, node.own_scratch());
      files_ = &tree_->files();
      folders_ = &tree_->folders();
    } else {
      data_ = DataSet::open(users_, node, progress);
      files_ = &data_->files();
      users_folders_ = folders_of(*files_);
      folders_ = &users_folders_;
    }
    there_.assign(files_->count(), users_.path.empty() ? kAbsent : kFirstName);
    counts_.resize(workers_);
  }
  const DataSet* data() const override { return data_.get(); }
  const FileTable* files() const override { return files_; }

  void before_phase(unsigned phase, unsigned, std::uint64_t seed) override {
    step_ = steps_[phase];
    if (phase == 0) requests_.before_phase();
    if (objects_) return step_ == kList ? scan_->before_listing() : scan_->before_heads();
    if (step_ == kCreate) remove_left_over();
    if (tree_) tree_->require_in_place();
    const std::uint32_t items = step_ == kList ? folders_->count() : files_->count();
    order_.clear();
    for (std::uint32_t i = 0; i < items; ++i)
      if (step_ == kList || step_ == kCreate || there_[i] != kAbsent) order_.push_back(i);
    if (step_ == kOpen) {
      Random random(seed);
      shuffle(std::span(order_), random);
    }
    if (step_ == kList) std::fill(counts_.begin(), counts_.end(), Count{});
    next_ = 0;
  }

  void run(Worker& worker) override {
    if (objects_) return step_ == kList ? scan_->list(worker, part_of(kList)) : scan_->head(worker, part_of(kStat));
    const int root = files_->root_fd();
    switch (step_) {
      case kCreate:
        return each(worker, [&](std::uint32_t file) {
          bool made = false;
          const bool good = tree_->create(files_->path(file), made);
          if (made) there_[file] = kFirstName;
          return good;
        });
      case kList:
        return each(worker, [&](std::uint32_t folder) {
          if (!list_folder(*folders_, folder, counts_[worker.index].names))
            throw system_error("list", folders_->full_path(folder), errno);
          return true;
        });
      case kStat:
        return each(worker, [&](std::uint32_t file) {
          struct stat status;
          return ::fstatat(root, files_->path(file), &status, AT_SYMLINK_NOFOLLOW) == 0;
        });
      case kOpen:
        return open_each(worker);
      case kRename:
        return each(worker, [&](std::uint32_t file) {
          char renamed[kLongestPath];
          if (!tree_->rename(files_->path(file), other_name(file, renamed))) return false;
          there_[file] = kOtherName;
          return true;
        });
      case kUnlink:
        return each(worker, [&](std::uint32_t file) { return remove(file); });
    }
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    std::array<const PhaseResult*, kNames.size()> of{};
    for (std::size_t i = 0; i < repetition.phases.size(); ++i) of[steps_[i]] = &repetition.phases[i];
    if (of[kOpen]) {
      sink.put("operation_rate", kCallsPerOpen * of[kOpen]->operations_per_s(), of[kOpen]->steady_s());
      sink.put("open_rate", of[kOpen]->operations_per_s(), of[kOpen]->steady_s());
    }
    if (of[kList] && of[kList]->elapsed_s > 0)
      sink.put("list_rate", static_cast<double>(names_seen()) / of[kList]->elapsed_s, of[kList]->elapsed_s);
    for (const auto& [step, metric] :
         {std::pair{kStat, "stat_rate"}, {kCreate, "create_rate"}, {kRename, "rename_rate"}, {kUnlink, "unlink_rate"}})
      if (of[step]) sink.put(metric, of[step]->operations_per_s(), of[step]->steady_s());
    requests_.report(sink);
    if (objects_)
      report_listing(*of[kList], sink);
    else if (of[kList] && of[kStat])
      report_scan(*of[kList], *of[kStat], sink);
  }

  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    requests_.add_notes(notes);
    if (scan_ != nullptr) notes.push_back(scan_->describe());
    if (!objects_ && !users_.path.empty())
      notes.emplace_back("path is read-only: nothing is created, renamed or unlinked");
    if (cut_)
      notes.emplace_back(
          "the time budget cut the scan short: its rates cover the part that was read, without a scan time");
    return notes;
  }
  void cleanup(Node&) override {
    files_ = folders_ = nullptr;
    scan_.reset();
    tree_.reset();
    data_.reset();
  }

 private:
  enum Presence : std::uint8_t { kAbsent, kFirstName, kOtherName };

  /// Hands out `order_` a few items at a time; calls body(item) until all are taken or the recorder stops.
  template <class Body>
  void each_item(Recorder& recorder, Body body) {
    for (;;) {
      const std::uint64_t at = next_.fetch_add(kClaim, std::memory_order_relaxed);
      const std::uint64_t end = std::min<std::uint64_t>(at + kClaim, order_.size());
      for (std::uint64_t i = at; i < end; ++i) {
        if (!recorder.running()) return;
        body(order_[i]);
      }
      if (end <= at || !recorder.running()) return;
    }
  }

  /// `ask` returns false with errno. One clock read per call: it begins when the one before ended. With a call of half
  /// a microsecond, a second read would be noticeable.
  template <class Ask>
  void each(Worker& worker, Ask ask) {
    Recorder& recorder = worker.recorder;
    const std::uint8_t part = part_of(step_);
    std::uint64_t begin = now_ns();
    each_item(recorder, [&](std::uint32_t item) {
      const bool done = ask(item);
      const std::uint64_t end = now_ns();
      if (done) {
        recorder.op(begin, end, 0);
        recorder.part(part, end - begin);
      } else {
        fail(recorder, item, part, end);
      }
      begin = end;
    });
  }

  /// Open, fstat, close: what a loader does around reading a file.
  void open_each(Worker& worker) {
    Recorder& recorder = worker.recorder;
    const int root = files_->root_fd();
    std::uint64_t begin = now_ns();
    each_item(recorder, [&](std::uint32_t file) {
      const int fd = ::openat(root, files_->path(file), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
      const std::uint64_t opened = now_ns();
      if (fd < 0) {
        fail(recorder, file, part_of(kOpen), opened);
        begin = opened;
        return;
      }
      struct stat status;
      const bool known = ::fstat(fd, &status) == 0;
      const int code = errno;
      const std::uint64_t asked = now_ns();
      const bool closed = ::close(fd) == 0;
      const std::uint64_t end = now_ns();
      if (!known) {
        errno = code;
        fail(recorder, file, part_of(kStat), end);
      } else if (!closed) {
        fail(recorder, file, kClosePart, end);
      } else {
        recorder.op(begin, end, 0);
        recorder.part(part_of(kOpen), opened - begin);
        recorder.part(kClosePart, end - asked);
      }
      begin = end;
    });
  }

  static void fail(Recorder& recorder, std::uint32_t item, std::uint8_t part, std::uint64_t end) {
    recorder.fail({.code = errno, .file = item, .offset = OperationError::kNoOffset, .part = part}, end);
  }

  /// The path with the first letter of the file's name exchanged.
  const char* other_name(std::uint32_t file, char (&to)[kLongestPath]) const {
    const char* path = files_->path(file);
    const std::size_t length = std::strlen(path);
    std::memcpy(to, path, length + 1);
    char* name = to + length;
    while (name > to && name[-1] != '/') --name;
    *name = NameTree::kRenamed;
    return to;
  }

  bool remove(std::uint32_t file) {
    char renamed[kLongestPath];
    const char* path = there_[file] == kOtherName ? other_name(file, renamed) : files_->path(file);
    if (!tree_->remove(path)) return false;
    there_[file] = kAbsent;
    return true;
  }

  /// After a repetition that was cut short or failed. Untimed.
  void remove_left_over() {
    for (std::uint32_t file = 0; file < files_->count(); ++file)
      if (there_[file] != kAbsent && !remove(file)) throw system_error("unlink", files_->full_path(file), errno);
  }

  std::uint64_t names_seen() const {
    if (objects_) return scan_->names();
    std::uint64_t names = 0;
    for (const Count& count : counts_) names += count.names;
    return names;
  }

  void report_scan(const PhaseResult& listing, const PhaseResult& stats, MetricSink& sink) const {
    const auto files = static_cast<double>(stats.operations);
    const bool whole = listing.operations == folders_->count() && stats.operations == files_->count();
    cut_ = cut_ || !whole;
    if (!whole) return;
    put_scan(listing.elapsed_s + stats.elapsed_s, files, sink);
  }

  /// Pages report names, sizes and ETags: no request for each.
  void report_listing(const PhaseResult& listing, MetricSink& sink) const {
    const bool whole = scan_->listed_all();
    cut_ = cut_ || !whole;
    if (whole) put_scan(listing.elapsed_s, static_cast<double>(scan_->names()), sink);
  }

  void put_scan(double scan_s, double files, MetricSink& sink) const {
    sink.put("scan_time_s", scan_s);
    const double asked = scanned_files_ > 0 ? static_cast<double>(scanned_files_) : files;
    sink.put("data_set_scan_time_s", job::apply("A9", {{"files_count", asked},
                                                       {"op_latency_s", scan_s * workers_ / files},
                                                       {"concurrency_count", workers_}})
                                         .value());
  }

  unsigned workers_;
  NameTreeShape shape_;
  std::uint64_t scanned_files_;
  DataSetSpec users_;
  bool objects_ = false;
  unsigned retries_ = 0;
  std::uint64_t heads_ = 0;
  ObjectRequests requests_;
  std::unique_ptr<ObjectScan> scan_;
  std::vector<Step> steps_;
  std::unique_ptr<NameTree> tree_;
  std::shared_ptr<DataSet> data_;
  FileTable users_folders_;
  const FileTable *files_ = nullptr, *folders_ = nullptr;
  Step step_ = kCreate;
  std::vector<Presence> there_;       // of each file
  std::vector<std::uint32_t> order_;  // folders or files of this phase
  std::vector<Count> counts_;
  mutable bool cut_ = false;  // found in report(), reported in notes()
  alignas(128) std::atomic<std::uint64_t> next_{0};
};

const Register<Metadata> registered_metadata{
    "metadata", "list, stat, open, create, rename and unlink in a tree of files: operations/s"};
}  // namespace
