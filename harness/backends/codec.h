// Stored samples made into pixels or bytes: the interface that the libraries of image and compression formats implement.
// One decoder per worker thread. A sample that is wrong gives an error with its place, and the next one is decoded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace headrace {

/// An error of one sample, and how many of its bytes were taken before it was found. No allocation: it is filled where
/// samples are decoded.
struct DecodeError {
  std::uint64_t offset = 0;
  std::array<char, 160> what{};
  bool other_image = false;  // of a format that no codec decodes: nothing is wrong with the sample

  /// False, for its caller to return.
  bool set(std::uint64_t at, std::string_view text) noexcept {
    offset = at;
    other_image = false;
    const std::size_t length = std::min(text.size(), what.size() - 1);
    std::memcpy(what.data(), text.data(), length);
    what[length] = 0;
    return false;
  }
};

/// [pixels].
struct ImageSize {
  std::uint32_t width = 0, height = 0;
  std::uint64_t pixels() const noexcept { return std::uint64_t{width} * height; }
  bool operator==(const ImageSize&) const = default;
};

/// A part of an image [pixels].
struct Region {
  std::uint32_t x = 0, y = 0, width = 0, height = 0;
  bool operator==(const Region&) const = default;
};

/// Interleaved RGB of 8 bits a channel; row y begins at data + y * stride.
struct Pixels {
  const unsigned char* data = nullptr;
  std::size_t stride = 0;
  std::uint32_t width = 0, height = 0;
};

/// Refused before memory is taken for it: an image or frame of few bytes may claim to be huge.
struct DecodeLimits {
  std::uint64_t pixels = 178'956'970;  // where Pillow 9.4 refuses: twice its MAX_IMAGE_PIXELS
  std::uint64_t bytes = std::uint64_t{1} << 30;

  /// The limit for unpacking a file of `size` bytes: 1,024 times its size, deflate's maximum, and at least 256 MiB.
  std::uint64_t unpacked(std::uint64_t size) const noexcept {
    return std::min(bytes, std::max(std::uint64_t{256} << 20, 1024 * std::min(size, bytes)));
  }
};

class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  /// Reads the head of `file`, which stays where it is until decode() has returned.
  virtual bool open(std::span<const unsigned char> file, ImageSize& size, DecodeError& error) noexcept = 0;
  /// Once after open(): the pixels of `region`. `scale`: 1; or 2, 4, 8 where scales(). Each side of the image is then
  /// divided by it and rounded up. `region` is a part of that image. Bytes behind the region are not looked at.
  /// `pixels` are valid until the next open().
  virtual bool decode(const Region& region, unsigned scale, Pixels& pixels, DecodeError& error) noexcept = 0;
  /// Can it leave out what a smaller image does not show, before it makes pixels?
  virtual bool scales() const noexcept { return false; }
};

class ByteDecoder {
 public:
  virtual ~ByteDecoder() = default;
  /// `bytes` are valid until the next call.
  virtual bool decode(std::span<const unsigned char> file, std::span<const unsigned char>& bytes,
                      DecodeError& error) noexcept = 0;
};

/// A format of samples; `codec:` in a configuration.
class Codec {
 public:
  virtual ~Codec() = default;
  /// Its files begin with one of them.
  virtual std::vector<std::string_view> beginnings() const = 0;
  /// nullptr where samples are no images; then there is a byte decoder.
  virtual std::unique_ptr<ImageDecoder> image_decoder(const DecodeLimits&) const { return nullptr; }
  virtual std::unique_ptr<ByteDecoder> byte_decoder(const DecodeLimits&) const { return nullptr; }
  /// A sample made of an image. `quality`: 1..100, where the format loses something. Throws RunError.
  virtual std::vector<unsigned char> encode(const Pixels&, int /*quality*/) const { return {}; }
  virtual std::vector<unsigned char> encode(std::span<const unsigned char> /*bytes*/) const { return {}; }
};

}  // namespace headrace
