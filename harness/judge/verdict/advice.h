// The words of a judgement, apart from the judging.
#pragma once

#include <string>

#include "harness/judge/verdict/verdict.h"

namespace headrace {

/// One sentence: what was measured, what is needed, and for INCONCLUSIVE why nothing can be said.
/// `j` is judged.
std::string explain(const Evidence& e, const Judgement& j);

/// The cheapest next step, a command where there is one; "" when there is nothing to do.
std::string advise(const Judgement& j);

}  // namespace headrace
