#include "workloads/storage/input_pipeline/unpacked_shard.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace headrace {
namespace {

using formats::Flaw;
using formats::Found;

class UnpackingParser final : public formats::SampleParser {
 public:
  UnpackingParser(std::unique_ptr<formats::SampleParser> inner, const Codec& codec)
      : inner_(std::move(inner)), decoder_(codec.byte_decoder({.bytes = kMost})) {}

  void begin() noexcept override {
    packed_.clear();
    rest_ = {};
    unpacked_ = lost_ = false;
  }

  Found take(std::span<const unsigned char> bytes) noexcept override {
    try {
      packed_.insert(packed_.end(), bytes.begin(), bytes.end());
    } catch (const std::bad_alloc&) {
      lost_ = true;
      return {.kind = Found::Kind::bad, .flaw = Flaw::cannot_unpack, .used = bytes.size()};
    }
    return {.used = bytes.size()};
  }

  Found end() noexcept override {
    if (lost_) return {.kind = Found::Kind::over};
    if (!std::exchange(unpacked_, true)) {
      DecodeError error;
      if (!decoder_->decode(packed_, rest_, error)) {
        lost_ = true;
        return {.kind = Found::Kind::bad, .flaw = Flaw::cannot_unpack};
      }
      inner_->begin();
    }
    while (!rest_.empty()) {
      const Found found = inner_->take(rest_);
      rest_ = rest_.subspan(std::min<std::size_t>(found.used, rest_.size()));
      if (found.kind != Found::Kind::more) return found;
    }
    return inner_->end();
  }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{4} << 30;  // places in MDS shards have 4 bytes [B]

  std::unique_ptr<formats::SampleParser> inner_;
  std::unique_ptr<ByteDecoder> decoder_;
  std::vector<unsigned char> packed_;
  std::span<const unsigned char> rest_;  // of the unpacked shard
  bool unpacked_ = false, lost_ = false;
};

}  // namespace

std::string_view unpacked_name(std::string_view path) {
  const std::size_t dot = std::min(path.rfind('.'), path.size());
  return path.substr(0, dot).ends_with(".mds") ? path.substr(0, dot) : std::string_view{};
}

std::unique_ptr<formats::SampleParser> unpacking_parser(std::unique_ptr<formats::SampleParser> inner,
                                                        const Codec& codec) {
  return std::make_unique<UnpackingParser>(std::move(inner), codec);
}

}  // namespace headrace
