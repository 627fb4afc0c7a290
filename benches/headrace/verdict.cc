// headrace verdict: a stored verdict reported again, in milliseconds: for prologs and health checks.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "benches/headrace/bringup_text.h"
#include "benches/headrace/compare_options.h"
#include "benches/headrace/console.h"
#include "benches/headrace/expect.h"
#include "benches/headrace/summary.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/past_sessions.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/file_text.h"
#include "harness/base/system/installation.h"
#include "harness/base/units.h"
#include "harness/bringup/conclusion.h"
#include "harness/bringup/record.h"
#include "harness/engine/explain/questions.h"
#include "harness/job/job.h"
#include "harness/job/needs.h"
#include "harness/judge/verdict/across_sessions.h"
#include "harness/judge/verdict/slow_parts.h"
#include "harness/machine/network/hosts_file.h"
#include "harness/results/exports.h"
#include "harness/results/json_text.h"
#include "harness/results/metric_key.h"
#include "harness/results/parts.h"
#include "harness/results/replay.h"
#include "harness/results/stored_verdict.h"

namespace headrace::cli {
namespace {

// headrace verdict --job: a stored run compared with another job, where its points are like that job.

struct JobArguments {
  std::string job, history;  // "" = the stored verdict is asked for
  std::vector<std::string> overrides;
};

/// Needs that no point of the run answers, each with its reason.
nlohmann::ordered_json unanswered_json(const std::vector<Judgement>& unanswered) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Judgement& j : unanswered) all.push_back({{"id", j.id}, {"scope", j.scope}, {"why", j.explanation}});
  return all;
}

/// The report of past sessions on each judgement, where there are enough.
void hold_across(const std::string& history, const std::string& path, std::vector<Judgement>& judgements) {
  const results::StoredRun run = results::read_run_file(path);
  std::vector<results::StoredRun> past = past_runs(history);
  // A judged run is not part of its own history.
  std::erase_if(past, [&](const auto& one) { return one.id == run.id && one.started_utc == run.started_utc; });
  const comparison::PastSessions sessions(run, past);
  for (Judgement& j : judgements)
    if (const results::StoredPoint* point = run.find(j.point))
      judging::hold_across_sessions(
          sessions.of(results::point_key(*point), j.metric.substr(j.metric.find('.') + 1), results::value_of), j);
  sort_worst_first(judgements);
}

/// Returns the exit code of the verdict.
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
  print_line(Text::format("{}, compared with the needs of job {}", file, job.name));
  if (!counted.empty()) print_line(Text(counted));
  Text out = answer_text(answer_of(reported, std::nullopt, 0), terminal) + verdict_text(reported, shared);
  if (!unanswered.empty()) out += terminal.paint("not answered by this run", Ink::strong) + "\n";
  for (const Judgement& j : unanswered)
    out += "  " + wrap(Text::format("{}: {}", j.id, j.explanation), width - 4, 4) + "\n";
  if (!unanswered.empty())
    out += Text::format("next   headrace qualify {} measures all needs of the job\n", shell_word(a.job));
  print_line(out + last_line(reported.summary, reported.judgements));
  return reported.summary.exit_code;
}

/// Adds --job, --set and --history, which go with FILE and --json, those added before.
void add_job_options(Verb& verb, JobArguments& arguments) {
  verb.group("Another job");
  verb.option("--job JOB", arguments.job,
              "Judge the run by this job (configs/jobs/*.yaml); only points with the same accesses count");
  verb.group("Another job", false, "--job");
  verb.option("--set KEY=VALUE", arguments.overrides, "Override a key of the job, as in step.time=100ms (repeatable)")
      .one_value_each();
  verb.option("--history DIR", arguments.history,
              "A folder of past runs: from 8 of the same configuration and fingerprint on, bounds are widened by the "
              "spread between sessions");
  verb.alone("--job", {"FILE", "--json"});
  verb.example("headrace verdict before --job configs/jobs/resnet50-imagenet.yaml --set step.time=100ms",
               "Would the storage that was measured feed a faster step?");
}

using results::ExitMap;
using results::StoredVerdict;

constexpr int kUsage = 2, kDiffers = 1;
constexpr double kClockSkew_s = 300;  // clocks of nodes that are this far apart are no reason

/// Why what ended then has no age; "" = it has one. `ended_s`: since 1970, 0 = unknown.
std::string why_no_age(double ended_s, double age_s) {
  if (ended_s == 0) return "the file does not say when it was reached";
  return age_s < -kClockSkew_s ? "it is from the future: a clock is wrong" : "";
}

