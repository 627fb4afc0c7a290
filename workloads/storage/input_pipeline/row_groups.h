// The user's own tables: their row groups, read and decoded as the format's library does, a group for each operation.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/table.h"
#include "harness/base/footprint.h"
#include "harness/record/file_table.h"
#include "harness/record/params.h"
#include "workloads/storage/input_pipeline/sample_source.h"

namespace headrace {

class Node;

class RowGroups {
 public:
  /// Declares `table`, `columns` and `table_decoded`.
  explicit RowGroups(Params& params);

  bool active() const { return active_; }
  /// Are arrays made of what is read?
  bool decodes() const { return decodes_; }
  std::optional<Skip> check(Node& node) const;
  /// Untimed: looks at every file's footer. A file of which none can be read: RunError names it, or, `skip`, it is counted
  /// and left out. Throws RunError where there is no row at all.
  void find(Node& node, const FileTable& files, bool skip);
  /// On average; after find().
  double rows() const { return rows_; }
  double bytes() const { return bytes_; }
  /// For worker `number` of `count`, each group once, in a random order. `held`: it reads its first group before the phase,
  /// and then decodes that one again and again.
  std::unique_ptr<SampleSource> source(unsigned number, unsigned count, bool held) const;

  /// Files left out.
  std::uint64_t bad_files() const { return bad_files_; }
  /// An error of a group while it was read; called by several workers. Only errors take the lock.
  void add(const std::string& place, const TableError& error) const noexcept;
  /// A note for each, once.
  void report(std::vector<std::string>& notes);

  struct Place {
    std::uint32_t file = 0;
    int group = 0;
  };

 private:
  bool active_ = false, decodes_ = false;
  std::vector<std::string> columns_;
  const TableFormat* format_ = nullptr;
  const FileTable* files_ = nullptr;
  std::vector<Place> places_;
  double rows_ = 1, bytes_ = 1;
  std::uint64_t bad_files_ = 0;
  std::vector<std::string> reported_;
  mutable std::mutex mutex_;
  mutable std::vector<std::string> named_;
};

}  // namespace headrace
