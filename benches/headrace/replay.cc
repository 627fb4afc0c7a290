#include "benches/headrace/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "benches/headrace/console.h"
#include "benches/headrace/session/supervisor.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/units.h"
#include "harness/observe/calls/read.h"
#include "harness/observe/command.h"
#include "harness/observe/replay/laid_files.h"
#include "harness/observe/replay/run.h"
#include "harness/observe/replay/utilization.h"

namespace headrace::cli {
namespace {

namespace played = observe::replay;
using nlohmann::ordered_json;

constexpr std::size_t kMostThreads = 2048;
constexpr double kLittle = 0.1;  // of the threads' time
constexpr std::array<const char*, played::kOps> kOpNames{"open",   "read",  "seek", "stat",  "close",
                                                         "create", "write", "sync", "rename"};

std::string seconds_text(double seconds) { return format_quantity(seconds, Dimension::seconds); }
std::string bytes_text(std::uint64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); }

/// The findings over all tries.
struct Replays {
  played::Plan plan;
  std::optional<played::Fed> fed;
  std::vector<played::Replayed> tries;

  /// Least, middle and most of the tries' times.
  std::array<double, 3> seconds() const {
    std::vector<double> all;
    for (const played::Replayed& one : tries) all.push_back(one.seconds);
    std::sort(all.begin(), all.end());
    return {all.front(), all[all.size() / 2], all.back()};
  }
  std::uint64_t observed_bytes() const {
    std::uint64_t sum = 0;
    for (const played::PlannedThread& thread : plan.threads)
      for (const played::Step& step : thread.steps) sum += step.got;
    return sum;
  }
  played::OpTimes observed(std::size_t op) const {
    played::OpTimes sum;
    for (const played::PlannedThread& thread : plan.threads)
      for (const played::Step& step : thread.steps)
        if (static_cast<std::size_t>(step.op) == op) {
          ++sum.count;
          sum.seconds += step.observed_s;
        }
    return sum;
  }
  played::OpTimes replayed(std::size_t op) const {
    played::OpTimes sum;
    for (const played::Replayed& one : tries) {
      sum.count += one.ops[op].count;
      sum.seconds += one.ops[op].seconds;
    }
    return sum;
  }
  /// Share of the threads' time that was spent in storage, as it was observed.
  double observed_storage() const {
    double storage_s = 0, all_s = 0;
    for (const played::PlannedThread& thread : plan.threads) {
      if (thread.writes) continue;
      all_s += thread.last_s - thread.first_s;
      for (const played::Step& step : thread.steps) storage_s += step.observed_s;
    }
    return storage_s / std::max(1e-9, all_s);
  }
  double replayed_storage() const {
    const played::Replayed& one = tries.front();
    return one.storage_s / std::max(1e-9, one.storage_s + one.think_s);
  }
  /// The storage in addition to the observed one; "": it cannot be reported.
  std::string_view storage() const {
    if (!fed || !plan.think_known) return "";
    const double now = at_most(seconds()[1]);
    if (now < fed->low) return "worse";
    if (observed_storage() < kLittle && replayed_storage() < kLittle) return "decides_little";
    return now > fed->high ? "better" : "alike";
  }
  double at_most(double seconds) const { return played::fed_at_most(fed->value, plan.observed_s, seconds); }
};

std::string_view sentence(std::string_view word) {
  if (word == "worse") return "This storage would feed the job worse than the one that it was observed on";
  if (word == "better") return "This storage would feed the job better than the one that it was observed on";
  if (word == "alike") return "This storage would feed the job as well as the one that it was observed on";
  return "Storage decides little: neither there nor here does the loader spend a tenth of its time in it";
}

double mean(const played::OpTimes& times) {
  return times.count > 0 ? times.seconds / static_cast<double>(times.count) : 0;
}

Text outcome_text(const Replays& found, const std::string& where) {
  const played::Plan& plan = found.plan;
  const auto [least, middle, most] = found.seconds();
  Text out = Text::format("observed: {} of {} files, {} threads, {}\n", bytes_text(found.observed_bytes()),
                          plan.files.size(), plan.readers(), seconds_text(plan.observed_s));
  const bool once = found.tries.size() == 1;
  const auto range = [once](const Text& low, const Text& high) {
    return once ? Text() : Text::format(" [{}, {}]", low, high);
  };
  out += Text::format("replayed at {}, {}, cold as far as the kernel takes advice: {}{}\n", where,
                      once ? std::string("once") : fmt::format("{} times", found.tries.size()), seconds_text(middle),
                      range(seconds_text(least), seconds_text(most)));
  for (std::size_t op = 0; op < played::kOps; ++op)
    if (const played::OpTimes before = found.observed(op); before.count > 0)
      out += Text::format("  {:<6} {:>8} each: {} observed, {} replayed\n", kOpNames[op],
                          fmt::format("{} x", before.count), seconds_text(mean(before)),
                          seconds_text(mean(found.replayed(op))));
  out += Text::format("  in storage: {:.0f} % of the threads' time observed, {:.0f} % replayed\n",
                      100 * found.observed_storage(), 100 * found.replayed_storage());
  if (!plan.saves.empty())
    out += Text::format("  saves: {} of {} files, written at the times at which they were while others read\n",
                        bytes_text(found.tries.front().written_bytes), plan.saves.size());
  for (const auto& [why, count] : plan.left_out) out += Text::format("  not replayed: {} ({} calls)\n", why, count);
  out += Text("  not replayed: waiting for the process that takes the batches or for a processor, page faults\n");
  if (!plan.think_known)
    out += Text("  not replayed: computing between accesses, as this trace does not separate it from waiting\n");
  if (!found.fed) {
    out += Text("the trace does not show the compute time of training: only times are compared\n");
    return out;
  }
  out += Text::format(
      "AU: {:.0f} % [{:.0f}, {:.0f}] observed; here at most {:.0f} %{}\n", 100 * found.fed->value, 100 * found.fed->low,
      100 * found.fed->high, 100 * found.at_most(middle),
      range(Text::format("{:.0f}", 100 * found.at_most(most)), Text::format("{:.0f}", 100 * found.at_most(least))));
  if (plan.think_known) out += Text::format("{}\n", sentence(found.storage()));
  return out;
}

std::string outcome_json(const Replays& found, const std::string& where) {
  const auto [least, middle, most] = found.seconds();
  ordered_json document{
      {"schema", 1},
      {"at", where},
      {"files", found.plan.files.size()},
      {"bytes", found.plan.bytes()},
      {"threads", found.plan.readers()},
      {"observed_s", found.plan.observed_s},
      {"replayed_s", {{"value", middle}, {"low", least}, {"high", most}}},
      {"think_known", found.plan.think_known},
      {"storage_share", {{"observed", found.observed_storage()}, {"replayed", found.replayed_storage()}}}};
  for (std::size_t op = 0; op < played::kOps; ++op)
    document["calls"][kOpNames[op]] = {{"count", found.observed(op).count},
                                       {"observed_s", mean(found.observed(op))},
                                       {"replayed_s", mean(found.replayed(op))}};
  document["read_bytes"] = found.tries.front().read_bytes;
  document["written_bytes"] = found.tries.front().written_bytes;
  document["not_replayed"] = ordered_json::object();
  for (const auto& [why, count] : found.plan.left_out) document["not_replayed"][why] = count;
  if (found.fed) {
    document["utilization"] = {
        {"observed", {{"value", found.fed->value}, {"low", found.fed->low}, {"high", found.fed->high}}},
        {"at_most", {{"value", found.at_most(middle)}, {"low", found.at_most(most)}, {"high", found.at_most(least)}}}};
  }
  if (const std::string_view word = found.storage(); !word.empty()) document["storage"] = word;
  return document.dump(2) + "\n";
}

}  // namespace

