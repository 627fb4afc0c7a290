// gpu_decode, and copies of an input pipeline's batches, on GPUs that are the host.
#include <algorithm>
#include <map>

#include "harness/backends/codec.h"
#include "tests/unit/gpu_run.h"

namespace headrace::gpu_decode_test {
namespace {

struct GpuDecoding : testing::GpuRun {
  void SetUp() override {
    GpuRun::SetUp();
    if (const std::string why = node.backends().why_not("jpeg"); !why.empty()) GTEST_SKIP() << why;
    const Codec* codec = &node.backends().codec("jpeg");
    settings.gpus.front().jpeg = [codec, this](GpuImage& image) {
      const auto decoder = codec->image_decoder({});
      ImageSize size;
      DecodeError error;
      Pixels pixels;
      if (!decoder->open(image.stored, size, error)) return false;
      image.width = size.width;
      image.height = size.height;
      if (image.to == nullptr) return true;
      if (!decoder->decode({0, 0, size.width, size.height}, 1, pixels, error)) return false;
      for (std::uint32_t y = 0; y < size.height; ++y)
        for (std::uint32_t x = 0; x < 3 * size.width; ++x)
          image.to[y * 3 * size.width + x] =
              static_cast<unsigned char>(pixels.data[y * pixels.stride + x] + (wrong ? 64 : 0));
      return true;
    };
  }
  bool wrong = false;
};

TEST_F(GpuDecoding, ReportsImagesPerSecondOfEachGpu) {
  settings.gpus.push_back(settings.gpus.front());
  settings.gpus.back().image_ns = 2'000'000;
  const PointResult p = run_one("use: gpu_decode, images: 3, width: 64, batch: 4, passes: 4, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  // The times are what the GPUs take at least; the host's clock sees them.
  EXPECT_LE(metric(p, "image_rate_gpu0"), 1000);
  EXPECT_LE(metric(p, "image_rate"), 500);
  EXPECT_EQ(metric(p, "image_rate"), metric(p, "image_rate_gpu1"));
  EXPECT_GE(metric(p, "batch_time_s"), 0.008);
  EXPECT_EQ(metric(p, "bad_samples"), 0);
  EXPECT_EQ(p.repetitions.front().phases.front().operations, 2u * 12);
  EXPECT_TRUE(noted(p, "not by its own decoders: no decoders"));
  EXPECT_TRUE(noted(p, "decoded by by the test"));
  EXPECT_TRUE(p.wrong_blocks.empty());
  EXPECT_EQ(gpus->objects(), 0);
}

/// However many images there are and however large a batch is: a first look decodes each of them once, and no more.
TEST_F(GpuDecoding, EachImageComesAsOftenAsAnyOther) {
  settings.gpus.front().image_ns = 0;
  std::map<const unsigned char*, unsigned> times;
  const auto jpeg = settings.gpus.front().jpeg;
  settings.gpus.front().jpeg = [&](GpuImage& image) {
    if (image.to != nullptr) ++times[image.stored.data()];
    return jpeg(image);
  };
  const PointResult p = run_one("use: gpu_decode, images: 61, width: 64, batch: 64, passes: 1, by: cuda, verify: true");
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_TRUE(p.wrong_blocks.empty());
  ASSERT_EQ(times.size(), 61u);
  unsigned least = times.begin()->second, most = 0, all = 0;
  for (const auto& [image, count] : times) {
    least = std::min(least, count);
    most = std::max(most, count);
    all += count;
  }
  // Of a batch of 64 three come twice.
  const auto batches = static_cast<unsigned>(2 + 2 * (p.repetitions.size() + 1));
  EXPECT_LE(all, 64 * batches);
  EXPECT_LE(most - least, batches);
}

TEST_F(GpuDecoding, ItsOwnDecodersComeFirst) {
  settings.gpus.front().no_hardware = "";
  const PointResult p = run_one("use: gpu_decode, images: 2, width: 64, batch: 2, passes: 1");
  EXPECT_TRUE(noted(p, "decoded by by the test's decoders"));
  const PointResult other = run_one("use: gpu_decode, images: 2, width: 64, batch: 2, passes: 1, by: cuda");
  EXPECT_FALSE(noted(other, "the test's decoders"));
}

TEST_F(GpuDecoding, HardwareThatIsAskedForAndNotThereIsNoResult) {
  const PointResult p = run_one("use: gpu_decode, images: 2, width: 64, batch: 2, by: hardware");
  EXPECT_NE(p.status, PointStatus::ok);
  EXPECT_NE(p.reason.find("no decoders"), std::string::npos) << p.reason;
}

TEST_F(GpuDecoding, WrongPixelsAreFound) {
  wrong = true;
  const PointResult p = run_one("use: gpu_decode, images: 2, width: 64, batch: 2, passes: 1, verify: true");
  ASSERT_FALSE(p.wrong_blocks.empty());
  EXPECT_NE(p.wrong_blocks.front().why.find("pixels differ from jpeg's"), std::string::npos);
}

TEST_F(GpuDecoding, AnInvalidImageIsLeftOutOrEndsIt) {
  const Codec& codec = node.backends().codec("jpeg");
  const std::vector<unsigned char> rgb(3 * 64 * 48, 90);
  const auto image = codec.encode({rgb.data(), 3 * 64, 64, 48}, 90);
  folder.write("mine/a.jpg", std::string(image.begin(), image.end()));
  folder.write("mine/b.jpg", "no image at all");
  const std::string entry = "use: gpu_decode, path: " + (folder / "mine") + ", batch: 2, passes: 1";
  const PointResult ended = run_one(entry);
  EXPECT_EQ(ended.status, PointStatus::error);
  EXPECT_NE(ended.reason.find("b.jpg"), std::string::npos) << ended.reason;
  const PointResult left_out = run_one(entry + ", on_error: skip");
  ASSERT_EQ(left_out.status, PointStatus::ok) << left_out.reason;
  EXPECT_EQ(metric(left_out, "bad_samples"), 1);
}

struct BatchesToGpus : testing::GpuRun {
  static constexpr const char* kPipeline =
      "use: input_pipeline, source: none, gpus: 2, workers: 2, batch_size: 10, step_time: 4ms, gpu_copy: 1MB, "
      "duration: 300ms, file_size: 4kB, files: 4000";
};

TEST_F(BatchesToGpus, EachIsCopiedAndItsTimeIsReported) {
  settings.gpus.front().h2d = 10e9;  // a batch of 10 MB in 1 ms
  settings.gpus.push_back(settings.gpus.front());
  const PointResult p = run_one(kPipeline);
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_GE(metric(p, "copy_time_s"), 1e-3 - 1e-6);
  EXPECT_GT(metric(p, "copy_fraction"), 0);
  EXPECT_LE(metric(p, "accelerator_utilization"), 0.8 + 1e-6);
  EXPECT_TRUE(noted(p, "batches of 10.0 MB are copied from pinned memory to 2 GPUs"));
  EXPECT_GT(gpus->copies(0), 3u);
  EXPECT_EQ(gpus->objects(), 0);
  EXPECT_EQ(gpus->pinned_bytes(), 0u);
}

TEST_F(BatchesToGpus, EmulatedGpusShareTheRealOnes) {
  const PointResult p = run_one(kPipeline);
  EXPECT_TRUE(noted(p, "to 1 GPU, before each computes; 2 emulated ones share them"));
  EXPECT_TRUE(has(p, "copy_fraction"));
}

TEST_F(BatchesToGpus, AGpuThatIsLostEndsIt) {
  settings.gpus.front().lost_after = 10;
  const PointResult p = run_one(kPipeline);
  EXPECT_EQ(p.status, PointStatus::error);
  EXPECT_NE(p.reason.find("the GPU has fallen off the bus"), std::string::npos) << p.reason;
}

TEST_F(BatchesToGpus, WithoutAGpuThePipelineRunsAndSaysSo) {
  settings.unusable = "libcuda.so.1 not found: no NVIDIA driver";
  const PointResult p = run_one(kPipeline);
  ASSERT_EQ(p.status, PointStatus::ok) << p.reason;
  EXPECT_TRUE(noted(p, "no batch is copied to a GPU: cuda: libcuda.so.1 not found"));
  EXPECT_FALSE(has(p, "copy_fraction"));
}

}  // namespace
}  // namespace headrace::gpu_decode_test
