// Sizes, counts and times of the points that follow from a job.
#include "harness/engine/plan/from_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/backends/engines.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/engine/plan/job_points/checkpoints.h"
#include "harness/engine/plan/job_points/entry.h"
#include "harness/engine/plan/own_data.h"
#include "harness/engine/plan/time_share.h"
#include "harness/job/needs.h"

namespace headrace {
namespace {

using config::Value;
using job::Job;
using job::Layout;
using job::LoaderKind;
using job::ReadProfile;
using job_points::Entry;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMostFiles = 20'000;       // more take long to make and show nothing new
constexpr std::uint64_t kLeastShard = 8 * kMiB;    // still read in order
constexpr std::uint64_t kLargeRequest = 8 * kMiB;  // beyond, no storage gains
constexpr std::uint64_t kMostDrawn = 16 * kMiB;    // an image, and all of them together
constexpr unsigned kInFlight = 32;                 // requests, of an engine with a queue

std::string bytes(double value) { return format_quantity(value, Dimension::bytes); }

/// As an option takes it.
std::string as_option(double value) { return fmt::format("{:.0f}MB", std::ceil(value / 1e6)); }

class Points {
 public:
  Points(const Job& job, const Means& means) : job_(job), means_(means), needs_(job::derive_needs(job)) {
    const double nodes = job.cluster.nodes;
    if (nodes > 1)
      remark(
          "the job has {:.0f} nodes, and this run measures the share of one. For all nodes at once use a launcher, "
          "such as mpirun -n {:.0f} headrace qualify JOB",
          nodes, nodes);
    const double each = std::max(1.0, job.loader.workers_per_gpu.value_or(1));
    workers_ = static_cast<unsigned>(std::clamp(each * job.cluster.gpus_per_node, 1.0, double{kMostWorkers}));
    if (!job.loader.workers_per_gpu)
      remark("the job has no loader.workers_per_gpu: one reading worker per GPU is assumed");
  }

  FromJob make() {
    const bool saves = job_.checkpoint && asks("checkpoint_write");
    // A half for the data set, an eighth each for other shards, two ways of saving, and restores.
    data_space_ = means_.space / 2;
    save_space_ = means_.space / 8;
    add(Entry("host_facts", ""), 0);
    switch (job_.dataset.layout) {
      case Layout::files:
        files();
        break;
      case Layout::shards:
        shards("job", time_share::kOwn, own_shard(), means_.data);
        break;
      case Layout::tokens:
        tokens();
        break;
    }
    names();
    if (saves) checkpoints();
    if (asks("decode")) decoding();
    if (asks("memory_copy")) add(Entry("memory_copy", "job").put("kernel", "copy"), 0);
    gpus();
    network();
    // Where time runs out, points like the job are there.
    std::stable_partition(entries_.begin(), entries_.end(), [](const Entry& entry) { return !entry.is_advice(); });
    share_time();
    FromJob made;
    made.remarks = std::move(remarks_);
    made.no_room = std::move(no_room_);
    made.workloads.kind = Value::Kind::list;
    for (Entry& entry : entries_) {
      made.workloads.items.push_back(std::move(entry.value));
      made.unproven.push_back(std::move(entry.unproven));
    }
    return made;
  }

 private:
  template <typename... T>
  void remark(fmt::format_string<T...> text, T&&... values) {
    remarks_.push_back(fmt::format(text, std::forward<T>(values)...));
  }

  /// The job's own way to measure these needs has no point.
  void lack_room(const char* group, const std::string& what, const std::string& enough) {
    no_room_[group] =
        fmt::format("{}, as {} may be written: give --max-write {}, and a folder with as much free space (--at FOLDER)",
                    what, bytes(double(means_.space)), enough);
    remarks_.push_back(no_room_[group]);
  }

  /// `least`: bytes of data that would give the reads a point.
  void lack_room_to_read(const std::string& what, double least) { lack_room("ingest", what, as_option(2.2 * least)); }

