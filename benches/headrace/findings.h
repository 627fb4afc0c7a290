// What a verb says that judges many runs: files, a page, and words.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "benches/headrace/verb.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::cli {

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
