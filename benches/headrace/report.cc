// headrace report: draws the page of a finished run or comparison again, from the file that holds
// it.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/files/output.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

/// What a page can be drawn from, by its name in a folder.
constexpr const char* kData[] = {"run.json",     "comparison.json", "size.json",   "fleet.json",
                                 "history.json", "observe.json",    "bringup.json"};

fs::path data_file(const std::string& given) {
  if (fs::is_regular_file(given)) return given;
  std::string names;
  for (const char* name : kData) {
    if (fs::is_regular_file(fs::path(given) / name)) return fs::path(given) / name;
    names += fmt::format("{}{}", names.empty() ? "" : " or ", name);
  }
  throw UsageError(fmt::format("report: {}: no {} there (give a folder that holds one, or the file)", given, names));
}

/// Beside the data: in headrace's folder, or in a copy of one.
std::string write_page(const fs::path& data, const std::string& page) {
  const std::string folder = data.parent_path().empty() ? "." : data.parent_path().string();
  const std::string file = (data.parent_path() / "report.html").string();
  if (MarkedFolder::is_marked(folder)) {
    MarkedFolder::make_alone(folder, MarkedFolder::kind_of(folder)).write("report.html", page);
  } else if (fs::is_symlink(file)) {  // whoever made it chose what it leads to
    throw UsageError(fmt::format("report: {} is a symbolic link; name the file: --out FILE", file));
  } else {
    files::write_output(file, page);
  }
  return file;
}

int report(const std::string& given, const std::string& out, const std::string& paper) {
  const fs::path data = data_file(given);
  const Drawn drawn = draw_report(data.string(), Form::page, paper == "full" ? Paper::full : Paper::summary);
  if (drawn.page.empty()) {
    print_stderr_line(Text::format("report: {}", drawn.reason));
    return drawn.bad_run ? 2 : 1;
  }
  if (!out.empty()) files::write_output(out, drawn.page);
  print_line(out.empty() ? write_page(data, drawn.page) : out);
  return 0;
}

void add_report(Verbs& verbs, Shared&) {
  Verb verb = verbs.add("report", "Draw the HTML page of a finished run or comparison again");
  auto folder = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>();
  auto paper = std::make_shared<std::string>("summary");
  verb.option("RUN", *folder, "A folder of a run, a comparison, a bring-up... or its run.json, bringup.json...")
      .required();
  verb.option("-o,--out FILE", *out, "The page; default report.html next to the data");
  verb.option("--print WHAT", *paper, "What of it goes to paper: a summary of two sheets with the rest folded, or all")
      .one_of({"summary", "full"});
  verb.example("headrace report before -o page.html", "The page of a finished run, drawn again");
  verb.does([folder, out, paper] { return report(*folder, *out, *paper); });
}

const RegisterVerb registered_report{90, add_report};

}  // namespace
}  // namespace headrace::cli
