// decode - samples that lie in memory, decoded as a job's loader does: what one costs, and how many the cores give.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "harness/backends/loader.h"
#include "harness/decode/cost_fit.h"
#include "harness/decode/drawn_sample.h"
#include "harness/decode/sample_decoder.h"
#include "harness/storage/data_set.h"
#include "harness/storage/pipeline.h"
#include "harness/system/unique_fd.h"
#include "harness/workload.h"

namespace {
using namespace headrace;

constexpr std::array kMetrics{
    Metric{"image_rate", "1/s", Better::higher, "Samples decoded per second by all workers"},
    Metric{"rate_per_core", "1/s", Better::higher, "Samples per second of processor time, at so many workers"},
    Metric{"cpu_time_per_sample", "s", Better::lower, "Processor time of one sample: dataset.cpu_time_per_sample"},
    Metric{"pixel_rate", "1/s", Better::higher,
           "Pixels of the stored images per second, also those that no part shows"},
    Metric{"stored_bandwidth", "B/s", Better::higher, "Stored bytes decoded per second"},
    Metric{"cost_per_byte", "s", Better::lower, "Fit of an image's processor time: a of a * bytes + b * pixels"},
    Metric{"cost_per_pixel", "s", Better::lower, "b of it"},
    Metric{"fit_r2", "ratio", Better::neither, "Share of the images' differences that the fit explains"},
    Metric{"bad_samples", "count", Better::lower, "Samples that cannot be decoded, and are left out"},
};

constexpr std::size_t kNamed = 8;  // bad samples that are told by name

struct Sample {
  std::vector<unsigned char> stored;
  std::uint64_t pixels = 0;
};

/// What one worker has.
struct alignas(128) Hand {
  explicit Hand(decode::SampleDecoder made) : decoder(std::move(made)) {}
  decode::SampleDecoder decoder;
  std::vector<std::uint64_t> cpu_ns, times;  // of each sample
};

/// What does one sample cost, and how many per second do so many workers give?
class Decode final : public Workload {
 public:
  explicit Decode(Params& p)
      : codec_(p.choice("codec", "jpeg", known_codecs(), "format of the samples")),
        path_(p.path("path", "your own samples, a file each, read-only; not given: images are drawn")),
        images_(p.count("images", 64, {.min = 1, .max = 100'000}, "images that are drawn, of several sizes")),
        width_(p.count("width", 500, {.min = 16, .max = 16384}, "their mean width [pixels]; the height is 3/4 of it")),
        sample_size_(p.bytes("sample_size", 0, {.min = 0, .max = 16_MiB},
                             "their mean stored size, which then decides the width; 0B: width does")),
        quality_(p.count("quality", 90, {.min = 1, .max = 100}, "their quality, where the format loses something")),
        memory_(p.bytes("memory", 256_MiB, {.min = 1}, "most bytes of samples that are held: the first ones in order")),
        workers_(static_cast<unsigned>(p.count("workers", 1, {.min = 1, .max = 1024}, "decoding threads"))),
        passes_(p.count("passes", 4, {.min = 1}, "times that each sample is decoded in a repetition")),
        output_(static_cast<std::uint32_t>(p.count("output", 224, {.min = 0, .max = 8192},
                                                   "side of the square that an image is resized to [pixels], "
                                                   "flipped and normalized; 0: it is only decoded"))),
        random_(p.choice("crop", "random_resized", {"full", "random_resized"},
                         "full: the whole image; random_resized: a random part, and only what it needs is decoded") ==
                "random_resized"),
        scaling_(p.flag("dct_scaling", false,
                        "decode at 1/2, 1/4 or 1/8 where that is still no smaller than output: not the same pixels")),
        limit_(p.count("most_pixels", DecodeLimits{}.pixels, {.min = 1}, "images of more are refused")),
        skip_(p.choice("on_error", "fail", {"skip", "fail"}, "of a sample that cannot be decoded: skip counts it") ==
              "skip") {}

  static std::span<const Metric> metrics() { return kMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (const std::string why = node.backends().why_not(codec_); !why.empty()) return Skip{why};
    return std::nullopt;
  }
  unsigned workers() const override { return workers_; }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = !path_.empty() ? memory_ : images_ * std::max(width_ * width_ / 4, sample_size_);
    return f;
  }

  void prepare(Node& node, const DataProgress& progress) override {
    const Codec& codec = node.backends().codec(codec_);
    samples_.clear();
    bad_.clear();
    bad_count_ = 0;
    cpu_times_s_.clear();
    hands_.clear();
    hands_.reserve(workers_);
    for (unsigned i = 0; i < workers_; ++i)
      hands_.emplace_back(decode::SampleDecoder(
          codec,
          {.output = output_, .random_part = random_, .scaling = scaling_, .limits = DecodeLimits{.pixels = limit_}}));
    if (path_.empty())
      draw(codec);
    else
      load(node, progress);
    if (samples_.empty()) throw RunError(fmt::format("{}: no sample can be decoded: {}", path_, bad_.front()));
    for (Hand& hand : hands_) hand.cpu_ns.resize(samples_.size()), hand.times.resize(samples_.size());
  }

  void before_phase(unsigned, unsigned, std::uint64_t) override {
    for (Hand& hand : hands_) {
      std::fill(hand.cpu_ns.begin(), hand.cpu_ns.end(), 0);
      std::fill(hand.times.begin(), hand.times.end(), 0);
    }
  }

  void run(Worker& worker) override {
    Hand& hand = hands_[worker.index];
    Random random(worker.seed * 1024 + worker.index);
    std::uint64_t begin = now_ns(), cpu = pipeline::thread_cpu_ns();
    for (std::uint64_t i = worker.index; i < passes_ * samples_.size() && worker.recorder.running();
         i += worker.count) {
      const std::size_t number = i % samples_.size();
      const Sample& sample = samples_[number];
      std::uint64_t pixels = 0;
      const bool good = hand.decoder.run(sample.stored, random, pixels);
      const std::uint64_t end = now_ns(), cpu_end = pipeline::thread_cpu_ns();
      if (good)
        worker.recorder.op(begin, end, sample.stored.size());
      else
        worker.recorder.fail({.code = EIO, .offset = hand.decoder.error().offset}, end);
      hand.cpu_ns[number] += cpu_end - cpu;
      ++hand.times[number];
      begin = end;
      cpu = cpu_end;
    }
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    double cpu_s = 0, times = 0, pixels = 0;
    std::vector<decode::Cost> costs;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      double own_s = 0, own = 0;
      for (const Hand& hand : hands_) {
        own_s += 1e-9 * static_cast<double>(hand.cpu_ns[i]);
        own += static_cast<double>(hand.times[i]);
      }
      if (own == 0) continue;
      cpu_s += own_s;
      times += own;
      pixels += own * static_cast<double>(samples_[i].pixels);
      costs.push_back({.bytes = static_cast<double>(samples_[i].stored.size()),
                       .pixels = static_cast<double>(samples_[i].pixels),
                       .seconds = own_s / own});
    }
    sink.put("bad_samples", static_cast<double>(bad_count_));
    if (times == 0 || cpu_s == 0) return;
    const PhaseResult& phase = repetition.phases.front();
    sink.put("image_rate", phase.operations_per_s());
    sink.put("stored_bandwidth", phase.bytes_per_s());
    sink.put("pixel_rate", phase.operations_per_s() * pixels / times);
    sink.put("cpu_time_per_sample", cpu_s / times);
    sink.put("rate_per_core", times / cpu_s);
    cpu_times_s_.push_back(cpu_s / times);
    if (const auto fit = decode::fit_costs(costs)) {
      sink.put("cost_per_byte", fit->per_byte);
      sink.put("cost_per_pixel", fit->per_pixel);
      sink.put("fit_r2", fit->r2);
    }
  }
  std::string why_missing(std::string_view) const override {
    return "the samples do not tell bytes and pixels apart: they are too few, or too much alike";
  }

  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    if (bad_count_ > 0)
      notes.push_back(fmt::format("cannot be decoded and left out: {} of the samples: {}{}", bad_count_,
                                  fmt::join(bad_, "; "), bad_count_ > bad_.size() ? "; and more" : ""));
    for (const auto& [why, count] : not_read_) notes.push_back(fmt::format("files not read: {} ({})", count, why));
    if (left_ > 0)
      notes.push_back(fmt::format("{} files are held in memory, and {} more are not: memory: SIZE holds more",
                                  samples_.size(), left_));
    if (scaling_) notes.emplace_back("decoded at a smaller scale where that suffices: not the pixels of a full decode");
    if (!cpu_times_s_.empty()) {
      std::vector<double> all = cpu_times_s_;
      std::nth_element(all.begin(), all.begin() + all.size() / 2, all.end());
      notes.push_back(
          fmt::format("for the job file: dataset: {{cpu_time_per_sample: {:.3g}ms}}; host.cpu_cores then "
                      "follows from headrace require JOB",
                      1e3 * all[all.size() / 2]));
    }
    return notes;
  }
  void cleanup(Node&) override {
    hands_.clear();
    samples_.clear();
  }

