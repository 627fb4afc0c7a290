// headrace observe --replay: a trace's accesses, done again on another storage.
#pragma once

#include "benches/headrace/verb.h"

namespace headrace::cli {

struct ReplayArguments {
  std::vector<std::string> traces;  // none: nothing is replayed
  std::string at, data, max_write = "4GiB";
  unsigned tries = 3;
};

/// Adds --replay, and its own options; it goes with --format, of those added before.
void add_replay_options(Verb& verb, ReplayArguments& arguments);

int replay(const ReplayArguments& arguments, bool json, const Shared& shared);

}  // namespace headrace::cli
