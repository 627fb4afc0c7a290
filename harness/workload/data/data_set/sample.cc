#include "harness/workload/data/data_set/sample.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "harness/base/clock.h"
#include "harness/base/random.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/opened_file.h"

namespace headrace {
namespace {

constexpr unsigned kMost = 64;
constexpr std::uint64_t kLongest_ns = 100'000'000;

/// Nothing when the block's content is right.
std::optional<WrongBlock> wrong_block(const DataSet& data, std::uint32_t file, std::uint64_t at) {
  const FileTable& files = data.files();
  const auto wrong = [&](std::string why) { return WrongBlock{files.full_path(file), at, std::move(why)}; };
  OpenedFile opened = data.opened(file, POSIX_FADV_RANDOM);  // no more than this block comes into memory
  if (!opened.is_open()) return wrong(opened.why());
  unsigned char block[kBlock];
  const std::uint64_t want = std::min(kBlock, files.size(file) - at);
  const std::int64_t got = opened.read(at, block, want);
  if (got < 0) return wrong(opened.why());
  if (static_cast<std::uint64_t>(got) < want) return wrong("the file ends here");
  WrongBlock found;
  if (data.check(file, at, block, want, &found)) return std::nullopt;
  return found;
}

}  // namespace

std::vector<WrongBlock> wrong_in_sample(const DataSet& data, std::uint64_t seed) {
  std::vector<WrongBlock> wrong;
  const FileTable& files = data.files();
  if (!data.generated() || files.count() == 0) return wrong;
  Random random(seed);
  std::set<std::pair<std::uint32_t, std::uint64_t>> taken;
  const std::uint64_t end = now_ns() + kLongest_ns;
  for (unsigned i = 0; i < kMost && now_ns() < end; ++i) {
    const auto file = static_cast<std::uint32_t>(random.below(files.count()));
    if (files.size(file) == 0) continue;
    if (data.holds_samples()) {
      const std::uint64_t number = random.next();
      if (auto found = data.wrong_sample(file, number)) wrong.push_back(std::move(*found));
      continue;
    }
    const std::uint64_t at = random.below((files.size(file) + kBlock - 1) / kBlock) * kBlock;
    if (!taken.insert({file, at}).second) continue;
    if (auto found = wrong_block(data, file, at)) wrong.push_back(std::move(*found));
  }
  return wrong;
}

}  // namespace headrace
