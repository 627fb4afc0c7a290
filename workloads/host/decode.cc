// decode - samples in memory, decoded as a job's loader does: the cost of one, and the rate of all cores.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "harness/backends/decode/cost_fit.h"
#include "harness/backends/decode/sample_decoder.h"
#include "harness/backends/loader.h"
#include "harness/workload/data/held_samples.h"
#include "harness/workload/data/pipeline.h"
#include "harness/workload/workload.h"

namespace {
using namespace headrace;

constexpr std::array kDecodeMetrics{
    Metric{"image_rate", "1/s", Better::higher, "Samples decoded per second by all workers"},
    Metric{"rate_per_core", "1/s", Better::higher, "Samples per second of processor time, at this number of workers"},
    Metric{"cpu_time_per_sample", "s", Better::lower, "Processor time of one sample: dataset.cpu_time_per_sample"},
    Metric{"pixel_rate", "1/s", Better::higher,
           "Pixels of the stored images per second, also those that no part shows"},
    Metric{"stored_bandwidth", "B/s", Better::higher, "Stored bytes decoded per second"},
    Metric{"cost_per_byte", "s", Better::lower, "Fit of an image's processor time: a of a * bytes + b * pixels"},
    Metric{"cost_per_pixel", "s", Better::lower, "b of it"},
    Metric{"fit_r2", "ratio", Better::neither, "Share of the images' differences that the fit explains"},
    Metric{"bad_samples", "count", Better::lower, "Samples that cannot be decoded, and are left out"},
};

/// The state of one worker.
struct alignas(128) Hand {
  explicit Hand(decode::SampleDecoder made) : decoder(std::move(made)) {}
  decode::SampleDecoder decoder;
  std::vector<std::uint64_t> cpu_ns, times;  // of each sample
};

/// What does one sample cost, and how many per second do that many workers give?
class Decode final : public Workload {
 public:
  explicit Decode(Params& p)
      : codec_(p.choice("codec", "jpeg", known_codecs(), "format of the samples")),
        held_(p),
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
        limit_(p.count("most_pixels", DecodeLimits{}.pixels, {.min = 1}, "images of more are refused")) {}

  static std::span<const Metric> metrics() { return kDecodeMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (const std::string why = node.backends().why_not(codec_); !why.empty()) return Skip{why};
    return std::nullopt;
  }
  unsigned workers() const override { return workers_; }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = held_.memory_bytes();
    return f;
  }

  void prepare(Node& node, const DataProgress& progress) override {
    const Codec& codec = node.backends().codec(codec_);
    cpu_times_s_.clear();
    hands_.clear();
    hands_.reserve(workers_);
    for (unsigned i = 0; i < workers_; ++i)
      hands_.emplace_back(decode::SampleDecoder(
          node.backends().codecs(codec_),
          {.output = output_, .random_part = random_, .scaling = scaling_, .limits = DecodeLimits{.pixels = limit_}}));
    held_.hold(node, progress, codec, hands_.front().decoder);
    for (Hand& hand : hands_) hand.cpu_ns.resize(held_.all().size()), hand.times.resize(held_.all().size());
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
    for (std::uint64_t i = worker.index; i < passes_ * held_.all().size() && worker.recorder.running();
         i += worker.count) {
      const std::size_t number = i % held_.all().size();
      const HeldSamples::Sample& sample = held_.all()[number];
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
    for (std::size_t i = 0; i < held_.all().size(); ++i) {
      double own_s = 0, own = 0;
      for (const Hand& hand : hands_) {
        own_s += 1e-9 * static_cast<double>(hand.cpu_ns[i]);
        own += static_cast<double>(hand.times[i]);
      }
      if (own == 0) continue;
      cpu_s += own_s;
      times += own;
      pixels += own * static_cast<double>(held_.all()[i].pixels);
      costs.push_back({.bytes = static_cast<double>(held_.all()[i].stored.size()),
                       .pixels = static_cast<double>(held_.all()[i].pixels),
                       .seconds = own_s / own});
    }
    sink.put("bad_samples", static_cast<double>(held_.bad()));
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
    return "the samples are too few, or too similar, to separate the cost of bytes from that of pixels";
  }

  std::vector<std::string> notes() override {
    std::vector<std::string> notes;
    held_.report(notes);
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
    held_.clear();
  }

 private:
  std::string codec_;
  HeldSamples held_;
  unsigned workers_;
  std::uint64_t passes_;
  std::uint32_t output_;
  bool random_, scaling_;
  std::uint64_t limit_;
  std::vector<Hand> hands_;
  mutable std::vector<double> cpu_times_s_;  // of each repetition
};

const Register<Decode> registered_decode{"decode",
                                         "images decoded, cut, resized and normalized: a loader's processor time"};
}  // namespace