int replay(const ReplayArguments& given, bool json, const Shared& shared) {
  if (given.at.empty() == given.data.empty())
    throw UsageError(
        "--replay: needs --at DIR, where files of the same sizes are made, or --data DIR, which has copies");
  const Parsed most = parse_quantity(given.max_write, Dimension::bytes);
  if (!most) throw UsageError(fmt::format("--max-write: '{}' {}", given.max_write, most.error));
  return session::supervised([&] {
    const observe::StopSignals signals;
    Replays found;
    {
      const observe::calls::Log log = observe::calls::read(given.traces);
      found.plan = played::plan(log, !given.at.empty());
      found.fed = played::observed_fed(log, given.traces.front());
    }
    if (found.plan.files.empty()) throw UsageError("--replay: no file of a data set was read in this trace");
    if (found.plan.threads.size() > kMostThreads)
      throw UsageError(fmt::format("--replay: {} threads read in it; {} can be replayed at most",
                                   found.plan.threads.size(), kMostThreads));
    const std::string where = given.at.empty() ? given.data : given.at;
    const auto stop = [&] { return signals.came() != 0; };
    std::optional<played::LaidFiles> laid;
    try {
      if (!given.at.empty()) laid.emplace(found.plan, given.at, static_cast<std::uint64_t>(most.value), stop);
      const std::vector<std::string> paths = laid ? laid->paths() : played::files_below(found.plan, given.data);
      for (unsigned n = 0; n < given.tries; ++n)
        found.tries.push_back(played::run(found.plan, paths, laid ? laid->saves() : nullptr, stop,
                                          [&] { session::leave(128 + signals.came()); }));
    } catch (const RunError&) {
      if (const std::string left = laid ? laid->remove() : ""; !left.empty())
        print_stderr_line(Text::format("--replay: {}", left));
      if (signals.came() == 0) throw;
      return 128 + signals.came();
    }
    if (const std::string left = laid ? laid->remove() : ""; !left.empty())
      print_stderr_line(Text::format("--replay: {}", left));
    if (json)
      print_document(outcome_json(found, where));
    else if (shared.verbosity >= 0)
      print(outcome_text(found, where));
    return 0;
  });
}

void add_replay_options(Verb& verb, ReplayArguments& arguments) {
  verb.group("Replay of a trace");
  verb.option("--replay FILE", arguments.traces,
              "Replay the accesses of a trace on other storage; FILE as --from takes it: of --trace, strace, DFTracer");
  verb.group("Replay of a trace", false, "--replay");
  verb.option("--at DIR", arguments.at,
              "A new or empty folder: files of the same sizes are made there, saves are written, and all is removed at "
              "the end");
  verb.option("--data DIR", arguments.data, "A folder that has copies of the files; only read");
  verb.group("Replay of a trace", true, "--replay");
  verb.option("--max-write SIZE", arguments.max_write, "Most bytes that are written with --at").shows_default();
  verb.option("--tries N", arguments.tries, "How often it is replayed; bounds are over those")
      .between(1, 100)
      .shows_default();
  verb.alone("--replay", {"--format", "--json"});
  verb.example("headrace observe --replay train.strace --at elsewhere",
               "What the accesses that strace wrote down take on another storage");
}

}  // namespace headrace::cli
