// The folder of a bring-up: what is kept in it while it goes on, and what it ends with.
#pragma once

#include <cstdint>
#include <string>

#include "benches/headrace/verb.h"
#include "harness/bringup/record.h"
#include "harness/files/marked_folder.h"

namespace headrace::cli {

class BringupFolder {
 public:
  /// `draw`: report.html, too.
  BringupFolder(const std::string& path, bool draw);

  /// After each round: bringup.json, and the page, as often as drawing takes a tenth of the time at most.
  void keep(const bringup::Record& record);
  /// All files; then prints what `format` says, text or json. The exit code.
  int finish(const bringup::Record& record, const std::string& format, const Shared& shared);

 private:
  const MarkedFolder folder_;
  const bool draw_;
  std::uint64_t next_page_ns_ = 0;
};

}  // namespace headrace::cli
