#include "harness/results/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/file_text.h"
#include "harness/results/run_file.h"
#include "harness/results/stored_record.h"
#include "harness/results/stored_verdict.h"

namespace headrace::results {
namespace {

std::string shown(const std::optional<double>& value) { return value ? fmt::format("{:.17g}", *value) : "none"; }

/// Reports that the file has `stored` where its record gives `again`.
template <class T>
void compare(const std::string& what, const T& stored, const T& again, std::vector<std::string>& differences) {
  if (stored == again) return;
  const auto text = [](const T& value) {
    if constexpr (std::is_same_v<T, std::optional<double>>)
      return shown(value);
    else
      return fmt::format("{}", value);
  };
  differences.push_back(
      fmt::format("{}: the file says {}, what it recorded gives {}", what, text(stored), text(again)));
}

void compare(const Judgement& stored, const Judgement& again, std::vector<std::string>& differences) {
  const std::string name = stored.id + " (" + stored.scope + ") ";
  compare(name + "outcome", to_string(stored.outcome), to_string(again.outcome), differences);
  compare(name + "reason", to_string(stored.reason), to_string(again.reason), differences);
  compare(name + "explanation", stored.explanation, again.explanation, differences);
  compare(name + "next step", stored.next_step, again.next_step, differences);
  compare(name + "point", stored.point, again.point, differences);
  compare(name + "way", stored.way, again.way, differences);
  compare(name + "unproven", stored.unproven, again.unproven, differences);
  compare(name + "metric", stored.metric, again.metric, differences);
  compare(name + "need", stored.need, again.need, differences);
  compare(name + "thin", stored.thin, again.thin, differences);
  compare(name + "measured", stored.measured, again.measured, differences);
  compare(name + "low", stored.low, again.low, differences);
  compare(name + "high", stored.high, again.high, differences);
  compare(name + "headroom", stored.headroom, again.headroom, differences);
}

}  // namespace

RecordedRun read_recorded_run(const std::string& path) {
  const std::string file = run_file_in(path);
  try {
    const nlohmann::json document = parse_kind(file_text(file), "headrace.run", kLongLists);
    const JsonPlace root(document);
    RecordedRun run;
    run.name = root.at("run").text("name", "");
    run.signal = static_cast<int>(root.at("run").whole("signal", 0));
    root.at("points").each([&](const JsonPlace& one) {
      run.points.push_back(read_recorded_point(one));
      run.nodes = std::max(run.nodes, run.points.back().nodes);
    });
    return run;
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

Replay replay(const std::string& path) {
  const std::string file = run_file_in(path);
  try {
    const nlohmann::json document = parse_kind(file_text(file), "headrace.run", kLongLists);
    const JsonPlace root(document);
    std::vector<judging::RecordedPoint> points;
    std::vector<StoredStatus> statuses;
    root.at("points").each([&](const JsonPlace& one) {
      points.push_back(read_recorded_point(one));
      statuses.push_back({points.back().id, one.at("status").text()});
    });
    StoredVerdict stored;
    read_verdict(root, statuses, stored);
    Replay again;
    again.judgements = judging::judge_run(read_questions(root), points);
    again.summary =
        judging::summarize_run(again.judgements, points, static_cast<int>(root.at("run").whole("signal", 0)));
    compare("verdict", to_string(stored.summary.word), to_string(again.summary.word), again.differences);
    compare("exit code", stored.summary.exit_code, again.summary.exit_code, again.differences);
    compare("number of judgements", stored.judgements.size(), again.judgements.size(), again.differences);
    for (std::size_t i = 0; i < std::min(stored.judgements.size(), again.judgements.size()); ++i) {
      const std::string name = fmt::format("judgement {}", i + 1);
      compare(name, stored.judgements[i].id, again.judgements[i].id, again.differences);
      if (stored.judgements[i].id == again.judgements[i].id)
        compare(stored.judgements[i], again.judgements[i], again.differences);
    }
    return again;
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace headrace::results
