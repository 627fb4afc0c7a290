// gpu_decode - JPEG images in host memory, decoded by every GPU at once, batch by batch. That saves processors the work
// when a job's loader decodes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>

#include "harness/backends/buffers.h"
#include "harness/backends/loader.h"
#include "harness/workload/data/held_samples.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/gpu/gpus.h"

namespace {
using namespace headrace;

constexpr std::array kGpuDecodeMetrics{
    Metric{"image_rate", "1/s", Better::higher, "Images per second that a GPU decodes, the slowest one's",
           /*per_device=*/true},
    Metric{"node_image_rate", "1/s", Better::higher, "All GPUs at once: images of all over the time of the slowest"},
    Metric{"batch_time_s", "s", Better::lower, "Of one batch, until its pixels are there, the slowest GPU's mean"},
    Metric{"stored_bandwidth", "B/s", Better::higher, "Stored bytes decoded per second, by all GPUs"},
    Metric{"cpu_time_per_image", "s", Better::lower, "Processor time of this process for one image"},
    Metric{"bad_samples", "count", Better::lower, "Images that cannot be decoded, and are left out"},
    gpu::kErrorCount,
};

constexpr double kMostDifference = 8;  // of 255, in the mean: decoders round and smooth colours each in its own way

/// How many images per second do GPUs decode, and what is left to the processors?
class GpuDecode final : public gpu::WatchedGpus {
 public:
  explicit GpuDecode(Params& p)
      : held_(p),
        by_(p.choice("by", "auto", {"auto", "hardware", "cuda"},
                     "hardware: decoders of the GPU, which take baseline images alone; cuda: its multiprocessors and "
                     "host threads; auto: the first that takes all images")),
        batch_(static_cast<unsigned>(p.count("batch", 64, {.min = 1, .max = 4096}, "images that are decoded at once"))),
        threads_(
            static_cast<unsigned>(p.count("host_threads", 1, {.min = 1, .max = 256}, "of each GPU, for by: cuda"))),
        passes_(p.count("passes", 4, {.min = 1}, "times that each GPU decodes each image in a repetition")) {}

  static std::span<const Metric> metrics() { return kGpuDecodeMetrics; }
  std::optional<Skip> check(Node& node) override {
    if (auto skip = gpu::check_gpus(node, 0)) return skip;
    if (const std::string why = node.backends().why_not(kCodec); !why.empty()) return Skip{why};
    return std::nullopt;
  }
  unsigned workers() const override { return std::max<unsigned>(1, static_cast<unsigned>(watch_.names().size())); }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = held_.memory_bytes();
    return f;  // as long as its images take
  }

