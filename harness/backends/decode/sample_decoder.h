// A stored sample made into a training job's input: one worker's decoder, and the steps after it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "harness/backends/codec.h"
#include "harness/backends/decode/augment.h"
#include "harness/base/random.h"

namespace headrace::decode {

/// The processing of each image; other samples are only decoded.
struct Recipe {
  std::uint32_t output = 224;  // side of the square that it is resized to [pixels]; 0: it is only decoded
  bool random_part = true;     // a part as random_part() draws it; else the whole image
  bool scaling = false;        // decoded at 1/2, 1/4 or 1/8 where that is no smaller than output: not the same pixels
  DecodeLimits limits{};
};

/// For one worker.
class SampleDecoder {
 public:
  /// `codecs`: the data's own, and others of images, for samples that begin as their files do, under any name.
  SampleDecoder(const std::vector<const Codec*>& codecs, const Recipe& recipe);
  /// `pixels`: of the stored image, or decoded bytes where it is no image. False: error() gives the reason.
  bool run(std::span<const unsigned char> stored, Random& random, std::uint64_t& pixels) noexcept;
  /// All of it and nothing more: finds an error anywhere.
  bool run_whole(std::span<const unsigned char> stored, std::uint64_t& pixels) noexcept;
  const DecodeError& error() const noexcept { return error_; }
  /// Are samples images?
  bool images() const noexcept { return frames_ == nullptr; }
  /// Samples of other codecs than the data's own that were decoded.
  std::uint64_t of_others() const noexcept { return of_others_; }

 private:
  struct Images {
    std::unique_ptr<ImageDecoder> decoder;
    std::vector<std::string_view> beginnings;
  };
  /// By its first bytes.
  ImageDecoder& decoder_for(std::span<const unsigned char> stored) noexcept;
  bool open(ImageDecoder& images, std::span<const unsigned char> stored, ImageSize& size) noexcept;
  unsigned scale_of(const ImageDecoder& images, const Region& part) const noexcept;
  bool decode_frame(std::span<const unsigned char> stored, std::uint64_t& bytes) noexcept;

  const Recipe recipe_;
  std::vector<Images> images_;  // that of the data first
  std::unique_ptr<ByteDecoder> frames_;
  std::optional<Resizer> resizer_;
  std::vector<float> out_;
  DecodeError error_;
  std::uint64_t of_others_ = 0;
};

}  // namespace headrace::decode