  /// Does the job need what this workload measures?
  bool asks(std::string_view workload) const {
    for (const job::Need& need : needs_) {
      if (need.informative) continue;
      for (const std::string& metric : need.measured_by)
        if (metric.substr(0, metric.find('.')) == workload) return true;
    }
    return false;
  }

  void add(Entry entry, double weight) {
    entry.weight = weight;
    entries_.push_back(std::move(entry));
  }

  std::uint64_t request() const {
    return static_cast<std::uint64_t>(std::clamp(std::round(job_.dataset.request_size), 512.0, 1024.0 * kMiB));
  }

  /// As the job's loader reads: an engine with a queue keeps requests in flight. The others wait for each, prepare
  /// batches and deliver them in order. `samples`: that there are to read; 0 = not known.
  Entry& reads(Entry& entry, unsigned workers, double samples) {
    static constexpr const char* kKinds[] = {"pytorch", "pytorch_iterable", "tfdata", "in_flight"};
    LoaderKind kind = job_.loader.kind;
    // Shards are read by workers that each have their own.
    if (kind == LoaderKind::pytorch && entry.use() == "shard_stream") kind = LoaderKind::pytorch_iterable;
    entry.put("loader", kKinds[static_cast<int>(kind)]).count("workers", workers).put("cache", "cold");
    if (kind == LoaderKind::in_flight) return entry.put("engine", deep_engine()).count("queue_depth", kInFlight);
    const double own = std::clamp(job_.step.micro_batch, 1.0, 65536.0);
    const double batch =
        samples > 0 && !means_.own_batches ? std::clamp(std::floor(samples / workers / 2), 1.0, own) : own;
    if (batch < own)
      entry.open(
          "Batches of {:.0f} samples instead of {:.0f}, so that {} workers get two each: the effect of slow batches is "
          "understated",
          batch, own, workers);
    return entry.count("batch_size", static_cast<std::uint64_t>(batch))
        .count("prefetch_factor", static_cast<std::uint64_t>(std::clamp(job_.loader.prefetch_factor, 1.0, 64.0)));
  }
  /// Are the job's data objects of a store? Calls that are of files then do not matter.
  bool objects() const { return means_.data.empty() ? means_.makes_objects : is_object_path(means_.data); }
  ReadProfile profile() const { return objects() ? ReadProfile::ranged : job_.dataset.read_profile; }
  /// The engine that keeps requests in flight.
  std::string deep_engine() const { return objects() ? object_engine() : queueing_engine(); }
  bool waits() const { return job_.loader.kind != LoaderKind::in_flight; }

  /// A way of reading that is not the job's.
  void advise(Entry entry) { add(std::move(entry), time_share::kAdvice); }

  // One file for each sample, or for a few.

  void files() {
    const Job::Dataset& data = job_.dataset;
    const auto size = static_cast<std::uint64_t>(std::max(1.0, std::round(data.sample_size * data.samples_per_file)));
    Entry set("small_file_read", "job");
    double samples = 0;
    if (!means_.data.empty()) {
      set.put("path", means_.data);
    } else {
      const std::uint64_t fit = std::min(data_space_ / size, kMostFiles);
      const double all = data.samples ? std::ceil(*data.samples / data.samples_per_file) : 1e15;
      const auto files = static_cast<std::uint64_t>(std::min(double(fit), all));
      if (files == 0)
        return lack_room_to_read(fmt::format("no file of {} is made to read", bytes(double(size))), double(size));
      if (double(files) < all)
        set.open("{} files of {} instead of {}: the cost of larger folders is not measured", files, bytes(double(size)),
                 data.samples ? fmt::format("the job's {:.0f}", all) : "a data set of unknown size");
      if (files < workers_)
        set.open("{} files for {} workers, so some workers are idle; --max-write {} makes one for each", files,
                 workers_, as_option(2.2 * double(size) * workers_));
      samples = double(files) * data.samples_per_file;
      set.count("files", files).size("file_size", size);
      if (const auto spread = job_.spreads.find("dataset.sample_size"); spread != job_.spreads.end())
        set.size("file_size_spread",
                 static_cast<std::uint64_t>(std::min(spread->second * data.samples_per_file, double(size) / 3)));
    }
    if (data.samples_per_file != 1) set.put("samples_per_file", fmt::format("{:.15g}", data.samples_per_file));
    const char* const calls = !waits()                         ? nullptr
                              : profile() == ReadProfile::pil  ? "pil"
                              : profile() == ReadProfile::npz  ? "npz"
                              : profile() == ReadProfile::mmap ? "mmap"
                                                               : nullptr;
    if (calls == nullptr) set.size("block_size", request());
    const Entry base = set;
    if (calls != nullptr) set.put("read_profile", calls);
    add(reads(set, workers_, samples), time_share::kOwn);
    const auto variant = [&](const char* label) {
      Entry entry = base;
      entry.put("label", label);
      return entry;
    };
    if (workers_ < kMostWorkers) {
      Entry more = variant("more-workers");
      if (calls != nullptr) more.put("read_profile", calls);
      advise(reads(more, std::min(2 * workers_, kMostWorkers), samples));
    }
    if (means_.data.empty()) shards("shards", time_share::kAdvice, 64 * kMiB, "");
    if (job_.loader.kind != LoaderKind::in_flight) {
      Entry queue = variant("in-flight");
      advise(
          queue.put("engine", deep_engine()).count("workers", 1).count("queue_depth", kInFlight).put("cache", "cold"));
    }
  }

