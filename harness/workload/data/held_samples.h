// Samples in memory for decoding: those of a folder, a file each, or images that are drawn.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/codec.h"
#include "harness/backends/decode/sample_decoder.h"
#include "harness/machine/node.h"
#include "harness/record/params.h"
#include "harness/workload/data/data_set.h"

namespace headrace {

class HeldSamples {
 public:
  struct Sample {
    std::vector<unsigned char> stored;
    std::uint64_t pixels = 0;  // of the image; otherwise its decoded bytes
  };

  /// Declares the parameters that select them.
  explicit HeldSamples(Params& p);

  std::uint64_t memory_bytes() const;
  /// Untimed: `decoder`, a `codec`'s, decodes each once as a whole, so that any broken part is known. Throws RunError
  /// where none can be decoded, and at the first broken one unless such are left out.
  void hold(Node& node, const DataProgress& progress, const Codec& codec, decode::SampleDecoder& decoder);
  /// Leaves sample `index` out, for another reason: "gpu0 cannot decode it". Throws RunError as hold() does.
  void leave_out(std::size_t index, const std::string& why);
  void clear() { samples_.clear(); }

  const std::vector<Sample>& all() const noexcept { return samples_; }
  std::uint64_t bad() const noexcept { return bad_count_; }
  void report(std::vector<std::string>& notes) const;

 private:
  static constexpr std::size_t kNamed = 8;  // bad samples that are reported by name

  void keep(std::vector<unsigned char> stored, const std::string& name, decode::SampleDecoder& decoder);
  void refuse(const std::string& what);
  void load(Node& node, const DataProgress& progress, decode::SampleDecoder& decoder);

  std::string path_;
  std::uint64_t images_, width_, sample_size_, quality_, memory_;
  bool skip_;
  std::vector<Sample> samples_;
  std::vector<std::string> names_;  // of each
  std::vector<std::string> bad_;
  std::uint64_t bad_count_ = 0, left_ = 0;
  std::vector<std::pair<std::string, std::uint64_t>> not_read_;  // files that are no samples, by why
};

}  // namespace headrace
