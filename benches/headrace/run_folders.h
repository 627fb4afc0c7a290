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

/// The kinds of files that are taken in addition to runs.
enum class Also { nothing, bringups };

/// The run files of `path`, sorted: a run.json, a report page or a run folder. For another folder, all run.json below
/// it. Throws UsageError, which names `verb`, when there is none.
std::vector<std::string> run_files_below(const std::string& path, const std::string& verb, Also also = Also::nothing);

/// A run file that could not be used.
struct Unreadable {
  std::string path, why;
};

/// Reads them on all cores, in the order given, for a bring-up each session; unreadable files are listed in
/// `unreadable`. `slim`: pairs become metrics, and repetitions and histograms are dropped, as soon as a run is read.
std::vector<results::StoredRun> read_runs(const std::vector<std::string>& files, std::vector<Unreadable>& unreadable,
                                          bool slim);

// The output of a verb that judges many runs: files, a page, and words.

struct Findings {
  const char* name;                          // "fleet": its files are fleet.json and fleet.csv
  std::function<std::string()> json, csv{};  // documents; csv: not every kind has one
  Answer answer;                             // for people, and the evidence below it
  std::function<Text(const Terminal&)> text;
  Text last_line;
};

/// Writes the documents into `folder`, if there is one, and draws the page where it is wanted. Then prints text, json
/// or csv, by `format`.
void print_findings(const Findings& findings, const std::optional<MarkedFolder>& folder, bool draw,
                    const std::string& format, const Shared& shared);

}  // namespace headrace::cli
