// A sizing as people read it in a terminal.
#pragma once

#include "benches/headrace/answer.h"
#include "benches/headrace/terminal.h"
#include "harness/analysis/sizing/sizing.h"

namespace headrace::cli {

/// The text of a sizing, and the change that helps most.
Answer sizing_answer(const sizing::Sizing& sizing);

Text sizing_text(const sizing::Sizing& sizing, const Terminal& terminal);

/// Changes that would feed more GPUs, best first, each with its basis and the command that makes or measures it. ""
/// where nothing is short.
Text fixes_text(const sizing::Sizing& sizing, const Terminal& terminal);

/// "VERDICT FAIL gpus_fed=192 gpus=256 phase=checkpoint_save basis=extrapolated exit=10".
Text sizing_last_line(const sizing::Sizing& sizing);

}  // namespace headrace::cli
