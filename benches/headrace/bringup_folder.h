// The folder of a bring-up: the files that it keeps while it goes on, and its final files.
#pragma once

#include <cstdint>
#include <string>

#include "benches/headrace/verb.h"
#include "harness/base/files/marked_folder.h"
#include "harness/bringup/record.h"

namespace headrace::cli {

/// Throws UsageError where a file of a bring-up differs from the one that headrace wrote: results could not be stored.
void refuse_changed(const MarkedFolder& folder);

class BringupFolder {
 public:
  /// `draw`: report.html, too. Throws as refuse_changed() does.
  BringupFolder(const std::string& path, bool draw);

  /// The job's text, in a file whose path this is. Throws RunError.
  std::string keep_job(const std::string& text);
  /// After each round: bringup.json, and the page, as often as drawing takes at most a tenth of the time. A failed
  /// write is reported once, and measuring continues.
  void keep(const bringup::Record& record);
  /// Writes all files; then prints text or json, by `format`. The verdict lists results that were not stored.
  int finish(bringup::Record& record, const std::string& format, const Shared& shared);

 private:
  bool write(const bringup::Record& record);

  const MarkedFolder folder_;
  const bool draw_;
  std::uint64_t next_page_ns_ = 0;
  std::string unwritten_;  // why the last results are not stored
};

}  // namespace headrace::cli
