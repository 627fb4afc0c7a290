#include "benches/headrace/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "benches/headrace/table.h"
#include "harness/base/escape.h"
#include "harness/base/units.h"
#include "harness/job/need_kinds.h"
#include "harness/results/json_text.h"
#include "harness/workload/workload.h"

namespace headrace::cli {
namespace {

MetricInfo metric_of(const WorkloadInfo& info, const std::string& name, const Workload& workload) {
  const auto parts = workload.latency_parts();
  const auto all = metric_catalogue(info, parts, as<UsesDevices>(workload).devices());
  if (name.empty()) return all.front();
  std::vector<std::string> names;
  for (const MetricInfo& one : all) {
    if (one.name == name) return one;
    names.push_back(one.name);
  }
  throw UsageError(fmt::format("--metric: {} has no metric '{}'{} (metrics: {})", info.name, name,
                               did_you_mean(name, names), join(names)));
}

/// "12 answers of 503 SlowDown or 429; 14 requests sent again, after pauses of 3.1 s", or "". Of all repetitions.
std::string retries_of(const PointResult& result) {
  double throttled = 0, retries = 0, wait_s = 0;
  for (const Repetition& r : result.repetitions)
    for (const MetricValue& one : r.metrics) {
      if (one.name == "throttled_requests") throttled += one.value;
      if (one.name == "retries") retries += one.value;
      if (one.name == "retry_wait_s") wait_s += one.value;
    }
  std::string text = throttled > 0 ? fmt::format("{:.0f} answers of 503 SlowDown or 429", throttled) : "";
  if (retries > 0)
    text += fmt::format("{}{:.0f} requests sent again, after pauses of {}", text.empty() ? "" : "; ", retries,
                        format_duration(wait_s));
  return text;
}

ScanRow row_of(const PointResult& result, const std::string& metric) {
  ScanRow row;
  row.retried = retries_of(result);
  const std::string_view id = result.point->id;
  row.point = id.size() > result.point->info->name.size() ? id.substr(result.point->info->name.size() + 1) : id;
  const auto found = std::find_if(result.metrics.begin(), result.metrics.end(),
                                  [&](const MetricSummary& m) { return m.name == metric && !m.values.empty(); });
  for (const Repetition& r : result.repetitions) {
    row.taken += r.status == RepetitionStatus::ok;
    row.disturbed += r.status == RepetitionStatus::ok && r.disturbance.disturbed;
  }
  for (const char* const name : {"read_bandwidth", "write_bandwidth", "read_iops", "latency_p50_ns", "latency_p99_ns"})
    for (const MetricSummary& other : result.metrics)
      if (other.name == name && name != metric && !other.values.empty()) row.others.emplace_back(name, other.median);
  if (found == result.metrics.end()) {
    if (!result.repetitions.empty() && !result.repetitions.back().phases.empty()) {
      const PhaseResult& phase = result.repetitions.back().phases.front();
      if (phase.operations > 0)
        row.partial = fmt::format("until it was stopped: {} operations, {}, {}", phase.operations,
                                  job::format_named(phase.operations_per_s(), "1/s", "rate"),
                                  job::format_named(phase.bytes_per_s(), "B/s", "rate"));
    }
    const auto why = result.missing.find(metric);
    row.missing = result.status == PointStatus::not_reached ? "not reached"
                  : !result.reason.empty()                  ? result.reason
                  : why != result.missing.end()             ? why->second
                  : row.taken == 0                          ? "stopped before the first repetition ended"
                                                            : "not reported";
    return row;
  }
  for (const Repetition& r : result.repetitions)
    if (row.unproven.empty() && r.counted && !r.cache.is_evidence())
      row.unproven = fmt::format("not proven {}: {}", to_string(r.cache.declared), r.cache.why);
  row.values = found->values;
  row.repetitions = row.values.size();
  const double sum = std::accumulate(row.values.begin(), row.values.end(), 0.0);
  row.mean = found->mean_over_time.value_or(sum / static_cast<double>(row.repetitions));
  row.median = found->median;
  row.shown = found->shown();
  row.low = found->low;
  row.high = found->high;
  row.least = *std::min_element(row.values.begin(), row.values.end());
  row.most = *std::max_element(row.values.begin(), row.values.end());
  return row;
}

void set_relative(Scan& scan) {
  if (scan.better == Better::neither) return;
  const auto compares = [](const ScanRow& row) { return row.missing.empty() && row.unproven.empty() && row.shown > 0; };
  const bool higher = scan.better == Better::higher;
  double best = 0;
  for (const ScanRow& row : scan.rows)
    if (compares(row)) best = best == 0 ? row.shown : higher ? std::max(best, row.shown) : std::min(best, row.shown);
  for (ScanRow& row : scan.rows)
    if (compares(row) && best > 0) row.relative = higher ? best / row.shown : row.shown / best;
}

std::string human(const Scan& scan, double value) {
  return scan.unit == "ratio" ? fmt::format("{:.3f}", value)
                              : job::format_named(value, scan.unit, scan.workload + "." + scan.metric);
}

/// "409 MB/s; latency p50 155 µs, p99 1.20 ms; 9 of 21 repetitions disturbed", or "".
std::string beside(const Scan& scan, const ScanRow& row) {
  std::string text;
  const auto add = [&text](std::string more) { text += (text.empty() ? "" : "; ") + std::move(more); };
  for (const auto& [name, value] : row.others) {
    const std::string shown = job::format_named(value,
                                                name.ends_with("_ns")    ? "ns"
                                                : name.ends_with("iops") ? "1/s"
                                                                         : "B/s",
                                                scan.workload + "." + name);
    if (name == "latency_p50_ns")
      add("latency p50 " + shown);
    else if (name == "latency_p99_ns")
      text +=
          (text.find("latency") == text.npos ? (text.empty() ? "latency p99 " : "; latency p99 ") : ", p99 ") + shown;
    else
      add(shown);
  }
  if (!row.retried.empty()) add(row.retried);
  if (row.disturbed > 0) add(fmt::format("{} of {} repetitions disturbed", row.disturbed, row.taken));
  return text;
}

/// One row as people read it: point, mean, median, bounds, min, max. Several rows also have relative.
std::vector<std::string> cells(const Scan& scan, const ScanRow& row) {
  std::vector<std::string> all{row.point, "-", "-", "", "-", "-", ""};
  if (row.missing.empty())
    all = {row.point,
           human(scan, row.mean),
           human(scan, row.median),
           row.low == row.high ? "" : fmt::format("[{}, {}]", human(scan, row.low), human(scan, row.high)),
           human(scan, row.least),
           human(scan, row.most),
           row.relative > 0 ? fmt::format("{:.2f}", row.relative) : ""};
  if (scan.rows.size() == 1) all.pop_back();
  return all;
}

/// The columns of `cells` after the point.
std::vector<std::string> heads(const Scan& scan) {
  std::vector<std::string> all{"mean", "median", "bounds", "min", "max", "relative"};
  if (scan.rows.size() == 1) all.pop_back();
  return all;
}

const char* better_word(Better better) {
  return better == Better::higher ? "higher" : better == Better::lower ? "lower" : "neither";
}

}  // namespace

void require_metric(const WorkloadInfo& info, const std::string& metric, const Workload& workload) {
  metric_of(info, metric, workload);
}

Scan scan_of(const RunResult& run, const std::string& metric) {
  const Point& first = run.plan->points.front();
  const MetricInfo chosen = metric_of(*first.info, metric, *first.workload);
  Scan scan{std::string(first.info->name), chosen.name, chosen.unit, chosen.description, chosen.better, {}};
  for (const PointResult& result : run.points) scan.rows.push_back(row_of(result, scan.metric));
  set_relative(scan);
  return scan;
}

Answer scan_answer(const Scan& scan) {
  const ScanRow* best = nullptr;
  for (const ScanRow& row : scan.rows)
    if (row.missing.empty() && (best == nullptr || row.relative == 1)) best = &row;
  if (best == nullptr) return {};
  Answer all{.sentence = Text::format("{}: {}{} ({}).", scan.workload,
                                      scan.rows.size() > 1 ? "best with " + best->point + ": " : "",
                                      human(scan, best->shown), scan.metric)};
  if (best->low != best->high)
    all.cause = Text::format("Range {} to {} in {} repetitions.", human(scan, best->low), human(scan, best->high),
                             best->repetitions);
  if (best->disturbed > 0) {
    all.cause = Text::format("{} of {} repetitions were disturbed by other load.", best->disturbed, best->taken);
    all.next = "stop what else runs on this machine, and repeat the command";
  }
  return all;
}

Text scan_text(const Scan& scan, const Terminal& terminal) {
  std::vector<Table::Column> columns{{Text(scan.workload), false}};
  for (const std::string& head : heads(scan)) columns.push_back({Text(head), head != "bounds"});
  Table table(std::move(columns));
  for (const ScanRow& row : scan.rows) {
    std::vector<Text> texts;
    for (const std::string& cell : cells(scan, row)) texts.emplace_back(cell);
    table.row(std::move(texts));
    if (!row.missing.empty()) table.remark(Text(row.missing));
    if (!row.partial.empty()) table.remark(Text(row.partial));
    if (const std::string more = beside(scan, row); !more.empty()) table.remark(Text(more));
    if (!row.unproven.empty()) table.remark(Text(row.unproven));
  }
  const auto width = static_cast<std::size_t>(std::max(terminal.width(), 30));
  return wrap(Text::format("{}: {}", scan.metric, scan.description), std::min<std::size_t>(width, 100), 0) + "\n" +
         table.text(terminal);
}

std::string scan_markdown(const Scan& scan) {
  std::string text = fmt::format("| {} ({}) |", scan.workload, scan.metric), line = "|:---|";
  for (const std::string& head : heads(scan)) {
    text += fmt::format(" {} |", head);
    line += "---:|";
  }
  text += "\n" + line + "\n";
  for (const ScanRow& row : scan.rows) {
    const auto all = cells(scan, row);
    text += fmt::format("| `{}` |", all.front());
    for (std::size_t c = 1; c < all.size(); ++c) text += fmt::format(" {} |", all[c]);
    text += "\n";
  }
  for (const ScanRow& row : scan.rows)
    if (const std::string more = beside(scan, row); !more.empty()) text += fmt::format("\n`{}`: {}\n", row.point, more);
  return text;
}

std::string scan_csv(const Scan& scan) {
  std::string text =
      "workload,point,metric,unit,repetitions,mean,median,low,high,min,max,relative,missing,unproven,disturbed\n";
  for (const ScanRow& row : scan.rows) {
    text += fmt::format("{},{},{},{},{}", csv_field(scan.workload), csv_field(row.point), csv_field(scan.metric),
                        csv_field(scan.unit), row.repetitions);
    for (const double value : {row.mean, row.median, row.low, row.high, row.least, row.most, row.relative})
      text += row.missing.empty() ? fmt::format(",{:.9g}", value) : ",";
    text += "," + csv_field(row.missing) + "," + csv_field(row.unproven) + fmt::format(",{}\n", row.disturbed);
  }
  return text;
}

std::string scan_json(const Scan& scan) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const ScanRow& row : scan.rows) {
    nlohmann::ordered_json point{{"point", row.point}, {"repetitions", row.repetitions}};
    point["disturbed"] = row.disturbed;
    for (const auto& [name, value] : row.others) point["medians"][name] = value;
    if (!row.retried.empty()) point["retried"] = row.retried;
    if (!row.partial.empty()) point["partial"] = row.partial;
    if (!row.missing.empty()) {
      point["missing"] = row.missing;
    } else {
      point.update({{"mean", row.mean},
                    {"median", row.median},
                    {"low", row.low},
                    {"high", row.high},
                    {"min", row.least},
                    {"max", row.most},
                    {"values", row.values}});
      if (row.relative > 0) point["relative"] = row.relative;
      if (!row.unproven.empty()) point["unproven"] = row.unproven;
    }
    points.push_back(std::move(point));
  }
  return results::json_text({{"schema", 1},
                             {"workload", scan.workload},
                             {"metric", scan.metric},
                             {"unit", scan.unit},
                             {"better", better_word(scan.better)},
                             {"points", std::move(points)}});
}

}  // namespace headrace::cli
