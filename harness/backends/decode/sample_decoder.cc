#include "harness/backends/decode/sample_decoder.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include "harness/backends/formats/bad_sample.h"

namespace headrace::decode {

namespace {

bool begins(std::span<const unsigned char> bytes, std::string_view with) noexcept {
  return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
}

}  // namespace

SampleDecoder::SampleDecoder(const std::vector<const Codec*>& codecs, const Recipe& recipe)
    : recipe_(recipe), frames_(codecs.front()->byte_decoder(recipe.limits)) {
  for (const Codec* codec : codecs)
    if (auto decoder = codec->image_decoder(recipe.limits))
      images_.push_back({std::move(decoder), codec->beginnings()});
  if (recipe_.output == 0) return;
  resizer_.emplace(recipe.output);
  out_.resize(std::size_t{3} * recipe.output * recipe.output);
}

ImageDecoder& SampleDecoder::decoder_for(std::span<const unsigned char> stored) noexcept {
  for (std::size_t i = 0; i < images_.size(); ++i)
    for (const std::string_view one : images_[i].beginnings)
      if (begins(stored, one)) {
        of_others_ += i > 0;
        return *images_[i].decoder;
      }
  return *images_.front().decoder;
}

bool SampleDecoder::open(ImageDecoder& images, std::span<const unsigned char> stored, ImageSize& size) noexcept {
  if (images.open(stored, size, error_)) return true;
  if (const formats::Flaw format = formats::other_image(stored); format != formats::Flaw::none) {
    const std::string_view words = to_string(format);
    std::array<char, std::tuple_size_v<decltype(DecodeError::what)>> what{};
    std::snprintf(what.data(), what.size(), "%.*s: %.*s", static_cast<int>(words.size()), words.data(),
                  static_cast<int>(formats::kOtherImages.size()), formats::kOtherImages.data());
    error_.set(0, what.data());
    error_.other_image = true;
  }
  return false;
}

bool SampleDecoder::run(std::span<const unsigned char> stored, Random& random, std::uint64_t& pixels) noexcept {
  if (frames_) return decode_frame(stored, pixels);
  ImageSize size;
  ImageDecoder& images = decoder_for(stored);
  if (!open(images, stored, size)) return false;
  pixels = size.pixels();
  Region part{0, 0, size.width, size.height};
  if (recipe_.random_part) part = random_part(size, random);
  const unsigned scale = scale_of(images, part);
  const auto end = [scale](std::uint32_t at) { return (at + scale - 1) / scale; };
  const Region scaled{part.x / scale, part.y / scale, end(part.x + part.width) - part.x / scale,
                      end(part.y + part.height) - part.y / scale};
  Pixels got;
  if (!images.decode(scaled, scale, got, error_)) return false;
  if (resizer_) resizer_->run(got, random.next() & 1, out_.data());
  return true;
}

bool SampleDecoder::run_whole(std::span<const unsigned char> stored, std::uint64_t& pixels) noexcept {
  if (frames_) return decode_frame(stored, pixels);
  ImageSize size;
  Pixels got;
  ImageDecoder& images = decoder_for(stored);
  if (!open(images, stored, size)) return false;
  pixels = size.pixels();
  return images.decode({0, 0, size.width, size.height}, 1, got, error_);
}

bool SampleDecoder::decode_frame(std::span<const unsigned char> stored, std::uint64_t& bytes) noexcept {
  std::span<const unsigned char> decoded;
  if (!frames_->decode(stored, decoded, error_)) return false;
  bytes = decoded.size();
  return true;
}

unsigned SampleDecoder::scale_of(const ImageDecoder& images, const Region& part) const noexcept {
  unsigned scale = 1;
  if (!recipe_.scaling || !images.scales()) return scale;
  while (scale < 8 && std::min(part.width, part.height) >= 2 * scale * recipe_.output) scale *= 2;
  return scale;
}

}  // namespace headrace::decode
