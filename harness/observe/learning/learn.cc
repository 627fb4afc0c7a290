#include "harness/observe/learning/learn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/units.h"
#include "harness/observe/learning/ahead.h"
#include "harness/observe/learning/learned.h"
#include "harness/observe/learning/shares.h"
#include "harness/observe/learning/step_share.h"
#include "harness/observe/sampling/own_time.h"

namespace headrace::observe {
namespace {

constexpr double kSmallFile = 32 << 20;  // [B]: larger ones hold many samples, unless their format excludes it
constexpr double kGuessedBatch = 1;
constexpr double kWholeWorkers = 0.3;   // of each GPU, on average: further off they come and go
constexpr double kWholeReads = 2.5;     // of a sample that is read whole: one that asks for its end, and some of others
constexpr double kSomeStep = 0.02;      // of the time: less is waiting alone
constexpr double kSomeBytes = 4096;     // of a step, or a second: less is no data
constexpr std::uint64_t kFewFiles = 5;  // met by looks: their folder may be a part of the data set's

Confidence less(Confidence confidence) { return confidence == Confidence::high ? Confidence::medium : Confidence::low; }
/// Values that follow from both.
Confidence least(Confidence a, Confidence b) { return std::max(a, b); }

/// Everything that several keys follow from.
struct Sums {
  double seconds = 0;
  double worker_bytes = 0, worker_storage_bytes = 0, worker_cpu_s = 0, worker_user_s = 0, worker_reads = 0;
  double faults = 0;
  double looks = 0, periods = 0, unsure = 0;  // of the consumers' first threads
};

Sums sums_of(const std::vector<const Slice*>& slices, const Roles& roles) {
  Sums sums;
  for (const Slice* slice : slices) {
    sums.seconds += slice->seconds();
    for (const ProcessSlice& one : slice->processes) {
      if (roles.is_consumer(one.process)) {
        sums.periods += total(one.lead);
        sums.looks += one.looks;
        sums.unsure += one.unsure;
      }
      if (!(roles.in_process ? roles.is_consumer(one.process) : roles.is_worker(one.process))) continue;
      sums.worker_bytes += static_cast<double>(one.counted.read_calls_bytes);
      sums.worker_storage_bytes += static_cast<double>(one.counted.storage_read_bytes);
      sums.worker_reads += static_cast<double>(one.counted.read_calls);
      sums.worker_cpu_s += one.counted.user_s + one.counted.system_s;
      sums.worker_user_s += one.counted.user_s;
      sums.faults += static_cast<double>(one.counted.major_faults);
    }
  }
  return sums;
}

class Learner {
 public:
  Learner(const Recording& recording, const std::vector<const Slice*>& slices, Observation& seen)
      : recording_(recording),
        slices_(slices),
        seen_(seen),
        sums_(sums_of(slices, seen.roles)),
        steps_(count_steps(recording, seen.roles, slices)),
        own_(own_time()) {}

  void all() {
    for (const Slice* slice : slices_) edge_s_ = std::max(edge_s_, slice->seconds());
    machines();
    data();
    rates();
    reading();
    loader();
    taking();
    learn_saves(recording_, seen_);
  }

 private:
  void word(const std::string& key, const std::string& text, Confidence confidence, const std::string& evidence) {
    learn_word(seen_, key, text, confidence, evidence);
  }
  void number(const std::string& key, double value, double spread, Dimension dimension, Confidence confidence,
              const std::string& evidence) {
    learn_number(seen_, key, value, spread, dimension, confidence, evidence);
  }

