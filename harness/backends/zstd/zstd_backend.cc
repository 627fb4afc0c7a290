// The plugin's door, and samples that are frames of zstd.
#include <zstd.h>

#include <cstdio>
#include <new>

#include "harness/backends/codec.h"
#include "harness/backends/plugin.h"
#include "harness/base/error.h"

namespace headrace::zstd {
namespace {

constexpr std::size_t kFirst = 1 << 20;  // of frames that do not report their size [B]
constexpr int kLevel = 3;                // zstd's own default

class Decoder final : public ByteDecoder {
 public:
  explicit Decoder(const DecodeLimits& limits) : limits_(limits), context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  ~Decoder() override { ZSTD_freeDCtx(context_); }
  Decoder(const Decoder&) = delete;

  bool decode(std::span<const unsigned char> file, std::span<const unsigned char>& bytes,
              DecodeError& error) noexcept override {
    if (file.empty()) return error.set(0, "it is empty");
    most_ = limits_.unpacked(file.size());
    ZSTD_DCtx_reset(context_, ZSTD_reset_session_only);
    const unsigned long long reported = ZSTD_getFrameContentSize(file.data(), file.size());
    ZSTD_inBuffer in{file.data(), file.size(), 0};
    std::size_t filled = 0, left = 1;
    if (!make_room(reported < ZSTD_CONTENTSIZE_ERROR ? std::max<std::uint64_t>(reported, 1) : kFirst, in, error))
      return false;
    while (in.pos < in.size || (left != 0 && filled == out_.size())) {
      if (filled == out_.size() && !make_room(grown(filled), in, error)) return false;
      ZSTD_outBuffer out{out_.data(), out_.size(), filled};
      const std::size_t before = in.pos;
      left = ZSTD_decompressStream(context_, &out, &in);
      if (ZSTD_isError(left)) return error.set(in.pos, ZSTD_getErrorName(left));
      if (in.pos == before && out.pos == filled) break;
      filled = out.pos;
    }
    if (left != 0) return error.set(in.pos, "the file ends before the frame does");
    bytes = {out_.data(), filled};
    return true;
  }

 private:
  std::uint64_t grown(std::uint64_t filled) const noexcept {
    return filled < most_ ? std::min(2 * filled, most_) : most_ + 1;
  }
  bool make_room(std::uint64_t wanted, const ZSTD_inBuffer& in, DecodeError& error) noexcept {
    if (wanted > most_) {
      std::array<char, 100> text;
      std::snprintf(text.data(), text.size(), "it unpacks to more than %llu bytes",
                    static_cast<unsigned long long>(most_));
      return error.set(in.pos, text.data());
    }
    if (wanted <= out_.size()) return true;
    try {
      out_.resize(wanted);
    } catch (const std::bad_alloc&) {
      return error.set(in.pos, "there is no memory for what it unpacks to");
    }
    return true;
  }

  const DecodeLimits limits_;
  std::uint64_t most_ = 0;  // of this frame [B]
  ZSTD_DCtx* const context_;
  std::vector<unsigned char> out_;
};

class ZstdCodec final : public Codec {
 public:
  /// A frame, or one that is skipped.
  std::vector<std::string_view> beginnings() const override {
    return {"\x28\xb5\x2f\xfd", std::string_view("\x50\x2a\x4d\x18", 4)};
  }
  std::unique_ptr<ByteDecoder> byte_decoder(const DecodeLimits& limits) const override {
    return std::make_unique<Decoder>(limits);
  }
  std::vector<unsigned char> encode(std::span<const unsigned char> bytes) const override {
    std::vector<unsigned char> file(ZSTD_compressBound(bytes.size()));
    const std::size_t got = ZSTD_compress(file.data(), file.size(), bytes.data(), bytes.size(), kLevel);
    if (ZSTD_isError(got)) throw RunError(std::string("making a zstd frame: ") + ZSTD_getErrorName(got));
    file.resize(got);
    return file;
  }
  using Codec::encode;
};

class ZstdPlugin final : public Plugin {
 public:
  std::string version() const override { return std::string("libzstd ") + ZSTD_versionString(); }
  std::unique_ptr<Codec> codec() override { return std::make_unique<ZstdCodec>(); }
};

}  // namespace
}  // namespace headrace::zstd

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::zstd::ZstdPlugin plugin;
  return &plugin;
}