 private:
  /// Decodes it once, as a whole: what is broken anywhere is known before anything is timed.
  void keep(std::vector<unsigned char> stored, const std::string& name) {
    decode::SampleDecoder& decoder = hands_.front().decoder;
    Sample sample{.stored = std::move(stored)};
    if (decoder.run_whole(sample.stored, sample.pixels)) {
      samples_.push_back(std::move(sample));
      return;
    }
    refuse(fmt::format("{} at offset {}: {}", name, decoder.error().offset, decoder.error().what.data()));
  }

  void refuse(const std::string& what) {
    if (!skip_) throw RunError("decode " + what + "; on_error: skip leaves such samples out and counts them");
    if (bad_count_++ < kNamed) bad_.push_back(what);
  }

  void load(Node& node, const DataProgress& progress) {
    data_ = DataSet::open({.path = path_}, node, progress);
    const FileTable& files = data_->files();
    std::uint64_t held = 0;
    left_ = 0;
    // Data sets leave such files out; of samples they are bad ones.
    for (const std::string& name : data_->empty_files()) refuse(files.root() + "/" + name + ": the file is empty");
    not_read_ = data_->left_out();
    for (std::uint32_t i = 0; i < files.count(); ++i) {
      if (i > 0 && held + files.size(i) > memory_) {
        left_ = files.count() - i;
        break;
      }
      held += files.size(i);
      const system::UniqueFd file(::openat(files.root_fd(), files.path(i), O_RDONLY | O_CLOEXEC));
      if (file.get() < 0) throw system_error("open", files.full_path(i), errno);
      std::vector<unsigned char> stored(files.size(i));
      for (std::size_t got = 0; got < stored.size();) {
        const ssize_t n = ::pread(file.get(), stored.data() + got, stored.size() - got, static_cast<off_t>(got));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw system_error("read", files.full_path(i), got, errno);
        if (n == 0) stored.resize(got);
        got += static_cast<std::size_t>(n);
      }
      keep(std::move(stored), files.full_path(i));
    }
    data_.reset();
  }

  void draw(const Codec& codec) {
    const int quality = static_cast<int>(quality_);
    const std::uint32_t width =
        sample_size_ > 0 ? decode::width_for(codec, sample_size_, quality) : static_cast<std::uint32_t>(width_);
    for (std::uint64_t i = 0; i < images_; ++i)
      keep(decode::draw_sample(codec, i, width, quality), fmt::format("image {}", i));
  }

  std::string codec_, path_;
  std::uint64_t images_, width_, sample_size_, quality_, memory_;
  unsigned workers_;
  std::uint64_t passes_;
  std::uint32_t output_;
  bool random_, scaling_;
  std::uint64_t limit_;
  bool skip_;
  std::shared_ptr<DataSet> data_;
  std::vector<Sample> samples_;
  std::vector<Hand> hands_;
  std::vector<std::string> bad_;
  std::uint64_t bad_count_ = 0, left_ = 0;
  std::vector<std::pair<std::string, std::uint64_t>> not_read_;  // files that are no samples, by why
  mutable std::vector<double> cpu_times_s_;                      // of each repetition
};

const Register<Decode> registered{"decode", "images decoded, cut, resized and normalized: a loader's processor time"};
}  // namespace
