// Run files below folders, as fleet, history and size take them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "benches/headrace/verb.h"
#include "harness/base/files/marked_folder.h"
#include "harness/results/run_file.h"

namespace headrace::cli {

/// What else than runs is taken.
enum class Also { nothing, bringups };

/// Run files that `path` stands for: itself (a run.json, a report page, a run folder), or all
/// run.json below the folder, however deep, sorted. Throws UsageError, which names `verb`, when
/// there is none.
std::vector<std::string> run_files_below(const std::string& path, const std::string& verb, Also also = Also::nothing);

/// A run file that could not be used.
struct Unreadable {
  std::string path, why;
};

/// Reads them on all cores, in the order given, of a bring-up each session; what cannot be read is reported in `unreadable`.
/// `slim`: pairs become metrics, and repetitions and histograms are dropped, as soon as a run is read.
std::vector<results::StoredRun> read_runs(const std::vector<std::string>& files, std::vector<Unreadable>& unreadable,
                                          bool slim);

// What a verb says that judges many runs: files, a page, and words.

struct Findings {
  const char* name;                          // "fleet": its files are fleet.json and fleet.csv
  std::function<std::string()> json, csv{};  // documents; csv: not everybody has one
  Answer answer;                             // for people, and the evidence below it
  std::function<Text(const Terminal&)> text;
  Text last_line;
};

/// Writes the documents into `folder`, if there is one, and draws the page where it is wanted; then prints what `format`
/// says: text, json or csv.
void print_findings(const Findings& findings, const std::optional<MarkedFolder>& folder, bool draw,
                    const std::string& format, const Shared& shared);

}  // namespace headrace::cli
