// headrace export: a finished run in the formats of other tools.
#include <fmt/format.h>

#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/output.h"
#include "harness/results/exports.h"

namespace headrace::cli {
namespace {

using results::JunitInconclusive;

struct ExportArguments {
  std::string run, format, out, inconclusive = "error";
};

JunitInconclusive junit_word(const std::string& word) {
  return word == "failure"   ? JunitInconclusive::failure
         : word == "skipped" ? JunitInconclusive::skipped
                             : JunitInconclusive::error;
}

std::string exported(const ExportArguments& arguments) {
  const results::StoredRun run = results::read_run_file(arguments.run);
  return results::export_format(arguments.format).text(run, {.inconclusive = junit_word(arguments.inconclusive)});
}

int export_run(const ExportArguments& arguments) {
  const std::string text = exported(arguments);
  if (arguments.out.empty()) {
    print_document(text);
  } else {
    files::write_output(arguments.out, text);
    print_line(arguments.out);
  }
  return 0;
}

void add_export(Verbs& verbs, Shared&) {
  Verb verb = verbs.add("export", "A finished run in the format of another tool");
  auto a = std::make_shared<ExportArguments>();
  verb.option("RUN", a->run, "A run folder, its run.json, or a report page").required();
  std::vector<std::string> words;
  for (const results::ExportFormat& format : results::export_formats()) words.emplace_back(format.word);
  verb.option("--format WORD", a->format, fmt::format("{}", fmt::join(words, ", "))).required().one_of(words);
  verb.option("-o,--out FILE", a->out, "Write it there, whole or not at all; default: print it");
  verb.option("--junit-inconclusive WORD", a->inconclusive,
              "What an INCONCLUSIVE need is in JUnit: error, failure or skipped")
      .one_of({"error", "failure", "skipped"})
      .shows_default();
  verb.example("headrace export before --format prom", "The metrics of a finished run, for Prometheus");
  verb.does([a] { return export_run(*a); });
}

const RegisterVerb registered_export{92, add_export};

}  // namespace
}  // namespace headrace::cli