  // Shards that are read in order.

  std::uint64_t own_shard() const {
    return static_cast<std::uint64_t>(
        std::clamp(std::round(job_.dataset.stored_size() * job_.dataset.samples_per_file), 1.0, 0x1p44));
  }

  void shards(const char* label, double weight, std::uint64_t size, const std::string& path) {
    const bool own = weight == time_share::kOwn;
    const std::uint64_t space = own ? data_space_ : means_.space / 8;
    const ReadProfile profile = this->profile();
    const bool indexed = own && (profile == ReadProfile::mds || profile == ReadProfile::row_group);
    const bool tar = own && profile == ReadProfile::wds && waits();
    Entry set(indexed ? "random_read" : "shard_stream", label);
    double samples = 0;
    std::uint64_t each = size;
    if (!path.empty()) {
      set.put("path", path);
    } else {
      // Each worker has shards of its own: fewer would leave workers without any.
      std::uint64_t files = workers_;
      if (each * files > space) each = std::max(space / files, std::min(kLeastShard, size));
      files = std::min(files, space / std::max<std::uint64_t>(each, 1));
      if (files == 0 && own)
        return lack_room_to_read(fmt::format("no shard of {} is made to read", bytes(double(each))), double(each));
      if (files == 0) {
        remark("no shard of {} is made, as {} may be written: reads of shards are not measured", bytes(double(each)),
               bytes(double(means_.space)));
        return;
      }
      if (own && each < size)
        set.open("{} shards of {} instead of {}: first reads of a shard are more frequent", files, bytes(double(each)),
                 bytes(double(size)));
      if (own && files < workers_)
        set.open("{} shards for {} workers: the others have nothing to read", files, workers_);
      set.count("files", files).size("file_size", each);
      samples = double(files) * double(each) / job_.dataset.stored_size();
    }
    set.size("sample_size", sample());
    const Entry base = set;
    if (indexed && waits()) set.put("read_profile", profile == ReadProfile::mds ? "mds" : "row_group");
    if (tar) set.put("read_profile", "wds");
    const std::uint64_t block = !own ? std::max(request(), kMiB) : profile == ReadProfile::mds ? sample() : request();
    if (!tar) set.size("block_size", block);
    add(reads(set, workers_, samples), weight);
    if (!own) return;
    if (request() < kLargeRequest && (!indexed || lie_in_files(kLargeRequest, each))) {
      Entry larger = base;
      larger.put("label", "larger-requests").size("block_size", kLargeRequest);
      advise(reads(larger, workers_, samples));
    }
    if (job_.loader.kind != LoaderKind::in_flight) {
      Entry queue = base;
      queue.put("label", "in-flight").put("engine", deep_engine()).count("workers", 1).count("queue_depth", kInFlight);
      advise(queue.size("block_size", block).put("cache", "cold"));
    }
    if (!indexed) requests_in(base, samples);
  }