/// null = unknown.
nlohmann::ordered_json age_json(double ended_s, double age_s) {
  return ended_s == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(age_s);
}

struct VerdictArguments {
  std::string file, max_age, node, table;
  JobArguments by_job;
  bool json = false, replay = false, expect = false;
};

/// A stored verdict, and whether it is too old to rely on.
struct Reported {
  StoredVerdict verdict;             // with the word STALE and its code where it is too old; a FAIL stays a FAIL
  Outcome last = Outcome::measured;  // the word that the file has
  double age_s = 0, max_age_s = 0;
  std::string no_age, stale_why;
};

double max_age(const std::string& text) {
  if (text.empty()) return 0;
  return time_option("--max-age", text, "24h");
}

/// A run without needs gets no verdict.
Summary of_asker(Summary summary) {
  if (summary.needs == 0 && summary.exit_code == 0) summary.exit_code = exit_code(Outcome::incomplete);
  return summary;
}

Reported read(const VerdictArguments& arguments) {
  Reported reported;
  reported.max_age_s = max_age(arguments.max_age);
  reported.verdict = results::read_verdict_file(arguments.file);
  reported.verdict.summary = of_asker(reported.verdict.summary);
  reported.last = reported.verdict.summary.word;
  const double ended = reported.verdict.ended_s();
  reported.age_s = static_cast<double>(std::time(nullptr)) - ended;
  reported.no_age = why_no_age(ended, reported.age_s);
  if (reported.max_age_s == 0) return reported;
  if (!reported.no_age.empty()) {
    reported.stale_why = reported.no_age;
  } else if (reported.age_s > reported.max_age_s) {
    reported.stale_why = fmt::format("{} old, and --max-age is {}", format_duration(reported.age_s),
                                     format_duration(reported.max_age_s));
  }
  // Time mends no node: one that failed stays failed until it is measured again.
  if (!reported.stale_why.empty() && reported.last != Outcome::fail) {
    reported.verdict.summary.word = Outcome::stale;
    reported.verdict.summary.exit_code = exit_code(Outcome::stale);
  }
  return reported;
}

std::string sentence(const Reported& reported) {
  const StoredVerdict& v = reported.verdict;
  std::string out = fmt::format("{} on {}: ", v.name, v.node.empty() ? "?" : v.node);
  if (!reported.stale_why.empty())
    out += fmt::format("{}, last: {}", reported.stale_why, to_string(reported.last));
  else if (v.judgements.empty())
    out += "no verdict, as the run had no needs to judge";
  else
    out += fmt::format(
        "{} of {} needs met, {}", v.count(Outcome::pass), v.judgements.size(),
        reported.no_age.empty() ? format_duration(std::max(0.0, reported.age_s)) + " old" : reported.no_age);
  for (const Judgement& j : v.judgements)
    if (v.summary.word == Outcome::fail && j.outcome == Outcome::fail)
      out += judging::of_a_part(j) ? fmt::format("; {} is bad", j.scope) : fmt::format("; {} missed", j.id);
  return out;
}

std::string reported_json(const Reported& reported) {
  const StoredVerdict& v = reported.verdict;
  const Summary& s = v.summary;
  return results::json_text({{"word", s.word},
                             {"exit_code", s.exit_code},
                             {"stale", !reported.stale_why.empty()},
                             {"why", reported.stale_why},
                             {"last", reported.last},
                             {"age_s", age_json(v.ended_s(), reported.age_s)},
                             {"run", v.id},
                             {"node", v.node},
                             {"path", v.path},
                             {"pass", s.pass},
                             {"fail", s.fail},
                             {"inconclusive", s.inconclusive},
                             {"skipped", s.skipped},
                             {"error", s.error},
                             {"thin", v.thin()}});
}

/// For callers that map exit codes, an unusable file is a line and a code like any other.
int unusable(const UsageError& problem, ExitMap map) {
  std::string first = problem.what();
  first = first.substr(0, first.find('\n'));
  if (map == ExitMap::nagios)
    print_line(Text::format("HEADRACE UNKNOWN - {}", first));
  else
    print_line(Text::format("headrace: no verdict: {}", first));
  return kUsage;
}

/// The verdict once more, from the repetitions that run.json holds.
int judge_again(const VerdictArguments& arguments) {
  const results::Replay again = results::replay(arguments.file);
  for (const std::string& difference : again.differences) print_line(Text(difference));
  const Summary summary = of_asker(again.summary);
  print_line(Text::format("{}\n{}",
                          again.differences.empty() ? "The stored evidence gives the stored verdict"
                                                    : "The stored evidence gives another verdict",
                          last_line(summary, again.judgements)));
  return again.differences.empty() ? summary.exit_code : kDiffers;
}

