// The codecs as every program meets them: real files made, decoded in part and whole, broken in every way.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "harness/backends/codec.h"
#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"
#include "harness/base/random.h"

namespace headrace::codecs_test {
namespace {

constexpr std::uint32_t kWidth = 200, kHeight = 150;

/// Smooth, with edges, and no two rows or columns alike.
std::vector<unsigned char> drawn() {
  std::vector<unsigned char> rgb;
  for (std::uint32_t y = 0; y < kHeight; ++y)
    for (std::uint32_t x = 0; x < kWidth; ++x)
      for (unsigned c = 0; c < 3; ++c)
        rgb.push_back(static_cast<unsigned char>(128 + 60 * std::sin(0.1 * x * (c + 1)) + 40 * std::cos(0.13 * y) +
                                                 ((x / 20 + y / 30) % 2 != 0 ? 20 : 0)));
  return rgb;
}

class Codecs : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string why = backends_.why_not(GetParam());
    if (why.find("not built") != std::string::npos) GTEST_SKIP() << why;
    ASSERT_EQ(why, "");
    codec_ = &backends_.codec(GetParam());
  }
  std::vector<unsigned char> file() const {
    const auto rgb = drawn();
    if (is_image()) return codec_->encode({rgb.data(), 3 * kWidth, kWidth, kHeight}, 90);
    return codec_->encode(rgb);
  }
  bool is_image() const { return codec_->byte_decoder({}) == nullptr; }
  /// All of the file decoded; empty = it failed, and error_ says why.
  std::vector<unsigned char> decoded(std::span<const unsigned char> file, const Region* part = nullptr,
                                     unsigned scale = 1, DecodeLimits limits = {}) {
    error_ = {};
    if (!is_image()) {
      std::span<const unsigned char> bytes;
      const auto decoder = codec_->byte_decoder(limits);
      if (!decoder->decode(file, bytes, error_)) return {};
      return {bytes.begin(), bytes.end()};
    }
    const auto decoder = codec_->image_decoder(limits);
    ImageSize size;
    Pixels pixels;
    if (!decoder->open(file, size, error_)) return {};
    const Region whole{0, 0, (size.width + scale - 1) / scale, (size.height + scale - 1) / scale};
    if (!decoder->decode(part ? *part : whole, scale, pixels, error_)) return {};
    std::vector<unsigned char> rgb;
    for (std::uint32_t y = 0; y < pixels.height; ++y)
      rgb.insert(rgb.end(), pixels.data + y * pixels.stride, pixels.data + y * pixels.stride + 3 * pixels.width);
    return rgb;
  }
  std::string what() const { return error_.what.data(); }

  Backends backends_;
  const Codec* codec_ = nullptr;
  DecodeError error_;
};

TEST_P(Codecs, RoundTripStoredBytes) {
  auto before = drawn();
  const auto after = decoded(file());
  if (std::string(GetParam()) == "npz") before.insert(before.begin(), after.begin(), after.begin() + 128);
  ASSERT_EQ(after.size(), before.size()) << what();
  if (std::string(GetParam()) != "jpeg") {
    EXPECT_EQ(after, before);
    return;
  }
  double off = 0;  // mean, as JPEG loses something
  for (std::size_t i = 0; i < before.size(); ++i) off += std::abs(before[i] - after[i]);
  EXPECT_LT(off / static_cast<double>(before.size()), 6);
  EXPECT_GT(off, 0);
}

