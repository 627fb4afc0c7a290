#include "benches/headrace/verdict_by_job.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "benches/headrace/console.h"
#include "benches/headrace/past_runs.h"
#include "benches/headrace/summary.h"
#include "benches/headrace/terminal.h"
#include "harness/analysis/comparison/past_sessions.h"
#include "harness/base/system/installation.h"
#include "harness/engine/explain/questions.h"
#include "harness/job/job.h"
#include "harness/job/needs.h"
#include "harness/judge/verdict/across_sessions.h"
#include "harness/judge/verdict/slow_parts.h"
#include "harness/results/json_text.h"
#include "harness/results/metric_key.h"
#include "harness/results/parts.h"
#include "harness/results/replay.h"

namespace headrace::cli {
namespace {

/// Needs that no point of the run answers, each with its reason.
nlohmann::ordered_json unanswered_json(const std::vector<Judgement>& unanswered) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Judgement& j : unanswered) all.push_back({{"id", j.id}, {"scope", j.scope}, {"why", j.explanation}});
  return all;
}

/// What past sessions say of each judgement, where there are enough of them.
void hold_across(const std::string& history, const std::string& path, std::vector<Judgement>& judgements) {
  const results::StoredRun run = results::read_run_file(path);
  std::vector<results::StoredRun> past = past_runs(history);
  // What is judged is no history of itself.
  std::erase_if(past, [&](const auto& one) { return one.id == run.id && one.started_utc == run.started_utc; });
  const comparison::PastSessions sessions(run, past);
  for (Judgement& j : judgements)
    if (const results::StoredPoint* point = run.find(j.point))
      judging::hold_across_sessions(
          sessions.of(results::point_key(*point), j.metric.substr(j.metric.find('.') + 1), results::value_of), j);
  sort_worst_first(judgements);
}

}  // namespace

int verdict_by_job(const std::string& file, const JobArguments& a, bool json, const Shared& shared) {
  job::Job job = job::load_job(system::find_shipped(a.job), a.overrides);
  const results::RecordedRun run = results::read_recorded_run(file);
  const std::string counted = engine::adopt_format_overhead(job, run.points);
  const auto needs = job::judged_needs(job);
  const auto questions = engine::questions(&job, needs, run.points, run.nodes);
  RunResult reported;
  std::vector<Judgement> unanswered;
  bool answered = false;
  for (Judgement& j : judging::judge_run(questions, run.points)) {
    // Facts of the host fit any job.
    answered =
        answered || (j.outcome != Outcome::skipped && !judging::of_a_part(j) && !j.metric.starts_with("host_facts."));
    (j.outcome == Outcome::skipped ? unanswered : reported.judgements).push_back(std::move(j));
  }
  if (!a.history.empty()) hold_across(a.history, file, reported.judgements);
  reported.summary = judging::summarize_run(reported.judgements, run.points, run.signal);
  if (!answered) {  // nothing of the run fits the job
    reported.summary.word = worst(reported.summary.word, Outcome::incomplete);
    reported.summary.exit_code = exit_code(reported.summary.word);
  }
  if (json) {
    print_document(results::json_text({{"schema", 1},
                                       {"kind", "headrace.judge"},
                                       {"run", file},
                                       {"job", job.name},
                                       {"summary", results::summary_part(reported.summary)},
                                       {"judgements", results::judgements_part(reported)},
                                       {"unanswered", unanswered_json(unanswered)}}));
    return reported.summary.exit_code;
  }
  const Terminal terminal(stdout, shared);
  const auto width = std::min<std::size_t>(static_cast<std::size_t>(terminal.width()), 100);
  print_line(Text::format("{}, compared with what the job {} needs", file, job.name));
  if (!counted.empty()) print_line(Text(counted));
  Text out = answer_text(answer_of(reported, std::nullopt, 0), terminal) + verdict_text(reported, shared);
  if (!unanswered.empty()) out += terminal.paint("not answered by this run", Ink::strong) + "\n";
  for (const Judgement& j : unanswered)
    out += "  " + wrap(Text::format("{}: {}", j.id, j.explanation), width - 4, 4) + "\n";
  if (!unanswered.empty()) out += Text::format("next   headrace qualify {} measures what the job does\n", a.job);
  print_line(out + last_line(reported.summary, reported.judgements));
  return reported.summary.exit_code;
}

void add_job_options(Verb& verb, JobArguments& arguments) {
  verb.group("Another job");
  verb.option("--job JOB", arguments.job,
              "Judge the run by this job (configs/jobs/*.yaml), where its points do what the job does");
  verb.group("Another job", false, "--job");
  verb.option("--set KEY=VALUE", arguments.overrides, "Override a key of the job, as in step.time=100ms (repeatable)")
      .one_value_each();
  verb.option(
      "--history DIR", arguments.history,
      "A folder of past runs: from 8 of the same configuration and fingerprint on, bounds are widened by how far "
      "sessions lie apart");
  verb.alone("--job", {"FILE", "--json"});
  verb.example("headrace verdict before --job configs/jobs/resnet50-imagenet.yaml --set step.time=100ms",
               "Would the storage that was measured feed a faster step?");
}

}  // namespace headrace::cli
