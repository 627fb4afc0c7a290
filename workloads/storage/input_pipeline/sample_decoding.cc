#include "workloads/storage/input_pipeline/sample_decoding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/backends/decode/drawn_sample.h"
#include "harness/backends/loader.h"
#include "harness/base/units.h"
#include "harness/workload/data/data_set.h"

namespace headrace {
namespace {

constexpr int kQuality = 90;
constexpr std::uint64_t kMostHeld = 64;         // drawn samples
constexpr std::uint64_t kMostDrawn = 16 << 20;  // of each [B]

/// Before the sample's name.
const char* kind_of(const DecodeError& error) { return error.other_image ? "not used" : "bad sample"; }

std::vector<std::string> none_or_codecs() {
  std::vector<std::string> words{"none"};
  for (std::string& word : known_codecs()) words.push_back(std::move(word));
  return words;
}

}  // namespace

SampleDecoding::SampleDecoding(Params& p)
    : codec_(p.choice("codec", "none", none_or_codecs(),
                      "format that workers decode; none: cpu_time_per_sample is used instead")) {
  recipe_.output = static_cast<std::uint32_t>(
      p.count("output", 224, {.min = 0, .max = 8192},
              "side of the square that a decoded image is resized to [pixels], flipped and normalized; 0: it is only "
              "decoded"));
  recipe_.random_part =
      p.choice("crop", "random_resized", {"full", "random_resized"},
               "full: the whole image; random_resized: a random part, and only what it needs is decoded") ==
      "random_resized";
  recipe_.scaling = p.flag("dct_scaling", false,
                           "decode at 1/2, 1/4 or 1/8 where that is still no smaller than output: not the same pixels");
  recipe_.limits.pixels =
      p.count("most_pixels", DecodeLimits{}.pixels, {.min = 1}, "images of more are refused, as on_error says");
}

std::optional<Skip> SampleDecoding::check(Node& node) const {
  if (!active()) return std::nullopt;
  if (const std::string why = node.backends().why_not(codec_); !why.empty()) return Skip{why};
  return std::nullopt;
}

void SampleDecoding::prepare(Node& node, unsigned workers) {
  clear();
  if (!active()) return;
  const std::vector<const Codec*> codecs = node.backends().codecs(codec_);
  beginnings_ = codecs.front()->beginnings();
  for (auto other = codecs.begin() + 1; other != codecs.end(); ++other)
    for (const std::string_view one : (*other)->beginnings()) others_.push_back(one);
  hands_.reserve(workers);
  for (unsigned i = 0; i < workers; ++i) hands_.emplace_back(decode::SampleDecoder(codecs, recipe_));
  if (recipe_.scaling)
    reported_.emplace_back("decoded at a smaller scale where that suffices: not a full decode's pixels");
}

bool SampleDecoding::keep(std::vector<unsigned char> bytes, const std::string& name, std::uint64_t at, bool skip) {
  if (!held_.empty() && held_bytes_ + bytes.size() > kHeld) return false;
  decode::SampleDecoder& decoder = hands_.front().decoder;
  std::uint64_t pixels = 0;
  if (decoder.run_whole(bytes, pixels)) {
    held_bytes_ += bytes.size();
    held_.push_back(std::move(bytes));
    return true;
  }
  wrong_ = fmt::format("{} at offset {}: {}", name, at + decoder.error().offset, decoder.error().what.data());
  if (!skip) throw RunError(fmt::format("{}: {} (on_error: skip passes over such)", kind_of(decoder.error()), wrong_));
  return true;
}

void SampleDecoding::hold(const DataSet& data, const OwnShards* shards, bool skip) {
  const FileTable& files = data.files();
  holds_ = true;
  if (shards != nullptr) {
    first_samples(data, *shards, payload(0), [&](std::span<const unsigned char> bytes, std::uint32_t file, auto at) {
      return keep({bytes.begin(), bytes.end()}, files.full_path(file), at, skip);
    });
    if (held_.empty() && wrong_.empty()) wrong_ = "none was found in " + files.root();
  } else {
    for (std::uint32_t i = 0; i < files.count(); ++i) {
      if (!held_.empty() && held_bytes_ + files.size(i) > kHeld) break;
      keep(data.whole(i), files.full_path(i), 0, skip);
    }
  }
  if (held_.empty()) throw RunError("no sample can be decoded: " + wrong_);
  report_held("of the samples");
}

void SampleDecoding::hold_drawn(Node& node, std::uint64_t sample_size) {
  holds_ = true;
  const Codec& codec = node.backends().codec(codec_);
  sample_size = std::min(sample_size, kMostDrawn);
  const std::uint32_t width = decode::width_for(codec, sample_size, kQuality);
  for (std::uint64_t i = 0;
       i < kMostHeld && keep(decode::draw_sample(codec, i, width, kQuality), "a drawn image", 0, false);)
    ++i;
  report_held("drawn images");
}

void SampleDecoding::report_held(const char* what) {
  reported_.push_back(fmt::format("decoded are {} {} of {} each on average, which lie in memory", held_.size(), what,
                                  format_quantity(static_cast<double>(held_bytes_ / held_.size()), Dimension::bytes)));
}

std::unique_ptr<formats::Payload> SampleDecoding::payload(std::uint64_t sample_size) const {
  return std::make_unique<formats::Payload>(beginnings_, 2 * std::min(sample_size, kMostDrawn), others_);
}

void SampleDecoding::clear() {
  hands_.clear();
  others_.clear();
  held_.clear();
  held_bytes_ = 0;
  wrong_.clear();
  holds_ = false;
  reported_.clear();
}

void SampleDecoding::begin(std::uint64_t seed) {
  collect();
  for (std::size_t i = 0; i < hands_.size(); ++i) {
    hands_[i].random = Random(seed * 1024 + i);
    hands_[i].next = i;
  }
}

bool SampleDecoding::run(unsigned worker, std::span<const unsigned char> read, std::uint32_t file,
                         std::uint64_t& offset) noexcept {
  Hand& hand = hands_[worker];
  if (holds_) {
    read = held_[hand.next % held_.size()];
    hand.next += hands_.size();
  }
  std::uint64_t pixels = 0;
  if (hand.decoder.run(read, hand.random, pixels)) return true;
  offset += hand.decoder.error().offset;
  if (hand.bad < kKept) {
    hand.kept[hand.bad] = {file, hand.decoder.error()};
    hand.kept[hand.bad].error.offset = offset;
  }
  ++hand.bad;
  return false;
}

std::uint64_t SampleDecoding::bad() const {
  std::uint64_t all = 0;
  for (const Hand& hand : hands_) all += hand.bad;
  return all;
}

void SampleDecoding::collect() {
  for (Hand& hand : hands_) {
    most_bad_ = std::max(most_bad_, hand.bad);
    for (std::size_t i = 0; i < std::min<std::uint64_t>(hand.bad, kKept); ++i) {
      const auto same = [&](const Bad& b) {
        return b.file == hand.kept[i].file && b.error.offset == hand.kept[i].error.offset;
      };
      if (std::none_of(named_.begin(), named_.end(), same)) named_.push_back(hand.kept[i]);
    }
    hand.bad = 0;
  }
}

void SampleDecoding::report(const FileTable* files, std::vector<std::string>& notes) {
  collect();
  std::sort(named_.begin(), named_.end(), [](const Bad& a, const Bad& b) {
    return a.file != b.file ? a.file < b.file : a.error.offset < b.error.offset;
  });
  constexpr std::size_t kReported = 16;
  for (std::size_t i = 0; files != nullptr && i < std::min(named_.size(), kReported); ++i)
    notes.push_back(fmt::format("{}: {} at offset {}: {}", kind_of(named_[i].error), files->full_path(named_[i].file),
                                named_[i].error.offset, named_[i].error.what.data()));
  if (named_.size() > kReported || most_bad_ > kKept)
    notes.emplace_back(
        "there are more bad samples than are named: the metric bad_samples counts those of a repetition");
  named_.clear();
  most_bad_ = 0;
  std::uint64_t of_others = 0;
  for (const Hand& hand : hands_) of_others += hand.decoder.of_others();
  if (of_others > 0)
    notes.push_back(
        fmt::format("{} samples are images of another codec than {}, and were decoded, too", of_others, codec_));
  std::move(reported_.begin(), reported_.end(), std::back_inserter(notes));
  reported_.clear();
}

}  // namespace headrace