TEST_P(Codecs, APartIsThatPartOfTheWhole) {
  if (!is_image()) GTEST_SKIP() << "a frame is unpacked as a whole";
  const auto data = file();
  const auto whole = decoded(data);
  ASSERT_EQ(whole.size(), drawn().size());
  Random random(5);
  for (int i = 0; i < 60; ++i) {
    Region part;
    part.width = static_cast<std::uint32_t>(1 + random.below(kWidth));
    part.height = static_cast<std::uint32_t>(1 + random.below(kHeight));
    part.x = static_cast<std::uint32_t>(random.below(kWidth - part.width + 1));
    part.y = static_cast<std::uint32_t>(random.below(kHeight - part.height + 1));
    const auto pixels = decoded(data, &part);
    ASSERT_EQ(pixels.size(), std::size_t{3} * part.width * part.height);
    for (std::uint32_t y = 0; y < part.height; ++y)
      for (std::uint32_t x = 0; x < 3 * part.width; ++x)
        ASSERT_EQ(pixels[std::size_t{3} * y * part.width + x],
                  whole[std::size_t{3} * (part.y + y) * kWidth + 3 * part.x + x])
            << part.x << "," << part.y << " " << part.width << "x" << part.height << " at " << x / 3 << "," << y;
  }
}

TEST_P(Codecs, SmallerImagesShowTheSame) {
  if (!is_image() || !codec_->image_decoder({})->scales()) GTEST_SKIP() << "it has one size";
  const auto data = file();
  const auto whole = decoded(data), half = decoded(data, nullptr, 2);
  ASSERT_EQ(half.size(), std::size_t{3} * (kWidth / 2) * (kHeight / 2)) << what();
  double off = 0;
  for (std::uint32_t y = 0; y < kHeight / 2; ++y)
    for (std::uint32_t x = 0; x < kWidth / 2; ++x) {
      const std::size_t at = std::size_t{3} * (2 * y * kWidth + 2 * x);
      const double mean = (whole[at] + whole[at + 3] + whole[at + 3 * kWidth] + whole[at + 3 * kWidth + 3]) / 4.0;
      off += std::abs(mean - half[std::size_t{3} * (y * (kWidth / 2) + x)]);
    }
  EXPECT_LT(off / (kWidth * kHeight / 4), 4);
}

TEST_P(Codecs, ReportWhereAFileEnds) {
  const auto data = file();
  ASSERT_GT(data.size(), 400u);
  const std::size_t end = data.size() * 2 / 3;
  EXPECT_TRUE(decoded({data.data(), end}).empty());
  EXPECT_GT(error_.offset, 100u);
  EXPECT_LE(error_.offset, end);
  EXPECT_NE(what(), "");
  EXPECT_TRUE(decoded({data.data(), 0}).empty());
  EXPECT_EQ(error_.offset, 0u);
  EXPECT_NE(what(), "");
}

TEST_P(Codecs, RefuseOtherFormats) {
  const std::string text = "no image, and no frame either";
  EXPECT_TRUE(decoded({reinterpret_cast<const unsigned char*>(text.data()), text.size()}).empty());
  EXPECT_NE(what(), "");
}

TEST_P(Codecs, RefuseMoreThanTheLimit) {
  const auto data = file();
  const std::uint64_t pixels = kWidth * kHeight;
  EXPECT_TRUE(decoded(data, nullptr, 1, {.pixels = pixels - 1, .bytes = 3 * pixels - 1}).empty());
  EXPECT_NE(
      what().find(is_image() ? "200 x 150 pixels, and no more than 29999 are decoded" : "it unpacks to more than "),
      std::string::npos)
      << what();
  const std::uint64_t header = std::string(GetParam()) == "npz" ? 128 : 0;  // of an array, which is a part of it
  EXPECT_FALSE(decoded(data, nullptr, 1, {.pixels = pixels, .bytes = 3 * pixels + header}).empty()) << what();
}

