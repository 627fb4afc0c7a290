// The far end of a bring-up: serves a collector's requests on this host, read from standard input, until that ends.
#pragma once

#include <functional>
#include <string>

namespace headrace::agents {

/// `say` writes one line to the process that started this one, at once. Answers every request line; never throws for
/// one. `input`: the descriptor that requests are read from.
void serve_agent(int input, const std::function<void(const std::string&)>& say);

}  // namespace headrace::agents