  void machines() {
    word("cluster.nodes", "1", Confidence::guess,
         "one node was watched; how many others there are cannot be seen from it");
    const std::size_t reported = seen_.gpus.size(),
                      takers = std::max<std::size_t>(
                          1, static_cast<std::size_t>(std::lround(seen_.roles.consumers_at_once)));
    std::string take = fmt::format("{} process{} took batches", seen_.roles.consumers.size(),
                                   seen_.roles.consumers.size() == 1 ? "" : "es");
    if (seen_.roles.consumers.size() > takers) take += fmt::format(", {:.1f} at a time", seen_.roles.consumers_at_once);
    if (reported >= takers && reported % takers == 0) {
      gpus_ = static_cast<double>(reported);
      number("cluster.gpus_per_node", gpus_, 0, Dimension::count, Confidence::high,
             fmt::format("the driver names processes of the job on {} GPU{}; {}", reported, reported == 1 ? "" : "s",
                         take));
      return;
    }
    gpus_ = static_cast<double>(takers);
    number("cluster.gpus_per_node", gpus_, 0, Dimension::count,
           takers > 1 && reported == 0 ? Confidence::medium : Confidence::low,
           take + (reported > 0 ? fmt::format(", and the driver names the job on {} GPUs", reported) : "") +
               "; as if each had one GPU");
  }

  void path(Confidence confidence) {
    learn_path(seen_, seen_.data.folder, confidence, "where nine tenths of the looks at reads were");
  }

  /// By calls or, of mapped files, from storage.
  double bytes_read() const { return std::max(sums_.worker_bytes, sums_.worker_storage_bytes); }
  /// Less are the messages of processes to each other.
  bool read_enough() const {
    const double parts = steps_.count != 0 ? steps_.count : sums_.seconds;
    return parts > 0 && bytes_read() >= kSomeBytes * parts;
  }
  /// Of samples of a size that was not seen, the bytes that were read decide the rate. Without these nothing does.
  void guess_size(double size, const std::string& evidence) {
    if (!read_enough())
      return learn_unknown(seen_, "dataset.sample_size", Dimension::bytes,
                           evidence + ", and no data was seen being read");
    guessed_size_ = size;
    number("dataset.sample_size", size, 0, Dimension::bytes, Confidence::guess, evidence);
  }

  void data() {
    const DataSurvey& data = seen_.data;
    if (data.folder.empty()) {
      word("dataset.layout", "files", Confidence::guess,
           "no file of a data set was seen being waited for; --trace sees those that memory serves at once");
      guess_size(1e5, "no file of a data set was seen");
      return;
    }
    const std::string what = fmt::format(
        "{}{}{} below {} of {}", data.complete ? "" : "at least ", counted(data.files, "file"),
        data.extensions.size() == 1 && !data.extensions.front().empty() ? " *" + data.extensions.front() : "",
        counted(data.folders, "folder"), data.folder);
    const bool mapped = sums_.faults * 4096 > sums_.worker_bytes || (!data.read && sums_.faults > 0);
    if (mapped) {
      layout_ = "tokens";
      word("dataset.layout", layout_, Confidence::medium,
           fmt::format("read by {:.0f} page faults of mapped files; {}", sums_.faults, what));
      guess_size(16384, "the bytes of one sample of a mapped file cannot be seen from outside");
      return;
    }
    // Those that are open, and were not found being read, may be anything: a lock, a log, a mapped file.
    if (!data.read) {
      word("dataset.layout", "files", Confidence::guess,
           what + "; they were open, and none was found being read: --trace sees reads that memory serves at once");
      guess_size(1e5, "no file was found being read");
      return;
    }
    // It was open, and less than one of it was read by calls: mapped, it may be, and in memory.
    if (data.mean_size() > sums_.worker_bytes && data.mean_size() <= kSmallFile &&
        data.format == formats::Format::none) {
      word("dataset.layout", "files", Confidence::guess,
           what + "; less than one of them was read by calls, as where files are mapped, and lie in memory");
      guess_size(1e5, "the bytes of one sample of such a file cannot be seen from outside");
      return;
    }
    const bool shards = data.format != formats::Format::none || data.mean_size() > kSmallFile;
    layout_ = shards ? "shards" : "files";
    // Where few files were met, others may be elsewhere; and where there are few, one may hold many samples.
    const bool few = data.seen < kFewFiles && (data.files > data.seen || !shards);
    word("dataset.layout", layout_,
         few                                               ? Confidence::low
         : data.format != formats::Format::none || !shards ? Confidence::high
                                                           : Confidence::low,
         fmt::format("{} seen being read; {}",
                     data.seen == 1 ? "1 was" : fmt::format("{} different ones were", data.seen), what));
    path(few ? Confidence::low : Confidence::medium);
    const double per_file = shards ? data.samples_per_file : 1;
    if (per_file <= 0) {
      guess_size(1e5, "the samples of such a file are not known here");
      return;
    }
    sample_size_ = data.mean_size() / per_file;
    spread_ = ratio(data.size_deviation, data.mean_size());
    number("dataset.samples", std::max(1.0, std::round(static_cast<double>(data.files) * per_file)), shards ? 0.02 : 0,
           Dimension::count, data.complete && data.seen >= kFewFiles ? Confidence::medium : Confidence::low,
           fmt::format(
               "{}{}{}", what,
               shards ? fmt::format(", {:.1f} samples in each of {} looked into", per_file, data.shards_parsed) : "",
               data.complete           ? "; as if the job reads all of them"
               : data.unlisted.empty() ? "; the listing was ended early"
                                       : "; cannot look at " + data.unlisted));
    number("dataset.sample_size", sample_size_,
           spread_ / std::sqrt(std::max(1.0, static_cast<double>(few ? data.seen : data.files))), Dimension::bytes,
           few             ? Confidence::low
           : data.complete ? Confidence::high
                           : Confidence::medium,
           fmt::format("mean of {}{}{}", counted(data.files, "file"), shards ? " over the samples in one" : "",
                       few ? fmt::format("; {} of them were met", data.seen) : ""));
    size_confidence_ = seen_.learned.back().confidence;
    if (shards)
      number("dataset.samples_per_file", per_file, 0.02, Dimension::ratio, Confidence::medium,
             fmt::format("counted in the begin of {} shards", data.shards_parsed));
  }

