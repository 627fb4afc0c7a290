#include "benches/headrace/finish_blocks.h"

#include "benches/headrace/compare_text.h"
#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/terminal.h"
#include "harness/analysis/comparison/output.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::cli {

int finish_blocks(session::Interleaved& result, const MarkedFolder& folder, OutputForm reported, bool report,
                  const Shared& shared) {
  std::string files = "blocks.json";
  if (result.comparison) {
    result.comparison->command = shared.command;
    comparison::write_comparison(*result.comparison, folder);
    files += ", comparison.json, comparison.csv, junit.xml";
    if (report) {
      const Drawn drawn = draw_into(folder, "comparison.json");
      if (drawn.page.empty())
        print_stderr_line(Text::format("report: not drawn: {}", drawn.reason));
      else
        files = "report.html, " + files;
    }
    if (reported == OutputForm::json) print_document(comparison_json(*result.comparison));
    const Terminal terminal(stdout, shared);
    if (reported == OutputForm::text)
      print(answer_text(comparison_answer(*result.comparison), terminal) +
            comparison_text(*result.comparison, terminal, false));
  }
  const int code = result.signal != 0 ? exit_code(Outcome::interrupted, result.signal) : result.comparison->exit_code;
  if (reported == OutputForm::json || reported == OutputForm::none) return code;
  print_line("files   " + wrap(Text::format("{}: {}", folder.path(), files), 96, 8));
  if (result.signal != 0)
    print_line(Text::format("next    the same command with --out {} goes on after block {}", folder.path(),
                            result.blocks.finished()));
  if (reported == OutputForm::files) return code;
  if (result.signal != 0)
    print_line(Text::format("VERDICT INTERRUPTED blocks={} exit={}", result.blocks.finished(), code));
  else
    print_line(comparison_last_line(*result.comparison));
  return code;
}

}  // namespace headrace::cli
