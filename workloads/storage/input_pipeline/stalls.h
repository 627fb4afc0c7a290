// Reads during which storage did not answer: counted, and the longest kept, each with its place.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/units.h"
#include "harness/record/file_table.h"

namespace headrace {

/// For one worker and phase. Nothing in add() allocates.
class Stalls {
 public:
  struct Stall {
    std::uint64_t ns = 0, begin_ns = 0;  // how long; since the repetition's begin
    std::uint64_t offset = 0;
    std::uint32_t file = 0;
    unsigned worker = 0;
  };

  void add(const Stall& one) noexcept {
    ++count_;
    Stall* least = &*std::ranges::min_element(longest_, {}, &Stall::ns);
    if (one.ns > least->ns) *least = one;
  }
  void add(const Stalls& more) noexcept {
    const std::uint64_t count = count_ + more.count_;
    for (const Stall& one : more.longest_)
      if (one.ns > 0) add(one);
    count_ = count;
  }
  std::uint64_t count() const noexcept { return count_; }

  /// The longest first. `files`: nullptr where samples are no files.
  void report(const FileTable* files, std::vector<std::string>& notes) const {
    std::array<Stall, kKept> sorted = longest_;
    std::ranges::sort(sorted, std::greater{}, &Stall::ns);
    for (const Stall& one : sorted) {
      if (one.ns == 0) break;
      const std::string where = files == nullptr ? std::string("a sample")
                                                 : fmt::format("{} at byte {}", files->full_path(one.file), one.offset);
      notes.push_back(fmt::format("storage stalled: worker {} waited {} for {}, {} after the repetition began",
                                  one.worker, format_duration(1e-9 * static_cast<double>(one.ns)), where,
                                  format_duration(1e-9 * static_cast<double>(one.begin_ns))));
    }
    if (count_ > kKept) notes.push_back(fmt::format("storage stalled: {} more reads", count_ - kKept));
  }

 private:
  static constexpr std::size_t kKept = 4;
  std::uint64_t count_ = 0;
  std::array<Stall, kKept> longest_{};
};

}  // namespace headrace
