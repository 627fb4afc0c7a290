// The plugin's door, and samples that are arrays in numpy's .npz files.
#include <zlib.h>

#include "harness/backends/npz/codec.h"
#include "harness/backends/npz/npy.h"
#include "harness/backends/npz/zip.h"
#include "harness/backends/plugin.h"

namespace headrace::npz {
namespace {

class NpzCodec final : public Codec {
 public:
  /// A member, or the end of a zip file that has none.
  std::vector<std::string_view> beginnings() const override { return {"PK\3\4", "PK\5\6"}; }
  std::unique_ptr<ByteDecoder> byte_decoder(const DecodeLimits& limits) const override { return make_decoder(limits); }
  /// As numpy.savez(file, x=bytes) writes them.
  std::vector<unsigned char> encode(std::span<const unsigned char> bytes) const override {
    const std::string header = npy_header(bytes.size());
    const auto* head = reinterpret_cast<const unsigned char*>(header.data());
    const uLong crc = crc32_z(crc32_z(0, head, header.size()), bytes.data(), bytes.size());
    ZipFrame frame = zip_frame("x.npy", header.size() + bytes.size(), static_cast<std::uint32_t>(crc));
    std::vector<unsigned char> file = std::move(frame.before);
    file.reserve(file.size() + header.size() + bytes.size() + frame.behind.size());
    file.insert(file.end(), head, head + header.size());
    file.insert(file.end(), bytes.begin(), bytes.end());
    file.insert(file.end(), frame.behind.begin(), frame.behind.end());
    return file;
  }
  using Codec::encode;
};

class NpzPlugin final : public Plugin {
 public:
  std::string version() const override { return std::string("zlib ") + zlibVersion(); }
  std::unique_ptr<Codec> codec() override { return std::make_unique<NpzCodec>(); }
};

}  // namespace
}  // namespace headrace::npz

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::npz::NpzPlugin plugin;
  return &plugin;
}