  void rates() {
    seen_.steps = steps_.count;
    seen_.bytes_per_s = ratio(sample_size_ > 0 ? sums_.worker_bytes : bytes_read(), sums_.seconds);
    if (steps_.distinguished())
      ahead_ = find_ahead(recording_, seen_.roles, steps_.calls, sample_size_, spread_, not_ahead_);
    else
      not_ahead_ = "batches taken together look like one";
    const double samples = ratio(sums_.worker_bytes, sample_size_);
    seen_.samples_per_s = ratio(samples, sums_.seconds);
    const StepShare step = find_step_share(seen_, own_, looks());
    const double consumers = std::max(1.0, std::round(seen_.roles.consumers_at_once));
    if (steps_.count != 0) {
      const double period = sums_.seconds / steps_.count, gpus_of_each = gpus_ / consumers;
      const double low = step.low * (1 - steps_.uncertainty) / step.value,
                   high = step.high * (1 + steps_.uncertainty) / step.value;
      number("step.time", period * step.value, std::max(1 - low, high - 1), Dimension::seconds, steps_.confidence,
             fmt::format("{}; one every {}, of which {}", steps_.evidence, format_quantity(period, Dimension::seconds),
                         step.evidence));
      Learned& time = seen_.learned.back();
      time.low = period * step.value * std::max(0.0, low) / steps_.most;
      time.high = period * step.value * high / steps_.fewest;
      if (samples > 0) {
        const double batch = samples / steps_.count / gpus_;
        // Batches that are ready or being made at both ends of watching were read or taken outside of it. That is two
        // batches and a third for each worker.
        const double ahead = 3 * seen_.roles.workers_at_once / consumers / steps_.count;
        const double error =
            steps_.uncertainty + ahead + edge_s_ / sums_.seconds + spread_ / std::sqrt(std::max(1.0, samples));
        if (ahead_ && std::abs(ahead_->batch - std::round(ahead_->batch)) + ahead_->batch_error < 0.4) {
          number(
              "step.micro_batch", std::max(1.0, std::round(ahead_->batch / gpus_of_each)), 0, Dimension::count,
              least(steps_.confidence, size_confidence_),
              fmt::format("while workers waited for room they read {:.2f} samples, give or take {:.2f}, for each batch "
                          "that was taken",
                          ahead_->batch, ahead_->batch_error));
          return;
        }
        const double whole = std::max(1.0, std::round(batch));
        number("step.micro_batch", whole, error, Dimension::count,
               least(std::abs(batch - whole) < 0.2 ? steps_.confidence : less(steps_.confidence), size_confidence_),
               fmt::format("{:.0f} samples in {:.0f} steps of {:.0f} process{}: {:.2f} each", samples, steps_.count,
                           consumers, consumers == 1 ? "" : "es", batch));
        seen_.learned.back().low = batch * std::max(0.0, 1 - error) / steps_.most;
        seen_.learned.back().high = batch * (1 + error) / steps_.fewest;
        return;
      }
    }
    if (steps_.count != 0) return batch_by_bytes();
    time_by_bytes(step.value > kSomeStep ? step.value : 1, samples);
  }