  /// Do random reads of `block` bytes lie in some file: of the user's, or in those of `made` bytes?
  bool lie_in_files(std::uint64_t block, std::uint64_t made) const {
    return (means_.data.empty() ? made : largest_of_own_data(means_.data)) >= block;
  }

  /// Requests of the job's size all over its shards, where it needs that many.
  void requests_in(const Entry& shards, double samples) {
    if (!asks("random_read")) return;
    Entry entry("random_read", "job");
    for (const char* key : {"path", "files", "file_size"})
      if (const Value* value = shards.value.find(key)) entry.put(key, value->text);
    entry.size("block_size", request()).size("sample_size", sample());
    entry.unproven = shards.unproven;
    add(reads(entry, workers_, samples), time_share::kOwn);
  }

  std::uint64_t sample() const {
    return static_cast<std::uint64_t>(std::max(1.0, std::round(job_.dataset.stored_size())));
  }

  // Token files: reads all over large files.

  void tokens() {
    constexpr std::uint64_t kFile = 256 * kMiB;
    Entry set("random_read", "job");
    double samples = 0;
    const std::uint64_t size = std::min(kFile, data_space_);
    if (!means_.data.empty()) {
      set.put("path", means_.data);
    } else {
      const std::uint64_t files = size == 0 ? 0 : std::min<std::uint64_t>(data_space_ / size, 4);
      if (size < request())
        return lack_room_to_read(
            fmt::format("no token file of {}, a request, is made to read", bytes(double(request()))),
            double(request()));
      set.open("{} files of {} instead of the job's tokens: the cost of a larger index is not measured", files,
               bytes(double(size)));
      set.count("files", files).size("file_size", size);
      const std::uint64_t requests = size / request();  // whole ones
      samples = double(files * requests);
    }
    set.size("sample_size", sample());
    const Entry base = set;
    const bool mapped = profile() == ReadProfile::mmap && job_.loader.kind != LoaderKind::in_flight;
    reads(set, workers_, samples).size("block_size", request());
    if (mapped) set.put("read_profile", "mmap");
    add(set, time_share::kOwn);
    if (request() < 2 * kMiB && lie_in_files(2 * kMiB, size)) {
      Entry larger = base;
      reads(larger, workers_, samples / 16).put("label", "larger-requests").size("block_size", 2 * kMiB);
      if (mapped) larger.put("read_profile", "mmap");
      advise(larger);
    }
    if (job_.loader.kind != LoaderKind::in_flight) {
      Entry queue = base;
      queue.put("label", "in-flight").put("engine", deep_engine()).count("workers", 1).count("queue_depth", kInFlight);
      advise(queue.size("block_size", request()).put("cache", "cold"));
    }
  }

  /// Opens and attributes with nothing in memory.
  void names() {
    if (objects()) return;  // objects are neither opened nor closed
    if (!asks("metadata") || !means_.root || job_.dataset.layout != Layout::files) return;
    Entry entry("metadata", "job");
    if (means_.data.empty())
      entry.count("width", means_.budget_s <= 120 ? 1 : 4);
    else
      entry.put("path", means_.data);
    if (job_.dataset.samples)
      entry.count("data_set_files",
                  static_cast<std::uint64_t>(std::min(1e15, *job_.dataset.samples / job_.dataset.samples_per_file)));
    add(entry.count("workers", workers_).put("cache", "cold"), time_share::kAdvice);
  }

  /// The samples that the loader's workers decode, out of memory.
  void decoding() {
    Entry entry("decode", "job");
    entry.put("codec", codec_word(job_.dataset)).count("workers", workers_);
    const Job::Dataset& data = job_.dataset;
    if (data.image_size) entry.count("output", static_cast<std::uint64_t>(*data.image_size));
    if (!means_.data.empty() && !objects() && data.layout == Layout::files && data.samples_per_file == 1) {
      entry.put("path", means_.data);
      if (job_.loader.skips_bad_samples) entry.put("on_error", "skip");
    } else {
      const std::uint64_t each = std::min(sample(), kMostDrawn);
      entry.size("sample_size", each).count("images", std::clamp<std::uint64_t>(kMostDrawn / each, 4, 64));
      entry.open("generated images of {} each are decoded instead of the job's: --data PATH decodes real ones",
                 bytes(double(each)));
    }
    add(std::move(entry), time_share::kOwn);
  }

