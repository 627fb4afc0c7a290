// The plugin's door.
#include <cstdio>

#include <jpeglib.h>

#include "harness/backends/jpeg/codec.h"
#include "harness/backends/plugin.h"

#define HEADRACE_WORD(x) #x
#define HEADRACE_TEXT(x) HEADRACE_WORD(x)

namespace headrace::jpeg {
namespace {

class JpegCodec final : public Codec {
 public:
  std::vector<std::string_view> beginnings() const override { return {"\xff\xd8\xff"}; }
  std::unique_ptr<ImageDecoder> image_decoder(const DecodeLimits& limits) const override {
    return make_decoder(limits);
  }
  std::vector<unsigned char> encode(const Pixels& pixels, int quality) const override {
    return jpeg::encode(pixels, quality);
  }
};

class JpegPlugin final : public Plugin {
 public:
  std::string version() const override { return "libjpeg-turbo " HEADRACE_TEXT(LIBJPEG_TURBO_VERSION); }
  std::unique_ptr<Codec> codec() override { return std::make_unique<JpegCodec>(); }
};

}  // namespace
}  // namespace headrace::jpeg

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::jpeg::JpegPlugin plugin;
  return &plugin;
}