/// The file of a bring-up where `path` is one; "" = it is not.
std::string bringup_file(const std::string& path) {
  std::error_code ignored;
  const std::string within = path + "/" + bringup::kFile;
  if (std::filesystem::is_regular_file(within, ignored)) return within;
  return std::filesystem::path(path).filename() == bringup::kFile ? path : "";
}

/// By the name that the hosts file has, or that the host has for itself.
const bringup::NodeRecord& node_called(const bringup::Record& record, const std::string& name,
                                       const std::string& file) {
  std::vector<std::string> known, own;
  std::vector<std::size_t> selves;  // that have the name for themselves
  for (const bringup::NodeRecord& node : record.nodes) {
    known.push_back(node.host.name);
    own.push_back(node.facts && !node.missing.duplicate ? node.facts->host : "");
    if (is_same_host(own.back(), name)) selves.push_back(own.size() - 1);
  }
  if (selves.size() > 1)
    throw UsageError(
        fmt::format("{}: {} nodes call themselves {}: give each host a name of its own, or ask by another name in the "
                    "hosts file",
                    file, selves.size(), name));
  auto at = host_named(known, name);
  if (at && !selves.empty() && selves.front() != *at)
    throw UsageError(fmt::format("{}: {} in the hosts file is another node than {}, which calls itself {}", file,
                                 known[*at], known[selves.front()], name));
  if (!at) at = host_named(own, name);
  if (!at) throw UsageError(fmt::format("{}: no node {}{}", file, name, did_you_mean(name, known)));
  return record.nodes[*at];
}

struct NodeVerdict {
  Outcome word = Outcome::inconclusive;
  std::string what;
};

NodeVerdict verdict_on(const bringup::Record& record, const bringup::NodeRecord& node) {
  NodeVerdict verdict{bringup::is_bad(node.state)        ? Outcome::fail
                      : node.missing                     ? Outcome::incomplete
                      : bringup::is_accepted(node.state) ? Outcome::pass
                                                         : Outcome::inconclusive,
                      node.word() == to_string(bringup::NodeState::retested)
                          ? fmt::format("{} passed its retest", node.host.name)
                          : fmt::format("{} is {}", node.host.name, word_of(node.word()))};
  const auto number = static_cast<unsigned>(&node - record.nodes.data());
  for (const bringup::NamedFault& fault : record.faults)
    if (fault.of_node(number)) verdict.what += "; " + fault.text;
  if (node.missing) verdict.what += "; " + node.missing.why;
  return verdict;
}

/// When it ended; 0 = unknown.
double ended_s(const bringup::SessionRecord& session) {
  const auto started_s = results::unix_seconds(session.started_utc);
  return started_s ? *started_s + session.elapsed_s : 0;
}

/// When the node was measured last: a session that continues or retests others measures some nodes, or none.
double measured_s(const bringup::Record& record, unsigned node) {
  for (auto session = record.sessions.rbegin(); session != record.sessions.rend(); ++session)
    if (std::ranges::find(session->passed, node) != session->passed.end() || session->failed.contains(node))
      return ended_s(*session);
  return record.sessions.empty() ? 0 : ended_s(record.sessions.back());
}

/// A verdict on all nodes is as old as the oldest measurement of an accepted one.
double measured_s(const bringup::Record& record) {
  double oldest = record.sessions.empty() ? 0 : ended_s(record.sessions.back());
  for (unsigned node = 0; node < record.nodes.size(); ++node)
    if (bringup::is_accepted(record.nodes[node].state)) oldest = std::min(oldest, measured_s(record, node));
  return oldest;
}

