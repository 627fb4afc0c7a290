// The far end of a bring-up: does on this host what a collector asks for on standard input, until that ends.
#pragma once

#include <functional>
#include <string>

namespace headrace::agents {

/// `say` writes one line to whoever started this process, at once. Answers every line that it is asked; never throws for
/// what is asked. `input`: the descriptor that requests are read from.
void serve_agent(int input, const std::function<void(const std::string&)>& say);

}  // namespace headrace::agents
