// The plugin's door, and PNG files made of images that headrace draws.
#include <png.h>

#include "harness/backends/plugin.h"
#include "harness/backends/png/codec.h"
#include "harness/base/error.h"

namespace headrace::png {
namespace {

class PngCodec final : public Codec {
 public:
  std::vector<std::string_view> beginnings() const override { return {"\x89PNG"}; }
  std::unique_ptr<ImageDecoder> image_decoder(const DecodeLimits& limits) const override {
    return make_decoder(limits);
  }
  std::vector<unsigned char> encode(const Pixels& pixels, int) const override {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = pixels.width;
    image.height = pixels.height;
    image.format = PNG_FORMAT_RGB;
    const auto stride = static_cast<png_int_32>(pixels.stride);
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    std::vector<unsigned char> file(bytes);
    if (png_image_write_to_memory(&image, file.data(), &bytes, 0, pixels.data, stride, nullptr) == 0)
      throw RunError(std::string("making a PNG: ") + image.message);
    file.resize(bytes);
    return file;
  }
};

class PngPlugin final : public Plugin {
 public:
  std::string version() const override { return std::string("libpng ") + png_get_libpng_ver(nullptr); }
  std::unique_ptr<Codec> codec() override { return std::make_unique<PngCodec>(); }
};

}  // namespace
}  // namespace headrace::png

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::png::PngPlugin plugin;
  return &plugin;
}