/// The verdict of a bring-up, or of one of its nodes.
int verdict_of_bringup(const VerdictArguments& arguments, const std::string& file, const Shared& shared) {
  const bringup::Record record = bringup::concluded_from(file_text(file, std::size_t{1} << 30), file);
  const bringup::NodeRecord* const node = arguments.node.empty() ? nullptr : &node_called(record, arguments.node, file);
  NodeVerdict reported = node == nullptr ? NodeVerdict{record.word, record.sentence} : verdict_on(record, *node);
  const double at_s =
      node == nullptr ? measured_s(record) : measured_s(record, static_cast<unsigned>(node - record.nodes.data()));
  double age_s = static_cast<double>(std::time(nullptr)) - at_s;
  const std::string no_age = why_no_age(at_s, age_s);
  if (no_age.empty()) age_s = std::max(0.0, age_s);
  const double most_s = max_age(arguments.max_age);
  // Time mends no node: one that is bad stays so until it is tested again.
  const bool stale = most_s > 0 && (!no_age.empty() || age_s > most_s);
  if (stale && !no_age.empty())
    reported.what += fmt::format("; {}", no_age);
  else if (stale)
    reported.what += fmt::format("; {} old, and --max-age is {}", format_duration(age_s), format_duration(most_s));
  if (stale && reported.word != Outcome::fail) reported.word = Outcome::stale;
  const int code = exit_code(reported.word);
  if (arguments.json)
    print_document(results::json_text({{"word", reported.word},
                                       {"exit_code", code},
                                       {"stale", stale},
                                       {"age_s", age_json(at_s, age_s)},
                                       {"node", arguments.node},
                                       {"path", file},
                                       {"why", reported.what}}));
  else if (shared.exit_map == ExitMap::nagios)
    print_line(Text::format("HEADRACE {} - {}",
                            reported.word == Outcome::pass   ? "OK"
                            : reported.word == Outcome::fail ? "CRITICAL"
                                                             : "UNKNOWN",
                            reported.what));
  else
    print_line(Text::format("headrace: {}: {}", to_string(reported.word), reported.what));
  return code;
}

int verdict(const VerdictArguments& arguments, Shared& shared) {
  if (!arguments.by_job.job.empty()) return verdict_by_job(arguments.file, arguments.by_job, arguments.json, shared);
  if (arguments.expect) return expected_of_run(arguments.file, arguments.table, arguments.json, shared);
  if (arguments.replay) return judge_again(arguments);
  try {
    if (const std::string file = bringup_file(arguments.file); !file.empty())
      return verdict_of_bringup(arguments, file, shared);
    if (!arguments.node.empty())
      throw UsageError(fmt::format("{}: --node asks about a bring-up, and none is there", arguments.file));
  } catch (const UsageError& problem) {
    if (shared.exit_map == ExitMap::headrace) throw;
    return unusable(problem, shared.exit_map);
  }
  Reported reported;
  try {
    reported = read(arguments);
  } catch (const UsageError& problem) {
    if (shared.exit_map == ExitMap::headrace) throw;
    return unusable(problem, shared.exit_map);
  }
  *shared.remark = reported.verdict.remark();
  if (arguments.json) {
    print_document(reported_json(reported));
  } else if (shared.exit_map == ExitMap::nagios) {
    print_document(results::nagios_text(reported.verdict, reported.stale_why));
  } else if (shared.exit_map == ExitMap::nhc || shared.exit_map == ExitMap::slurm_prolog ||
             shared.exit_map == ExitMap::npd) {
    print_line(Text::format("headrace: {}: {}", to_string(reported.verdict.summary.word), sentence(reported)));
  } else {
    print_line(
        Text::format("{}\n{}", sentence(reported), last_line(reported.verdict.summary, reported.verdict.judgements)));
  }
  return reported.verdict.summary.exit_code;
}

void add_verdict(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("verdict", "Print a stored verdict in milliseconds: for prologs and health checks");
  auto a = std::make_shared<VerdictArguments>();
  verb.option("FILE", a->file, "verdict.json, or a run folder; or the folder of a bring-up").required();
  verb.option("--node NODE", a->node, "Of a bring-up: the verdict on this node");
  verb.option("--max-age TIME", a->max_age,
              "An older verdict is STALE (exit code 12), as in 24h or 7d; an older FAIL stays a FAIL");
  verb.flag("--replay", a->replay,
            "Judge again from the repetitions in run.json; exit code 1 if the verdict differs from the "
            "stored one");
  verb.flag("--json", a->json, "Print it as JSON");
  verb.example("headrace verdict before --max-age 24h",
               "A stored verdict, with its exit code; STALE if it is a day old and no FAIL");
  verb.example("headrace verdict cluster --node $(hostname -s) --exit-map nhc",
               "What a bring-up found of this node: 1 if it is bad, else 0");
  verb.group("Healthy hardware");
  verb.flag("--expect", a->expect, "Compare the values of a run with those of healthy hardware");
  verb.group("Healthy hardware", false, "--expect");
  add_expectations_option(verb, a->table);
  verb.alone("--expect", {"FILE", "--json"});
  add_job_options(verb, a->by_job);
  verb.alone("--replay", {"FILE"});
  verb.does([&shared, a] { return verdict(*a, shared); });
}

const RegisterVerb registered_verdict{82, add_verdict};

}  // namespace
}  // namespace headrace::cli