  /// Steps were counted, and samples were not.
  void batch_by_bytes() {
    if (guessed_size_ == 0)
      return learn_unknown(seen_, "step.micro_batch", Dimension::count,
                           "samples could not be counted, and no data was seen being read");
    const double each = bytes_read() / steps_.count / gpus_;
    const auto is_mapped = [](const Learned& one) { return one.key == "dataset.layout" && one.text == "tokens"; };
    if (each < guessed_size_ && std::ranges::none_of(seen_.learned, is_mapped)) {  // pages in memory are no reads
      std::erase_if(seen_.learned, [](const Learned& one) { return one.key == "dataset.sample_size"; });
      guessed_size_ = each;
      number("dataset.sample_size", each, 0, Dimension::bytes, Confidence::guess,
             "no sample was seen; as much as each GPU read for a step");
    }
    number("step.micro_batch", std::max(1.0, std::round(each / guessed_size_)), 0, Dimension::count, Confidence::guess,
           fmt::format("samples could not be counted; in samples of {} this gives the {} that were read for each step",
                       format_quantity(guessed_size_, Dimension::bytes), format_quantity(each, Dimension::bytes)));
  }

  /// Steps were not counted. `share`: of the time that is step.
  void time_by_bytes(double share, double samples) {
    const double size = sample_size_ > 0 ? sample_size_ : guessed_size_;
    const double rate = ratio(samples > 0 ? samples : ratio(bytes_read(), size), sums_.seconds);
    if (rate == 0) {
      const char* const why = "steps could not be counted, and no data was seen being read";
      learn_unknown(seen_, "step.time", Dimension::seconds, why);
      return learn_unknown(seen_, "step.micro_batch", Dimension::count, why);
    }
    number("step.time", share * kGuessedBatch * gpus_ / rate, 0.5, Dimension::seconds, Confidence::guess,
           fmt::format("steps could not be counted; with a batch of 1{} this gives the {} that were read{}",
                       samples > 0 ? "" : fmt::format(" sample of {}", format_quantity(size, Dimension::bytes)),
                       samples > 0 ? format_quantity(rate, Dimension::per_second)
                                   : format_quantity(rate * size, Dimension::bytes_per_second),
                       share < 1 ? "; the time of waits is left out" : ""));
    number("step.micro_batch", kGuessedBatch, 0, Dimension::count, Confidence::guess,
           "steps could not be counted: see step.time");
  }