/// Broken anywhere, a file is an image or an error with a place in it; the decoder goes on with the next.
TEST_P(Codecs, NoBrokenByteDoesHarm) {
  const auto whole = file();
  Random random(7);
  std::unique_ptr<ImageDecoder> images = codec_->image_decoder({.pixels = 1 << 20});
  std::unique_ptr<ByteDecoder> frames = codec_->byte_decoder({.bytes = 1 << 22});
  unsigned failed = 0;
  for (int i = 0; i < 1500; ++i) {
    auto data = whole;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      data[random.below(i % 3 == 0 ? 700 : data.size())] = static_cast<unsigned char>(random.next());
    if (i % 5 == 0) data.resize(1 + random.below(data.size()));
    DecodeError error;
    ImageSize size;
    Pixels pixels;
    std::span<const unsigned char> bytes;
    bool good;
    if (images) {
      good = images->open(data, size, error) &&
             images->decode({size.width / 4, size.height / 4, (size.width + 1) / 2, (size.height + 1) / 2}, 1, pixels,
                            error);
    } else {
      good = frames->decode(data, bytes, error);
    }
    if (good) continue;
    ++failed;
    ASSERT_LE(error.offset, data.size());
    ASSERT_NE(error.what[0], 0);
  }
  EXPECT_GT(failed, 200u);
  DecodeError error;
  ImageSize size;
  if (images) {
    EXPECT_TRUE(images->open(whole, size, error));
    EXPECT_EQ(size, (ImageSize{kWidth, kHeight}));
  }
}

/// A frame of zstd of `blocks` blocks of 128 KiB zeros, four bytes each (RFC 8878, 3.1.1.2).
std::vector<unsigned char> frame_of_zeros(std::uint32_t blocks) {
  std::vector<unsigned char> frame{0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38};  // no size is stated; a window of 128 KiB
  for (std::uint32_t i = 1; i <= blocks; ++i) {
    const std::uint32_t header = (i == blocks ? 1u : 0u) | 1u << 1 | (128u << 10) << 3;
    for (const unsigned shift : {0u, 8u, 16u}) frame.push_back(static_cast<unsigned char>(header >> shift));
    frame.push_back(0);
  }
  return frame;
}

TEST(DecodeBounds, ASmallFileUnpacksToAtMost256MiB) {
  Backends backends;
  if (!backends.why_not("zstd").empty()) GTEST_SKIP() << backends.why_not("zstd");
  const auto decoder = backends.codec("zstd").byte_decoder({});
  std::span<const unsigned char> bytes;
  DecodeError error;
  ASSERT_TRUE(decoder->decode(frame_of_zeros(16), bytes, error)) << error.what.data();
  EXPECT_EQ(bytes.size(), 2u << 20);
  EXPECT_FALSE(decoder->decode(frame_of_zeros(2049), bytes, error));
  EXPECT_EQ(std::string(error.what.data()), "it unpacks to more than 268435456 bytes");
}

TEST(DecodeBounds, AreThoseOfDeflateAndOfTheLimit) {
  const DecodeLimits limits;
  EXPECT_EQ(limits.unpacked(0), 256u << 20);
  EXPECT_EQ(limits.unpacked(300 << 10), 300u << 20);
  EXPECT_EQ(limits.unpacked(std::uint64_t{1} << 40), limits.bytes);
}

INSTANTIATE_TEST_SUITE_P(, Codecs, ::testing::Values("jpeg", "png", "zstd", "npz"),
                         [](const auto& one) { return std::string(one.param); });

TEST(JpegCodec, RefusesAnImageThatSaysItIsHuge) {
  Backends backends;
  if (const std::string why = backends.why_not("jpeg"); !why.empty()) GTEST_SKIP() << why;
  const auto rgb = drawn();
  auto data = backends.codec("jpeg").encode({rgb.data(), 3 * kWidth, kWidth, kHeight}, 90);
  std::size_t at = 0;  // of the frame's head: FF C0, length, precision, height, width
  while (!(data[at] == 0xff && data[at + 1] == 0xc0)) ++at;
  for (const std::size_t i : {5, 7}) {
    data[at + i] = 0xff;
    data[at + i + 1] = 0xdc;
  }
  DecodeError error;
  ImageSize size;
  EXPECT_FALSE(backends.codec("jpeg").image_decoder({})->open(data, size, error));
  EXPECT_STREQ(error.what.data(), "65500 x 65500 pixels, and no more than 178956970 are decoded");
  EXPECT_GT(error.offset, at);
}

TEST(CodecsOfTheTable, AnotherNameIsRefused) {
  Backends backends;
  EXPECT_THROW(backends.codec("webp"), UsageError);
  EXPECT_THROW(backends.codec("posix"), UsageError);
}

}  // namespace
}  // namespace headrace::codecs_test
