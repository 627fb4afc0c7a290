#include "workloads/storage/input_pipeline/row_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "harness/backends/formats/bad_sample.h"
#include "harness/backends/loader.h"
#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "harness/base/random.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"

namespace headrace {
namespace {

constexpr std::size_t kNamed = 16;  // that notes report

std::string words(const std::string& path, const TableError& error) {
  if (error.code != 0) return fmt::format("{}: {}", path, std::strerror(error.code));
  return fmt::format("{} at offset {}: {}", path, error.bytes.offset, error.bytes.what.data());
}

class Groups final : public SampleSource {
 public:
  Groups(const RowGroups& all, std::unique_ptr<RowGroupReader> reader, const FileTable& files,
         std::vector<RowGroups::Place> places, unsigned number, unsigned count, bool held)
      : all_(all),
        reader_(std::move(reader)),
        files_(files),
        places_(std::move(places)),
        order_(places_.size()),
        number_(number),
        count_(count),
        held_(held) {}

  void rewind(std::uint64_t seed) override {
    std::iota(order_.begin(), order_.end(), 0u);
    Random random(seed);
    shuffle(std::span(order_), random);
    next_ = number_;
    if (!held_) return;
    now_ = places_[order_[number_ % order_.size()]];
    std::uint64_t bytes = 0;
    TableError error;
    if (!read_now(bytes, error)) throw RunError(words(files_.full_path(now_.file), error));
  }
  bool has(std::uint64_t) noexcept override { return held_ || next_ < order_.size(); }

  SampleRead read(std::uint64_t, std::uint64_t) noexcept override {
    SampleRead done;
    done.begin_ns = now_ns();
    if (!held_) {
      if (next_ >= order_.size()) {
        done.over = true;
        done.end_ns = done.begin_ns;
        return done;
      }
      now_ = places_[order_[next_]];
      next_ += count_;
      TableError error;
      if (!read_now(done.bytes, error)) fail(error, done);
    }
    done.file = now_.file;
    done.end_ns = now_ns();
    return done;
  }
  bool decodes() const noexcept override { return all_.decodes(); }
  bool decode(SampleRead& done) noexcept override {
    TableError error;
    std::uint64_t rows = 0;
    if (reader_->decode(rows, error)) return true;
    fail(error, done);
    return false;
  }

 private:
  bool read_now(std::uint64_t& bytes, TableError& error) noexcept {
    return reader_->read(files_.root_fd(), files_.path(now_.file), files_.size(now_.file), now_.group, bytes, error);
  }
  void fail(const TableError& error, SampleRead& done) noexcept {
    done.error = {.code = error.code != 0 ? error.code : OperationError::kBadSample,
                  .file = now_.file,
                  .offset = error.bytes.offset,
                  .flaw = static_cast<std::uint8_t>(formats::Flaw::undecodable)};
    if (error.code == 0) all_.add(files_.full_path(now_.file), error);
  }

  const RowGroups& all_;
  std::unique_ptr<RowGroupReader> reader_;
  const FileTable& files_;
  const std::vector<RowGroups::Place> places_;
  std::vector<std::uint32_t> order_;
  const unsigned number_, count_;
  const bool held_;
  RowGroups::Place now_;
  std::uint64_t next_ = 0;
};

}  // namespace

RowGroups::RowGroups(Params& params)
    : active_(params.choice("table", "raw", {"raw", "parquet"},
                            "with a path and read_profile row_group. raw: its files' bytes are read, block_size for a "
                            "row group; parquet: their own row groups, by Apache Arrow") == "parquet"),
      decodes_(params.flag("table_decoded", true, "arrays are made of the row groups that were read")) {
  const std::string names = params.text("columns", "", "names of the columns that are read, with commas; empty: all");
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    if (end > at) columns_.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  if (active_) return;
  if (!columns_.empty()) params.conflict("columns", "goes with table parquet");
  if (!decodes_) params.conflict("table_decoded", "goes with table parquet");
  decodes_ = false;
}

std::optional<Skip> RowGroups::check(Node& node) const {
  if (!active_) return std::nullopt;
  if (std::string why = node.backends().why_not(Gives::tables); !why.empty()) return Skip{std::move(why)};
  return std::nullopt;
}

void RowGroups::find(Node& node, const FileTable& files, bool skip) {
  format_ = &node.backends().tables();
  files_ = &files;
  places_.clear();
  named_.clear();
  reported_.clear();
  bad_files_ = 0;
  double rows = 0, bytes = 0;
  std::vector<RowGroup> groups;
  for (std::uint32_t file = 0; file < files.count(); ++file) {
    groups.clear();
    TableError error;
    if (!format_->row_groups(files.root_fd(), files.path(file), files.size(file), columns_, groups, error)) {
      const std::string reported = words(files.full_path(file), error);
      if (!skip || error.code != 0) throw RunError(reported + (skip ? "" : " (on_error: skip passes over such)"));
      if (reported_.size() < kNamed) reported_.push_back("bad sample: " + reported + "; the file is left out");
      ++bad_files_;
      continue;
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].rows == 0) continue;
      places_.push_back({file, static_cast<int>(i)});
      rows += static_cast<double>(groups[i].rows);
      bytes += static_cast<double>(groups[i].bytes);
    }
  }
  if (places_.empty()) throw RunError(files.root() + ": there is no row in its files");
  const auto count = static_cast<double>(places_.size());
  rows_ = rows / count;
  bytes_ = std::max(1.0, bytes / count);
  reported_.push_back(
      fmt::format("samples are the rows of {} row groups, {:.6g} in each on average, with {} of columns that are "
                  "read{}",
                  places_.size(), rows_, format_quantity(bytes_, Dimension::bytes),
                  decodes_ ? "; arrays are made of them" : "; nothing is made of them"));
}

std::unique_ptr<SampleSource> RowGroups::source(unsigned number, unsigned count, bool held) const {
  return std::make_unique<Groups>(*this, format_->reader(columns_), *files_, places_, number, count, held);
}

void RowGroups::add(const std::string& place, const TableError& error) const noexcept {
  try {
    const std::string reported = "bad sample: " + words(place, error);
    const std::lock_guard lock(mutex_);
    if (named_.size() < kNamed && std::find(named_.begin(), named_.end(), reported) == named_.end())
      named_.push_back(reported);
  } catch (const std::bad_alloc&) {  // it is counted, and not named
  }
}

void RowGroups::report(std::vector<std::string>& notes) {
  std::move(reported_.begin(), reported_.end(), std::back_inserter(notes));
  reported_.clear();
  const std::lock_guard lock(mutex_);
  std::sort(named_.begin(), named_.end());
  std::move(named_.begin(), named_.end(), std::back_inserter(notes));
  named_.clear();
}

}  // namespace headrace
