// headrace plan: what a run would do, without doing it. headrace validate: only whether the files
// are right.
#include <cstdio>

#include "benches/headrace/console.h"
#include "benches/headrace/plan_options.h"
#include "harness/engine/launch.h"
#include "harness/engine/plan/room.h"

namespace headrace::cli {
namespace {

void add_plan(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("plan", "Show what a run would do: points, repetitions, bytes, needs (same as --dry-run)");
  auto arguments = std::make_shared<PlanArguments>();
  auto json = std::make_shared<bool>(false);
  add_plan_options(verb, *arguments);
  verb.flag("--json", *json, "Print JSON");
  verb.example("headrace plan -c configs/quickstart.yaml --job configs/jobs/resnet50-imagenet.yaml",
               "What the quick start would do, and write");
  verb.does([&shared, arguments, json] {
    const Plan plan = make_plan(plan_options(*arguments));
    check_room(plan);
    if (ranks::launched().rank > 0) return 0;  // rank 0 says it for all
    if (*json)
      print_document(plan_json(plan) + "\n");
    else
      print_line(plan_text(plan, shared));
    return 0;
  });
}

void add_validate(Verbs& verbs, Shared&) {
  Verb verb = verbs.add("validate", "Check a configuration (and a job) completely; run nothing");
  auto arguments = std::make_shared<PlanArguments>();
  add_plan_options(verb, *arguments);
  verb.example("headrace validate -c configs/storage.yaml",
               "Check the file: report every problem with its line and column");
  verb.does([arguments] {
    const Plan plan = make_plan(plan_options(*arguments));
    check_room(plan);
    print_line(Text::format("{}: good: {} points, {} needs", plan.config_file, plan.points.size(),
                            plan.needs.size() + plan.declared_needs.size()));
    return 0;
  });
}

const RegisterVerb plan_registered{60, add_plan};
const RegisterVerb validate_registered{50, add_validate};

}  // namespace
}  // namespace headrace::cli
