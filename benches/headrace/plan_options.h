// The options that choose what to run: the same for run, qualify and rehearse.
#pragma once

#include "benches/headrace/text.h"
#include "benches/headrace/verb.h"
#include "harness/engine/plan/plan.h"

namespace headrace::cli {

/// The options' values, before they become PlanOptions.
struct PlanArguments {
  std::string file;  // a job or a configuration, distinguished by content
  std::string config;
  std::string job;
  std::string at, data, max_write;
  std::vector<std::string> set;
  std::vector<std::string> only, skip;
  std::string looks, budget;
  std::optional<std::uint64_t> seed;
  std::size_t max_points = 200;
};

/// By content. A file that cannot be read, and a pipe, are none.
bool is_configuration(const std::string& file);

/// Adds FILE, --at, --data, --max-write, -c, --job, --set, --only, --skip, --looks, --budget, --seed, --max-points.
void add_plan_options(Verb& verb, PlanArguments& arguments);

/// The same options as words of a command line.
std::vector<std::string> plan_words(const PlanArguments& arguments);

/// Reports FILE's kind, splits --set into the job's (job.KEY=VALUE) and the configuration's, parses looks and budget.
/// Throws UsageError.
PlanOptions plan_options(const PlanArguments& arguments);

/// The plan in words: points with repetitions, bytes read and written, needs asked and not asked.
/// For standard output.
Text plan_text(const Plan& plan, const Shared& shared);
/// The same as JSON.
std::string plan_json(const Plan& plan);

}  // namespace headrace::cli
