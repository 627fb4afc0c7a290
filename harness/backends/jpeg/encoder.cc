// JPEG files made of images that headrace draws.
#include <cstdlib>

#include "harness/backends/jpeg/codec.h"
#include "harness/backends/jpeg/failures.h"
#include "harness/base/error.h"

namespace headrace::jpeg {
namespace {

struct Encoder {
  Failures failures{};
  jpeg_compress_struct image{};
  unsigned char* out = nullptr;
  unsigned long length = 0;

  ~Encoder() {
    jpeg_destroy_compress(&image);
    std::free(out);
  }
  /// Failures jump out of it.
  bool run(const Pixels& pixels, int quality) noexcept {
    image.err = prepare(failures);
    if (setjmp(failures.back)) return false;
    jpeg_create_compress(&image);
    jpeg_mem_dest(&image, &out, &length);
    image.image_width = pixels.width;
    image.image_height = pixels.height;
    image.input_components = 3;
    image.in_color_space = JCS_RGB;
    jpeg_set_defaults(&image);
    jpeg_set_quality(&image, quality, TRUE);
    jpeg_start_compress(&image, TRUE);
    for (std::uint32_t y = 0; y < pixels.height; ++y) {
      JSAMPROW row = const_cast<JSAMPROW>(pixels.data + y * pixels.stride);
      jpeg_write_scanlines(&image, &row, 1);
    }
    jpeg_finish_compress(&image);
    return true;
  }
};

}  // namespace

std::vector<unsigned char> encode(const Pixels& pixels, int quality) {
  Encoder encoder;
  if (!encoder.run(pixels, quality)) throw RunError(std::string("making a JPEG: ") + encoder.failures.what);
  return {encoder.out, encoder.out + encoder.length};
}

}  // namespace headrace::jpeg