  void reading() {
    const StorageSeen& storage = seen_.storage;
    // Other processes' requests to the device are not the job's.
    if (storage.request_bytes != 0 && sums_.worker_storage_bytes > 0.5 * storage.read_rate * sums_.seconds)
      number("dataset.request_size", storage.request_bytes, 0.05, Dimension::bytes, Confidence::medium,
             fmt::format("{} read in {:.0f} requests of device {}",
                         format_quantity(storage.read_rate * sums_.seconds, Dimension::bytes),
                         storage.requests * sums_.seconds, storage.device));
    const double amplification = ratio(sums_.worker_storage_bytes, sums_.worker_bytes);
    if (layout_ != "tokens" && amplification >= 1)
      number("dataset.read_amplification", amplification, 0.05, Dimension::ratio, Confidence::medium,
             fmt::format("storage gave {} for {} that were read",
                         format_quantity(sums_.worker_storage_bytes, Dimension::bytes),
                         format_quantity(sums_.worker_bytes, Dimension::bytes)));
    else if (amplification > 0.005 && amplification < 0.98)
      seen_.notes.push_back(
          fmt::format("{:.0f} % of the bytes came from memory (the page cache), or the file system does not count "
                      "bytes from storage",
                      (1 - amplification) * 100));
    if (layout_ == "files" && sample_size_ > 0 && !recording_.read_sizes.empty()) {
      std::uint64_t looks = 0, small = 0;
      for (const auto& [size, times] : recording_.read_sizes) {
        looks += times;
        if (size <= 65536) small += times;
      }
      const double mean = ratio(sums_.worker_bytes, sums_.worker_reads);
      const bool pieces = small * 10 > looks * 9 && sample_size_ > kWholeReads * mean;
      word("dataset.read_profile", pieces ? "pil" : "whole", least(Confidence::medium, size_confidence_),
           fmt::format(
               "{} asked for at most 64 KiB{} {} of a {} sample",
               small * 10 > looks * 9
                   ? "most reads"
                   : fmt::format("{:.0f} % of {}", 100.0 * static_cast<double>(small) / static_cast<double>(looks),
                                 counted(looks, "read")),
               small * 10 > looks * 9 ? " and got" : "; a read got", format_quantity(mean, Dimension::bytes),
               format_quantity(sample_size_, Dimension::bytes)));
    }
    number("dataset.metadata_ops_per_open", 4, 0, Dimension::ratio, Confidence::guess,
           "looks from outside do not count calls; --trace does");
    const double samples = ratio(sums_.worker_bytes, sample_size_);
    // A rehearsal repeats the kernel's time for reading.
    if (samples >= 20 && !seen_.roles.in_process && sums_.worker_user_s > 0.2) {
      // Decoders cost the kernel time, too: where it took much, the share of reading is unknown.
      const double kernel = sums_.worker_cpu_s / sums_.worker_user_s - 1;
      const bool much = kernel > 0.2;
      number("dataset.cpu_time_per_sample", sums_.worker_user_s / samples,
             0.02 + 0.02 / sums_.worker_user_s + spread_ / std::sqrt(samples) + (much ? kernel : 0), Dimension::seconds,
             much ? least(Confidence::low, size_confidence_) : size_confidence_,
             fmt::format("workers took {} of processor time, and {} more in the kernel, for {:.0f} samples",
                         format_quantity(sums_.worker_user_s, Dimension::seconds),
                         format_quantity(sums_.worker_cpu_s - sums_.worker_user_s, Dimension::seconds), samples));
    }
  }

  void loader() {
    if (!seen_.roles.workers.empty()) {
      const double each = std::max(1.0, std::round(seen_.roles.workers_at_once / gpus_));
      std::string started;
      if (seen_.roles.generations.size() > 1)
        started =
            fmt::format(", in {} generations, as a loader starts them anew each epoch", seen_.roles.generations.size());
      const bool whole = std::abs(seen_.roles.workers_at_once / gpus_ - each) < kWholeWorkers;
      number("loader.workers_per_gpu", each, whole ? 0 : 1, Dimension::count, Confidence::high,
             fmt::format("{} processes read for {} that took batches{}; {:.1f} at a time", seen_.roles.workers.size(),
                         seen_.roles.consumers.size(), started, seen_.roles.workers_at_once));
    } else if (!seen_.roles.threads.empty()) {
      number("loader.workers_per_gpu",
             std::max(1.0, std::round(static_cast<double>(seen_.roles.threads.size()) / gpus_)), 0, Dimension::count,
             Confidence::medium,
             fmt::format("{} threads of the processes that took batches read", seen_.roles.threads.size()));
    } else if (!seen_.roles.consumers.empty()) {
      number("loader.workers_per_gpu", 0, 0, Dimension::count, Confidence::medium,
             "no process reads for another: the thread that takes the batches makes them itself");
    }
    const bool by_threads = seen_.roles.workers.empty() && !seen_.roles.threads.empty();
    if (by_threads)
      word("loader.kind", "tfdata", Confidence::low, "threads share the samples of a batch");
    else if (layout_ == "shards" && seen_.data.format != formats::Format::none)
      word("loader.kind", seen_.data.format == formats::Format::tfrecord ? "tfdata" : "pytorch_iterable",
           Confidence::low, fmt::format("shards are {}", formats::to_string(seen_.data.format)));
    if (ahead_ && ahead_->each) {
      // Samples are bytes over their size.
      number("loader.prefetch_factor", *ahead_->each, 0, Dimension::count, least(Confidence::medium, size_confidence_),
             fmt::format("batches that were ready and not yet taken while {} workers waited for room, at {} moments{}",
                         ahead_->workers, ahead_->moments,
                         ahead_->to_the_end ? "; as many were taken after the last read" : ""));
      seen_.learned.back().low = ahead_->each_low;
      seen_.learned.back().high = ahead_->each_high;
    } else {
      number("loader.prefetch_factor", 2, 0, Dimension::count, Confidence::guess,
             (ahead_ && std::isfinite(ahead_->each_high)
                  ? fmt::format("between {:.1f} and {:.1f} batches of each worker lay ready: no one number",
                                ahead_->each_low, ahead_->each_high)
                  : not_ahead_) +
                 "; DataLoader's default");
    }
    if (sample_size_ != 0 && seen_.data.complete)
      seen_.notes.push_back(fmt::format("the data set was read {:.2f} times while batches were taken",
                                        sums_.worker_bytes / static_cast<double>(seen_.data.bytes)));
  }

