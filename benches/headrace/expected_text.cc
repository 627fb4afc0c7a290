#include "benches/headrace/expected_text.h"

#include <algorithm>
#include <vector>

#include "harness/base/units.h"

namespace headrace::cli {
namespace {

using expectations::Expected;
using expectations::Standing;

struct OutcomeLook {
  Outcome symbol;
  Ink ink;
};

OutcomeLook look_of(Standing standing) {
  switch (standing) {
    case Standing::far_below:
      return {Outcome::fail, Ink::bad};
    case Standing::perhaps:
    case Standing::above:
      return {Outcome::inconclusive, Ink::doubt};
    case Standing::below:
    case Standing::usual:
      return {Outcome::pass, standing == Standing::usual ? Ink::good : Ink::plain};
    case Standing::not_known:
      break;
  }
  return {Outcome::skipped, Ink::faint};
}

bool is_finding(const Expected& e) { return e.standing != Standing::usual && e.standing != Standing::not_known; }

}  // namespace

Text expected_text(std::span<const Expected> figures, const Terminal& terminal, bool findings_alone) {
  std::vector<const Expected*> rows;
  for (const Expected& e : figures)
    if (!findings_alone || is_finding(e)) rows.push_back(&e);
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Expected* a, const Expected* b) { return a->standing < b->standing; });
  Text out = terminal.paint("compared with healthy hardware", Ink::strong) + "\n";
  for (const Expected* e : rows) {
    const OutcomeLook look = look_of(e->standing);
    const Text measured = e->measured ? Text(format_quantity(*e->measured, Dimension::bytes_per_second)) : Text("-");
    const Text head = Text::format("{} {}  {}", e->point, e->metric, measured);
    out += Text::format("{} {}\n    {}\n", terminal.paint(symbol(look.symbol, terminal.ascii()), look.ink), head,
                        in_lines(Text(sentence(*e)), terminal, 4));
  }
  return out + "\n";
}

}  // namespace headrace::cli
