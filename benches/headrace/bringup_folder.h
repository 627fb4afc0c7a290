// The folder of a bring-up: what is kept in it while it goes on, and what it ends with.
#pragma once

#include <cstdint>
#include <string>

#include "benches/headrace/verb.h"
#include "harness/base/files/marked_folder.h"
#include "harness/bringup/record.h"

namespace headrace::cli {

/// Throws UsageError where a file of a bring-up is there that is not as headrace wrote it: what is measured could not be
/// kept.
void refuse_changed(const MarkedFolder& folder);

class BringupFolder {
 public:
  /// `draw`: report.html, too. Throws as refuse_changed() does.
  BringupFolder(const std::string& path, bool draw);

  /// The job's text, in a file whose path this is. Throws RunError.
  std::string keep_job(const std::string& text);
  /// After each round: bringup.json, and the page, as often as drawing takes a tenth of the time at most. Where it cannot
  /// be written that is reported once, and measuring goes on.
  void keep(const bringup::Record& record);
  /// All files; then prints what `format` says, text or json. What could not be kept is in the verdict. The exit code.
  int finish(bringup::Record& record, const std::string& format, const Shared& shared);

 private:
  bool write(const bringup::Record& record);

  const MarkedFolder folder_;
  const bool draw_;
  std::uint64_t next_page_ns_ = 0;
  std::string unwritten_;  // why what was measured last is not kept
};

}  // namespace headrace::cli