  /// The processor time that the consumer spends on each batch; recorded calls show none.
  void taking() {
    const OwnTime& own = own_;
    if (seen_.roles.in_process || !recording_.machine_seen || steps_.count == 0 || own.high == 0) return;
    const double consumers = std::max(1.0, std::round(seen_.roles.consumers_at_once));
    const double batch_s = sums_.seconds / steps_.count * consumers / gpus_;
    const std::string evidence =
        fmt::format("the main thread was on a processor for {:.1f} % of the time, {} for each batch; {}",
                    own.high * 100, format_quantity(own.high * batch_s, Dimension::seconds), own.evidence);
    const double spread = steps_.uncertainty + ratio((own.high - own.low) / 2, own.value);
    const bool reported = own.known && own.value != 0;
    number("loader.cpu_time_per_batch", reported ? own.value * batch_s : 0, spread, Dimension::seconds,
           reported ? less(steps_.confidence) : Confidence::guess, evidence);
    Learned& one = seen_.learned.back();
    one.low = own.low * batch_s * std::max(0.0, 1 - steps_.uncertainty) / steps_.most;
    one.high = own.high * batch_s * (1 + steps_.uncertainty) / steps_.fewest;
    if (reported) return;
    one.known = false;
    one.text = "not known";
  }

  /// Recorded calls are known all the time.
  LooksAtLead looks() const {
    return {.count = recording_.machine_seen ? sums_.looks : sums_.periods,
            .unsure = ratio(sums_.unsure, sums_.periods)};
  }

  /// One that makes its batches itself computes them; of calls that were written down its processor time is not known.
  OwnTime own_time() const {
    OwnTime own = find_own_time(recording_, slices_, seen_);
    own.known = own.known && !seen_.roles.in_process && recording_.machine_seen;
    return own;
  }

  const Recording& recording_;
  const std::vector<const Slice*>& slices_;
  Observation& seen_;
  const Sums sums_;
  const Steps steps_;
  const OwnTime own_;
  std::string layout_ = "files";
  double gpus_{};  // of this node
  double sample_size_ = 0, spread_ = 0;
  double guessed_size_ = 0;                         // [B] where it was not seen, and data was read; else 0
  Confidence size_confidence_ = Confidence::guess;  // of sample_size_
  std::optional<Ahead> ahead_;
  std::string not_ahead_;  // why
  double edge_s_ = 0;      // bytes and batches are counted in slices, at whose edges they need not agree
};

}  // namespace

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::high:
      return "high";
    case Confidence::medium:
      return "medium";
    case Confidence::low:
      return "low";
    case Confidence::guess:
      return "guess";
  }
  return "";
}

void learn(const Recording& recording, const std::vector<const Slice*>& slices, Observation& seen) {
  Learner(recording, slices, seen).all();
}

}  // namespace headrace::observe
