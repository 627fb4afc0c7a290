// headrace verdict --job: a stored run compared with another job, where its points do what that job does.
#pragma once

#include "benches/headrace/verb.h"

namespace headrace::cli {

struct JobArguments {
  std::string job, history;  // "" = the stored verdict is asked for
  std::vector<std::string> overrides;
};

/// Adds --job, --set and --history, which go with FILE and --json, those added before.
void add_job_options(Verb& verb, JobArguments& arguments);

/// Returns the exit code of the verdict.
int verdict_by_job(const std::string& file, const JobArguments& arguments, bool json, const Shared& shared);

}  // namespace headrace::cli
