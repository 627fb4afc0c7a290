// Tables in files that are read a row group at a time: the interface for libraries of such formats.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/codec.h"

namespace headrace {

/// The error of a file or a row group. `code` is an errno where storage failed; 0: the bytes are wrong.
struct TableError {
  int code = 0;
  DecodeError bytes;
};

/// A footer's facts on one row group.
struct RowGroup {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  // stored, of the chosen columns
};

/// For one worker, used on one thread. The library takes memory and threads as it does in a data loader.
class RowGroupReader {
 public:
  virtual ~RowGroupReader() = default;
  /// Opens the file at `path` below `root_fd` and reads its footer. Then it reads the chosen columns of one row group,
  /// neighbours in one read. `bytes`: that were read in all.
  virtual bool read(int root_fd, const char* path, std::uint64_t size, int group, std::uint64_t& bytes,
                    TableError& error) noexcept = 0;
  /// Makes arrays of the bytes of read(), once for each call.
  virtual bool decode(std::uint64_t& rows, TableError& error) noexcept = 0;
};

class TableFormat {
 public:
  virtual ~TableFormat() = default;
  /// Untimed. `columns`: by name, empty = all. False: `error`: why none of the file can be read.
  virtual bool row_groups(int root_fd, const char* path, std::uint64_t size, std::span<const std::string> columns,
                          std::vector<RowGroup>& groups, TableError& error) const noexcept = 0;
  virtual std::unique_ptr<RowGroupReader> reader(std::span<const std::string> columns) const = 0;
};

}  // namespace headrace
