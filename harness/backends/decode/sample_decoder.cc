#include "harness/backends/decode/sample_decoder.h"

#include <algorithm>

namespace headrace::decode {

SampleDecoder::SampleDecoder(const Codec& codec, const Recipe& recipe)
    : recipe_(recipe), images_(codec.image_decoder(recipe.limits)), frames_(codec.byte_decoder(recipe.limits)) {
  if (recipe.output == 0) return;
  resizer_.emplace(recipe.output);
  out_.resize(std::size_t{3} * recipe.output * recipe.output);
}

bool SampleDecoder::run(std::span<const unsigned char> stored, Random& random, std::uint64_t& pixels) noexcept {
  if (frames_) return decode_frame(stored, pixels);
  ImageSize size;
  if (!images_->open(stored, size, error_)) return false;
  pixels = size.pixels();
  Region part{0, 0, size.width, size.height};
  if (recipe_.random_part) part = random_part(size, random);
  const unsigned scale = scale_of(part);
  const auto end = [scale](std::uint32_t at) { return (at + scale - 1) / scale; };
  const Region scaled{part.x / scale, part.y / scale, end(part.x + part.width) - part.x / scale,
                      end(part.y + part.height) - part.y / scale};
  Pixels got;
  if (!images_->decode(scaled, scale, got, error_)) return false;
  if (resizer_) resizer_->run(got, random.next() & 1, out_.data());
  return true;
}

bool SampleDecoder::run_whole(std::span<const unsigned char> stored, std::uint64_t& pixels) noexcept {
  if (frames_) return decode_frame(stored, pixels);
  ImageSize size;
  Pixels got;
  if (!images_->open(stored, size, error_)) return false;
  pixels = size.pixels();
  return images_->decode({0, 0, size.width, size.height}, 1, got, error_);
}

bool SampleDecoder::decode_frame(std::span<const unsigned char> stored, std::uint64_t& bytes) noexcept {
  std::span<const unsigned char> decoded;
  if (!frames_->decode(stored, decoded, error_)) return false;
  bytes = decoded.size();
  return true;
}

unsigned SampleDecoder::scale_of(const Region& part) const noexcept {
  unsigned scale = 1;
  if (!recipe_.scaling || !images_->scales()) return scale;
  while (scale < 8 && std::min(part.width, part.height) >= 2 * scale * recipe_.output) scale *= 2;
  return scale;
}

}  // namespace headrace::decode
