// Parts, resizing and the fit of costs against values that are known.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "harness/backends/decode/augment.h"
#include "harness/backends/decode/cost_fit.h"
#include "harness/backends/decode/drawn_sample.h"
#include "harness/backends/decode/sample_decoder.h"
#include "harness/backends/loader.h"
#include "tests/unit/temporary_folder.h"
#include "tests/unit/workload_runner.h"

namespace headrace::decode::decode_test {
namespace {

TEST(RandomPart, LiesInTheImageAndHasTorchvisionsSizes) {
  Random random(3);
  double area = 0;
  for (int i = 0; i < 2000; ++i) {
    const Region part = random_part({500, 375}, random);
    ASSERT_LE(part.x + part.width, 500u);
    ASSERT_LE(part.y + part.height, 375u);
    ASSERT_GT(part.width * part.height, 0u);
    EXPECT_NEAR(std::log(1.0 * part.width / part.height), 0, std::log(4.0 / 3) + 0.03);
    area += part.width * part.height / (500.0 * 375);
  }
  // Mean of 20,000 draws by torchvision 0.14: large parts often do not fit, and are drawn again.
  EXPECT_NEAR(area / 2000, 0.4348, 0.02);
}

TEST(RandomPart, ATooNarrowImageGivesItsMiddle) {
  Random random(3);
  EXPECT_EQ(random_part({1000, 10}, random), (Region{493, 0, 13, 10}));
}

double value(float normalized, unsigned channel) {
  constexpr double kMean[] = {0.485, 0.456, 0.406}, kDeviation[] = {0.229, 0.224, 0.225};
  return 255 * (normalized * kDeviation[channel] + kMean[channel]);
}

TEST(Resizer, KeepsAndFlipsImagesOfTheRightSize) {
  std::vector<unsigned char> rgb(3 * 4 * 4);
  for (std::size_t i = 0; i < rgb.size(); ++i) rgb[i] = static_cast<unsigned char>(5 * i);
  std::vector<float> out(rgb.size());
  for (const bool flip : {false, true}) {
    Resizer(4).run({rgb.data(), 12, 4, 4}, flip, out.data());
    for (unsigned c = 0; c < 3; ++c)
      for (unsigned y = 0; y < 4; ++y)
        for (unsigned x = 0; x < 4; ++x)
          EXPECT_NEAR(value(out[(c * 4 + y) * 4 + x], c), rgb[y * 12 + 3 * (flip ? 3 - x : x) + c], 1e-3);
  }
}

TEST(Resizer, MakesSmallerByTriangles) {
  // Halved: weights 1, 3, 3, 1 over 8 of four neighbours, at the edges 3, 3, 1 over 7, as Pillow's BILINEAR.
  const std::vector<unsigned char> line{0, 0, 0, 80, 80, 80, 160, 160, 160, 240, 240, 240};
  std::vector<unsigned char> rgb;
  for (int y = 0; y < 4; ++y) rgb.insert(rgb.end(), line.begin(), line.end());
  std::vector<float> out(3 * 2 * 2);
  Resizer(2).run({rgb.data(), 12, 4, 4}, false, out.data());
  EXPECT_NEAR(value(out[0], 0), (3 * 0 + 3 * 80 + 160) / 7.0, 1e-3);
  EXPECT_NEAR(value(out[1], 0), (80 + 3 * 160 + 3 * 240) / 7.0, 1e-3);
}

TEST(CostFit, FindsTheParametersOfTheTimes) {
  std::vector<Cost> costs;
  for (int i = 1; i < 20; ++i) costs.push_back({.bytes = 1e4 * i, .pixels = 1e5 + 3e4 * (i % 5), .seconds = 0});
  for (Cost& c : costs) c.seconds = 6e-9 * c.bytes + 2e-9 * c.pixels;
  const auto fit = fit_costs(costs);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->per_byte, 6e-9, 1e-13);
  EXPECT_NEAR(fit->per_pixel, 2e-9, 1e-13);
  EXPECT_NEAR(fit->r2, 1, 1e-9);
  Random random(1);
  for (Cost& c : costs) c.seconds = 1e-3 * static_cast<double>(1 + random.below(100));
  EXPECT_LT(fit_costs(costs)->r2, 0.6);
}

TEST(CostFit, ReportsNothingOfImagesThatAreAlike) {
  std::vector<Cost> costs;
  for (int i = 1; i < 20; ++i) costs.push_back({.bytes = 1e4 * i, .pixels = 3e4 * i, .seconds = 1e-3 * i});
  EXPECT_FALSE(fit_costs(costs));
  EXPECT_FALSE(fit_costs(std::span(costs).first(2)));
}

using headrace::testing::TemporaryFolder;
using headrace::testing::WorkloadRunner;

/// Six JPEGs, of which one is cut in the middle.
void write_images(const std::string& folder) {
  Backends backends;
  std::filesystem::create_directory(folder);
  for (std::uint32_t i = 0; i < 6; ++i) {
    const std::uint32_t width = 64 + 16 * (i % 3), height = 48 + 20 * (i / 2);
    std::vector<unsigned char> rgb(3 * width * height);
    Random random(i);
    for (auto& value : rgb) value = static_cast<unsigned char>(random.next());
    const auto file = backends.codec("jpeg").encode({rgb.data(), 3 * width, width, height}, 80);
    std::ofstream(folder + "/" + std::to_string(i) + ".jpg", std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(i == 3 ? file.size() / 2 : file.size()));
  }
}

class DecodeWorkload : public ::testing::Test {
 protected:
  void SetUp() override {
    Backends backends;
    if (const std::string why = backends.why_not("jpeg"); !why.empty()) GTEST_SKIP() << why;
    write_images(images_);
  }
  TemporaryFolder folder_;
  const std::string images_ = folder_ / "images";
};

TEST_F(DecodeWorkload, NamesTheSampleThatIsBroken) {
  WorkloadRunner decode("decode", "{path: " + images_ + "}");
  try {
    decode.prepare();
    FAIL() << "a truncated file was taken";
  } catch (const RunError& e) {
    EXPECT_NE(std::string(e.what()).find("3.jpg at offset "), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("Premature end of JPEG file"), std::string::npos) << e.what();
  }
}

TEST_F(DecodeWorkload, CountsItWhereItIsToBeLeftOut) {
  WorkloadRunner decode("decode", "{path: " + images_ + ", on_error: skip, workers: 2, passes: 3}");
  decode.prepare();
  const Repetition repetition = decode.repeat();
  EXPECT_EQ(repetition.phases.front().operations, 15u);
  EXPECT_EQ(repetition.phases.front().errors, 0u);
  EXPECT_EQ(decode.metrics.at("bad_samples"), 1);
  EXPECT_GT(decode.metrics.at("cpu_time_per_sample"), 0);
  EXPECT_NEAR(decode.metrics.at("rate_per_core") * decode.metrics.at("cpu_time_per_sample"), 1, 1e-9);
  EXPECT_NE(decode->notes().front().find("3.jpg at offset"), std::string::npos);
}

TEST_F(DecodeWorkload, RefusesImagesBeyondTheLimit) {
  WorkloadRunner decode("decode", "{path: " + images_ + ", on_error: skip, most_pixels: 100}");
  EXPECT_THROW(decode.prepare(), RunError);  // none is left
}

TEST_F(DecodeWorkload, DrawsSamplesOfTheSizeThatIsAskedFor) {
  Backends backends;
  const Codec& codec = backends.codec("jpeg");
  for (const std::uint64_t bytes : {20'000u, 120'000u}) {
    const std::uint32_t width = width_for(codec, bytes, 90);
    double all = 0;
    for (std::uint64_t i = 0; i < 16; ++i) all += static_cast<double>(draw_sample(codec, i, width, 90).size());
    EXPECT_NEAR(all / 16, static_cast<double>(bytes), 0.2 * static_cast<double>(bytes));
  }
}

TEST_F(DecodeWorkload, LooksAtThePartOnlyUnlessAskedForAll) {
  Backends backends;
  auto stored = draw_sample(backends.codec("jpeg"), 1, 400, 90);
  stored.resize(stored.size() * 9 / 10);
  SampleDecoder decoder({&backends.codec("jpeg")}, {.output = 32, .random_part = true, .scaling = false, .limits = {}});
  std::uint64_t pixels = 0;
  EXPECT_FALSE(decoder.run_whole(stored, pixels));
  EXPECT_GT(decoder.error().offset, stored.size() / 2);
  Random random(1);
  unsigned good = 0;
  for (int i = 0; i < 50; ++i) good += decoder.run(stored, random, pixels);
  EXPECT_GT(good, 10u) << "parts above the cut";
  EXPECT_LT(good, 50u) << "parts that reach below it";
}

}  // namespace
}  // namespace headrace::decode::decode_test