  void prepare(Node& node, const DataProgress& progress) override {
    GpuBackend& backend = node.backends().gpu();
    codec_ = &node.backends().codec(kCodec);
    decode::SampleDecoder whole({codec_}, {.output = 0, .random_part = false, .scaling = false});
    held_.hold(node, progress, *codec_, whole);
    watch_.open(backend);
    lanes_.clear();
    why_.clear();
    for (unsigned i = 0; i < backend.count(); ++i) open(backend.gpu(i), i);
  }
  void before_phase(unsigned, unsigned, std::uint64_t) override {
    watch_.begin();
    for (auto& lane : lanes_) lane->images = lane->batches = lane->bytes = lane->took_ns = 0;
  }
  void before_run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    lane.stream->attach();
    lane.decoder->decode(lane.next());  // parts that are set up on first use
    lane.stream->wait();
    watch_.under_load(worker.index);
    lane.at = 0;
  }

  void run(Worker& worker) override {
    Lane& lane = *lanes_[worker.index];
    const std::uint64_t batches = (passes_ * lane.all.size() + batch_ - 1) / batch_;
    for (std::uint64_t i = 0; i < batches && worker.recorder.running(); ++i) {
      const std::uint64_t begin = now_ns();
      const std::span<const GpuImage> batch = lane.next();
      lane.decoder->decode(batch);
      lane.stream->wait();
      const std::uint64_t end = now_ns();
      std::uint64_t bytes = 0;
      for (const GpuImage& image : batch) bytes += image.stored.size();
      worker.recorder.ops(begin, end, batch_, bytes);
      lane.took_ns += end - begin;
      lane.images += batch_;
      lane.bytes += bytes;
      ++lane.batches;
    }
  }

  void report(const Repetition& repetition, MetricSink& sink) const override {
    sink.put("bad_samples", static_cast<double>(held_.bad()));
    double slowest = INFINITY, longest_s = 0, images = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const Lane& lane = *lanes_[i];
      if (lane.batches == 0) return;  // stopped before this one had a batch
      const double time_s = 1e-9 * static_cast<double>(lane.took_ns);
      const double rate = static_cast<double>(lane.images) / time_s;
      sink.put(device_metric("image_rate", watch_.names()[i]), rate);
      slowest = std::min(slowest, rate);
      longest_s = std::max(longest_s, time_s / static_cast<double>(lane.batches));
      images += static_cast<double>(lane.images);
    }
    const PhaseResult& phase = repetition.phases.front();
    sink.put("image_rate", slowest);
    sink.put("node_image_rate", phase.operations_per_s());
    sink.put("batch_time_s", longest_s);
    sink.put("stored_bandwidth", phase.bytes_per_s());
    sink.put("cpu_time_per_image", phase.cpu_s / images);
    watch_.put_errors(sink);
  }

  /// The pixels of the last batch of each GPU, compared with those of the codec.
  std::vector<WrongBlock> verify(const DataProgress&) override {
    std::vector<WrongBlock> wrong;
    const auto decoder = codec_->image_decoder({});
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      Lane& lane = *lanes_[i];
      lane.stream->attach();
      lane.decoder->decode(lane.next());
      lane.stream->wait();
      const auto back = lane.gpu->pinned(lane.device->size(), false);
      lane.stream->copy(back->begin(), lane.device->begin(), lane.device->size(), CopyKind::d2h);
      lane.stream->wait();
      for (const GpuImage& image : lane.batch) {
        const double differs = difference(*decoder, image, back->begin() + (image.to - lane.device->begin()));
        if (differs <= kMostDifference) continue;
        wrong.push_back({.file = watch_.names()[i],
                         .offset = static_cast<std::uint64_t>(image.to - lane.device->begin()),
                         .why = fmt::format("pixels differ from {}'s by {:.0f} of 255 in the mean", kCodec, differs)});
      }
    }
    return wrong;
  }
  std::vector<std::string> notes() override {
    std::vector<std::string> notes = watch_.notes();
    held_.report(notes);
    for (std::string& why : why_) notes.push_back(std::move(why));
    why_.clear();
    if (!lanes_.empty()) notes.push_back("decoded by " + lanes_.front()->decoder->library());
    return notes;
  }
  void cleanup(Node&) override {
    lanes_.clear();
    held_.clear();
  }

 private:
  static constexpr const char* kCodec = "jpeg";

  /// One GPU.
  struct Lane {
    Gpu* gpu = nullptr;
    std::unique_ptr<GpuStream> stream;
    std::unique_ptr<GpuMemory> device;                              // goes after the decoder, which writes there
    std::unique_ptr<GpuImageDecoder> decoder;                       // goes before the stream
    std::vector<GpuImage> all, batch;                               // the images, and those that are decoded at once
    std::size_t at = 0;                                             // the image that comes next
    std::uint64_t room = 0;                                         // of one image's pixels [B]
    std::uint64_t images = 0, batches = 0, bytes = 0, took_ns = 0;  // of one repetition
    /// As many as a batch holds, in turn: each image comes as often as any other.
    std::span<const GpuImage> next() noexcept {
      for (std::size_t i = 0; i < batch.size(); ++i) {
        batch[i] = all[(at + i) % all.size()];
        batch[i].to = device->begin() + i * room;
      }
      at = (at + batch.size()) % all.size();
      return batch;
    }
  };

  void open(Gpu& gpu, unsigned index) {
    auto lane = std::make_unique<Lane>();
    lane->gpu = &gpu;
    lane->stream = gpu.stream();
    for (const bool hardware : {true, false}) {
      if (by_ == (hardware ? "cuda" : "hardware")) continue;
      try {
        lane->decoder.reset();
        lane->decoder = gpu.image_decoder(*lane->stream, batch_, threads_, hardware);
        place(*lane, index);
        // Some kinds of images are only refused when they are decoded.
        lane->stream->attach();
        for (std::size_t done = 0; done < lane->all.size(); done += batch_) lane->decoder->decode(lane->next());
        lane->stream->wait();
        break;
      } catch (const RunError& e) {
        if (!hardware || by_ != "auto") throw;
        lane->stream->wait();  // work queued before still writes
        why_.push_back(fmt::format("{}: not by its own decoders: {}", gpu::gpu_name(index), e.what()));
      }
    }
    lanes_.push_back(std::move(lane));
  }

  /// Memory for the pixels of a batch, and which images go into each. Images that the library refuses are left out.
  void place(Lane& lane, unsigned index) {
    lane.all.clear();
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < held_.all().size();) {
      GpuImage image{.stored = held_.all()[i].stored};
      if (const std::string why = lane.decoder->size(image); !why.empty()) {
        // What other GPUs' batches are made of stays.
        if (index > 0) throw RunError(gpu::gpu_name(index) + " cannot decode what gpu0 can: " + why);
        held_.leave_out(i, gpu::gpu_name(index) + " cannot decode it: " + why);
        continue;
      }
      largest = std::max(largest, std::uint64_t{3} * image.width * image.height);
      lane.all.push_back(image);
      ++i;
    }
    lane.room = round_up(largest, 256);
    lane.device.reset();  // of another decoder
    lane.device = lane.gpu->allocate(lane.room * batch_);
    lane.batch.resize(batch_);
    lane.at = 0;
  }

  /// The mean over all pixels and colours, of 255.
  static double difference(ImageDecoder& decoder, const GpuImage& image, const unsigned char* pixels) {
    ImageSize size;
    DecodeError error;
    Pixels right;
    if (!decoder.open(image.stored, size, error) || !decoder.decode({0, 0, size.width, size.height}, 1, right, error) ||
        size.width != image.width || size.height != image.height)
      return 255;
    double sum = 0;
    for (std::uint32_t y = 0; y < size.height; ++y)
      for (std::uint32_t x = 0; x < 3 * size.width; ++x)
        sum += std::abs(int{right.data[y * right.stride + x]} - int{pixels[std::size_t{y} * 3 * size.width + x]});
    return sum / (3.0 * static_cast<double>(size.pixels()));
  }

  HeldSamples held_;
  std::string by_;
  unsigned batch_, threads_;
  std::uint64_t passes_;
  const Codec* codec_ = nullptr;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::string> why_;  // GPUs that decode otherwise than they could
};

const Register<GpuDecode> registered_gpu_decode{
    "gpu_decode", "JPEG images decoded by GPUs, batch by batch: what it takes off the processors"};
}  // namespace
