// headrace report: draws the page of a finished run or comparison again, from the file that holds it. Or writes a run
// in the format of another tool.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/files/output.h"
#include "harness/results/exports.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

/// The files from which a page can be drawn, by name.
constexpr const char* kData[] = {"run.json",     "comparison.json", "size.json",    "fleet.json",
                                 "history.json", "observe.json",    "bringup.json", "simulation.json"};

fs::path data_file(const std::string& given) {
  if (fs::is_regular_file(given)) return given;
  std::string names;
  for (const char* name : kData) {
    if (fs::is_regular_file(fs::path(given) / name)) return fs::path(given) / name;
    names += fmt::format("{}{}", names.empty() ? "" : " or ", name);
  }
  throw UsageError(fmt::format("report: {}: no {} there (give a folder that holds one, or the file)", given, names));
}

std::string folder_of(const fs::path& file) { return file.parent_path().empty() ? "." : file.parent_path().string(); }

/// report.html in headrace's folder, or in a copy of one.
void write_page(const std::string& file, const std::string& page) {
  const std::string folder = folder_of(file);
  if (MarkedFolder::is_marked(folder)) {
    MarkedFolder::make_alone(folder, MarkedFolder::kind_of(folder)).write("report.html", page);
  } else if (fs::is_symlink(file)) {  // the owner of the link chose its target
    throw UsageError(fmt::format("report: {} is a symbolic link; name the file: --out FILE", file));
  } else {
    files::check_output(file, "", kPageSign);
    files::write_output(file, page);
  }
}

constexpr const char* kPage = "html";
constexpr const char* kStandardOutput = "-";

struct ReportArguments {
  std::string run, out, paper = "summary", format = kPage, inconclusive = "error";
};

int draw(const ReportArguments& arguments) {
  const fs::path data = data_file(arguments.run);
  const std::string beside = (data.parent_path() / "report.html").string(), &out = arguments.out;
  const bool own = fs::path(out).filename() == "report.html" && MarkedFolder::is_marked(folder_of(out));
  if (!own && !out.empty() && out != kStandardOutput) files::check_output(out, data.string(), kPageSign);
  const Drawn drawn = draw_report(data.string(), Form::page, arguments.paper == "full" ? Paper::full : Paper::summary);
  if (drawn.page.empty()) {
    print_stderr_line(Text::format("report: {}", drawn.reason));
    return drawn.bad_run ? 2 : 1;
  }
  if (out == kStandardOutput) {
    print_document(drawn.page);
    return 0;
  }
  if (out.empty() || own)
    write_page(own ? out : beside, drawn.page);
  else
    files::write_output(out, drawn.page);
  print_line(out.empty() ? beside : out);
  return 0;
}

/// Why a run gives nothing to a format of figures: the reason of its first point.
std::string without_figures(const results::StoredRun& run) {
  if (run.points.empty()) return "it measured no point";
  const results::StoredPoint& point = run.points.front();
  const std::string state = point.status == "ok"            ? "gave no value"
                            : point.status == "not_reached" ? "was not reached"
                                                            : point.status;
  return fmt::format("{} {}{}{}", point.id, state, point.reason.empty() ? "" : ": ", point.reason);
}

/// In the format of another tool.
int write_run(const ReportArguments& arguments) {
  if (arguments.paper == "full") throw UsageError("--print: is for a page, and --format selects another output");
  using Word = results::JunitInconclusive;
  const Word word = arguments.inconclusive == "failure"   ? Word::failure
                    : arguments.inconclusive == "skipped" ? Word::skipped
                                                          : Word::error;
  const results::ExportFormat& format = results::export_format(arguments.format);
  const results::StoredRun run = results::read_run_file(arguments.run);
  const std::string text = format.text(run, {.inconclusive = word});
  if (text.find(format.sign) == text.npos)  // only texts without a figure lack it
    print_stderr_line(
        Text::format("report: {} has no figures for {}: {}", arguments.run, format.word, without_figures(run)));
  if (arguments.out.empty() || arguments.out == kStandardOutput) {
    print_document(text);
  } else {
    files::check_output(arguments.out, results::run_file_in(arguments.run), format.sign);
    files::write_output(arguments.out, text);
    print_line(arguments.out);
  }
  return 0;
}

void add_report(Verbs& verbs, Shared&) {
  Verb verb = verbs.add("report", "Draw the HTML page of a finished run or comparison again, or write other formats");
  auto a = std::make_shared<ReportArguments>();
  verb.option("RUN", a->run, "A folder of a run, a comparison, a bring-up... or its run.json, bringup.json...")
      .required();
  std::vector<std::string> formats{kPage};
  for (const results::ExportFormat& format : results::export_formats()) formats.emplace_back(format.word);
  verb.option("--format WORD", a->format,
              fmt::format("{}; all but {} are only for runs", fmt::join(formats, ", "), kPage))
      .one_of(formats)
      .shows_default();
  verb.option("-o,--out FILE", a->out,
              "Write it there, - prints it; default: a page is report.html next to the data, else print it");
  verb.option("--print WHAT", a->paper,
              "What of a page goes to paper: a summary of two sheets with the rest folded, or all")
      .one_of({"summary", "full"});
  verb.option("--junit-inconclusive WORD", a->inconclusive,
              "What an INCONCLUSIVE need is in JUnit: error, failure or skipped")
      .one_of({"error", "failure", "skipped"})
      .shows_default();
  verb.example("headrace report before -o page.html", "The page of a finished run, drawn again");
  verb.example("headrace report before --format prom", "The metrics of a finished run, for Prometheus");
  verb.does([a] { return a->format == kPage ? draw(*a) : write_run(*a); });
}

const RegisterVerb registered_report{90, add_report};

}  // namespace
}  // namespace headrace::cli
