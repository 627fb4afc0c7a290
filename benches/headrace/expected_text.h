// Figures next to those of sound hardware, for people.
#pragma once

#include <span>

#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "harness/judge/expectations/hold.h"

namespace headrace::cli {

/// A row for each figure, those that are far below first; "" where there is none. `findings_alone`: of those that are
/// not as usual.
Text expected_text(std::span<const expectations::Expected> figures, const Terminal& terminal, bool findings_alone);

}  // namespace headrace::cli
