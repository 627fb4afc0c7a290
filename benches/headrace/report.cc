// headrace report: draws the page of a finished run again, from its run.json.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "benches/headrace/report_maker.h"
#include "benches/headrace/verb.h"
#include "harness/diagnostics.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

int report(const std::string& run, const std::string& out) {
  const fs::path run_json = fs::is_directory(run) ? fs::path(run) / "run.json" : fs::path(run);
  if (!fs::is_regular_file(run_json)) {
    throw UsageError(
        fmt::format("report: {}: no run.json there (give a run folder or its run.json)", run));
  }
  const std::string file = out.empty() ? (run_json.parent_path() / "report.html").string() : out;
  const Drawn drawn = draw_report(run_json.string(), file);
  if (drawn.file.empty()) {
    std::fprintf(stderr, "report: %s\n", drawn.reason.c_str());
    return drawn.bad_run ? 2 : 1;
  }
  std::puts(drawn.file.c_str());
  return 0;
}

void add_report(CLI::App& app, Shared&, std::function<int()>& run) {
  auto* verb = app.add_subcommand("report", "Draw a finished run's HTML page again");
  auto folder = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>();
  verb->add_option("RUN", *folder, "A run folder, or its run.json")->required();
  verb->add_option("-o,--out", *out, "The page; default RUN/report.html");
  verb->callback([&run, folder, out] { run = [folder, out] { return report(*folder, *out); }; });
}

const RegisterVerb registered{90, add_report};

}  // namespace
}  // namespace headrace::cli
