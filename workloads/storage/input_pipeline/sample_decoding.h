// Decoding in an input pipeline: the samples that were read, or samples in memory where the read bytes are none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/decode/sample_decoder.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/workload.h"
#include "workloads/storage/input_pipeline/own_shards.h"

namespace headrace {

class SampleDecoding {
 public:
  /// Declares `codec`, `output`, `crop`, `dct_scaling` and `most_pixels`.
  explicit SampleDecoding(Params& params);

  bool active() const { return codec_ != "none"; }
  const std::string& codec() const { return codec_; }
  std::optional<Skip> check(Node& node) const;
  /// Most bytes of samples in memory.
  static constexpr std::uint64_t kHeld = 64 << 20;

  /// Untimed: a decoder for each worker.
  void prepare(Node& node, unsigned workers);
  /// Does it decode images?
  bool images() const { return !hands_.empty() && hands_.front().decoder.images(); }
  /// Untimed: samples to decode in place of the read bytes: drawn ones of `sample_size` bytes.
  void hold_drawn(Node& node, std::uint64_t sample_size);
  /// The same with real ones: the first of `files`; of `shards` where files hold several. `skip`: samples that cannot
  /// be decoded are left out; else RunError names one.
  void hold(const DataSet& data, const OwnShards* shards, bool skip);
  /// For a source that keeps the part to decode of the samples it parses: one worker's. `sample_size`: the mean [B].
  std::unique_ptr<formats::Payload> payload(std::uint64_t sample_size) const;
  void clear();

  /// Untimed, before a phase.
  void begin(std::uint64_t seed);
  /// On the worker's thread. `read`: of file number `file`, in which it begins at `offset`; not looked at where samples
  /// are held. False: `offset` gets the place of the error in the file.
  bool run(unsigned worker, std::span<const unsigned char> read, std::uint32_t file, std::uint64_t& offset) noexcept;

  /// That could not be decoded since begin().
  std::uint64_t bad() const;
  /// A note for each that was kept, once; and what of it is not the job's own.
  void report(const FileTable* files, std::vector<std::string>& notes);

 private:
  static constexpr std::size_t kKept = 8;
  struct Bad {
    std::uint32_t file = 0;
    DecodeError error;
  };
  struct alignas(128) Hand {
    explicit Hand(decode::SampleDecoder made) : decoder(std::move(made)) {}
    decode::SampleDecoder decoder;
    Random random{0};
    std::uint64_t next = 0, bad = 0;
    std::array<Bad, kKept> kept;
  };
  void collect();
  /// False: there is room for no more.
  bool keep(std::vector<unsigned char> bytes, const std::string& name, std::uint64_t at, bool skip);
  void report_held(const char* what);

  std::string codec_;
  decode::Recipe recipe_;
  std::vector<Hand> hands_;
  std::vector<std::vector<unsigned char>> held_;
  std::uint64_t held_bytes_ = 0;
  std::string wrong_;                                  // the last of the samples that could not be kept in memory
  std::vector<std::string_view> beginnings_, others_;  // of files of the codec, of those of other codecs of images
  bool holds_ = false;
  std::vector<Bad> named_;
  std::uint64_t most_bad_ = 0;
  std::vector<std::string> reported_;
};

}  // namespace headrace
