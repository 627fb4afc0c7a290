#include "benches/headrace/findings.h"

#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"

namespace headrace::cli {

void print_findings(const Findings& findings, const std::optional<MarkedFolder>& folder, bool draw,
                    const std::string& format, const Shared& shared) {
  std::string page;
  if (folder) {
    const std::string name = findings.name, data = name + ".json";
    folder->write(data, findings.json());
    if (findings.csv) folder->write(name + ".csv", findings.csv());
    if (draw) page = drawn_or_reported(*folder, data.c_str());
  }
  if (format != "text") return print_document(format == "json" ? findings.json() : findings.csv());
  const Terminal terminal(stdout, shared);
  print(answer_text(findings.answer, terminal) + findings.text(terminal));
  if (!page.empty()) print(Text::format("page    {}\n", page));
  print_line(findings.last_line);
}

}  // namespace headrace::cli
