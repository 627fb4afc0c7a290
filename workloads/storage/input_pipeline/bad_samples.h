// Samples that could not be used: counted by each worker while it reads, named afterwards.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/formats/bad_sample.h"
#include "harness/record/file_table.h"
#include "harness/record/recorder.h"

namespace headrace {

/// For one worker in one phase: all are counted, the first few kept.
class BadSamples {
 public:
  static constexpr std::size_t kKept = 8;

  /// `counts`: it was not counted elsewhere.
  void add(const OperationError& error, bool counts = true) noexcept {
    if (named_ < kept_.size()) kept_[named_] = {error.file, error.offset, static_cast<formats::Flaw>(error.flaw)};
    ++named_;
    if (counts) ++count_;
  }
  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t named() const noexcept { return named_; }
  std::span<const formats::BadSample> kept() const noexcept {
    return std::span(kept_).first(std::min<std::size_t>(named_, kept_.size()));
  }

 private:
  std::array<formats::BadSample, kKept> kept_{};
  std::uint64_t named_ = 0, count_ = 0;
};

/// The bad samples of all workers and repetitions, each once.
class NamedBadSamples {
 public:
  void add(const BadSamples& more) {
    most_ = std::max(most_, more.named());
    for (const formats::BadSample& bad : more.kept())
      if (std::find(named_.begin(), named_.end(), bad) == named_.end()) named_.push_back(bad);
  }
  /// A note for each, in the order of the files, up to 16; then that there are more.
  void report(const FileTable& files, std::vector<std::string>& notes) {
    std::sort(named_.begin(), named_.end(), [](const formats::BadSample& a, const formats::BadSample& b) {
      return a.file != b.file ? a.file < b.file : a.offset < b.offset;
    });
    constexpr std::size_t kReported = 16;
    for (std::size_t i = 0; i < std::min(named_.size(), kReported); ++i)
      notes.push_back(fmt::format("bad sample: {} at offset {}: {}", files.full_path(named_[i].file), named_[i].offset,
                                  to_string(named_[i].what)));
    if (named_.size() > kReported || most_ > BadSamples::kKept)
      notes.push_back("there are more bad samples than are named: the metric bad_samples counts those of a repetition");
    named_.clear();
  }

 private:
  std::vector<formats::BadSample> named_;
  std::uint64_t most_ = 0;  // of one worker
};

}  // namespace headrace