  // Saves and restores.

  void checkpoints() {
    // Each save must end within its part of the time.
    const job_points::SaveMeans means{.space = double(save_space_),
                                      .memory = double(means_.memory) / 4,
                                      .save_s = means_.budget_s / 5 / (time_share::kFewest + 1),
                                      .objects = means_.makes_objects,
                                      .restores = asks("checkpoint_read") && job_.checkpoint->restore.has_value()};
    std::vector<Entry> made = job_points::checkpoints(job_, means);
    if (made.empty())
      lack_room("checkpoint", fmt::format("no checkpoint of {:.0f} ranks is saved", job_points::ranks_here(job_)),
                "SIZE");
    for (Entry& entry : made) add(std::move(entry), entry.is_advice() ? time_share::kAdvice : time_share::kOwn);
  }

  void gpus() {
    if (!means_.gpus) return;
    constexpr double kMost = 0x1p36;
    if (asks("h2d") && job_.dataset.decoded_size) {
      const double batch = std::clamp(job_.step.micro_batch * *job_.dataset.decoded_size, 1.0, kMost);
      for (const char* gpus : {"each", "all"})
        add(Entry("h2d", gpus == std::string_view("each") ? "job" : "job-all-at-once")
                .size("size", static_cast<std::uint64_t>(batch))
                .put("gpus", gpus),
            time_share::kOwn);
    }
    if (asks("d2h"))
      for (const char* gpus : {"each", "all"})
        add(Entry("d2h", gpus == std::string_view("each") ? "job" : "job-all-at-once").put("gpus", gpus),
            time_share::kOwn);
  }

  /// Collectives in the job's own sizes and groups, ports, and the slowest pair.
  void network() {
    if (!means_.ranks) return;
    for (const char* collective : {"mpi_all_reduce", "mpi_all_to_all", "mpi_send_recv"})
      if (asks(collective))
        add(Entry(collective, "job").put("message_size", "need").put("group", "need"), time_share::kOwn);
    if (asks("network_ports"))
      add(Entry("network_ports", "")
              .put("nic_rate", job_.cluster.nic_rate
                                   ? exact_quantity(*job_.cluster.nic_rate, Dimension::bytes_per_second)
                                   : "0B/s"),
          0);
    if (asks("tcp_stream"))
      add(Entry("tcp_stream", "job").put("processes", "per_node").count("streams", 4).put("schedule", "all_pairs"),
          time_share::kOwn);
  }

  /// The measuring time, by weight: as long as useful, and short enough for the fewest repetitions.
  void share_time() {
    double weights = 0;
    for (const Entry& entry : entries_) weights += entry.weight;
    const double time_s = means_.budget_s * (1 - time_share::kMaking);
    for (Entry& entry : entries_) {
      if (entry.weight == 0) continue;
      const double own_s = time_s * entry.weight / weights;
      if (entry.timed) entry.put("duration", fmt::format("{:.2g}s", time_share::repetition_s(own_s)));
      entry.value.set("repeat",
                      time_share::repeat_within(own_s, entry.weight < time_share::kOwn ? time_share::kFewest : 0));
    }
  }

  const Job& job_;
  const Means& means_;
  const std::vector<job::Need> needs_;
  unsigned workers_ = 1;
  std::uint64_t data_space_ = 0, save_space_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::string> remarks_;
  std::map<std::string, std::string> no_room_;
};

}  // namespace

const char* codec_word(const Job::Dataset& data) {
  static constexpr const char* kWords[] = {"none", "jpeg", "png", "zstd", "npz"};
  return kWords[static_cast<int>(data.codec)];
}

FromJob points_from_job(const Job& job, const Means& means) { return Points(job, means).make(); }

}  // namespace headrace
