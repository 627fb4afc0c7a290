#include "benches/headrace/expect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "benches/headrace/answer.h"
#include "benches/headrace/console.h"
#include "benches/headrace/expected_text.h"
#include "benches/headrace/terminal.h"
#include "harness/backends/loader.h"
#include "harness/base/units.h"
#include "harness/base/version.h"
#include "harness/judge/expectations/collectives.h"
#include "harness/judge/expectations/hold.h"
#include "harness/machine/lost_gpus.h"
#include "harness/machine/node.h"
#include "harness/results/expected_json.h"
#include "harness/results/json_text.h"
#include "harness/workload/registry.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

using expectations::Expected;
using expectations::FigureEntry;
using expectations::Part;
using expectations::Standing;
using Json = nlohmann::ordered_json;

std::string rate_text(double rate, const Part& part) {
  const bool port = part.kind == "rdma_port" || part.kind == "ethernet_port";
  return port ? fmt::format("{:.4g} Gbit/s", rate * 8e-9) : format_quantity(rate, Dimension::bytes_per_second);
}

/// "memory pinned, registered; size from 16 MiB; cold or bypassed".
std::string conditions(const FigureEntry& entry) {
  std::string words;
  const auto add = [&words](const std::string& more) { words += (words.empty() ? "" : "; ") + more; };
  for (const auto& [name, allowed] : entry.with) add(name + " " + join(allowed, " or "));
  for (const auto& [name, least] : entry.at_least)
    add(fmt::format("{} from {}", name,
                    least < 4096 ? fmt::format("{:g}", least) : format_quantity(least, Dimension::bytes, true)));
  if (!entry.cache.empty()) add("cache " + join(entry.cache, " or "));
  if (entry.nodes == 1) add("within one node");
  return words;
}

Json prospect_json(const expectations::Prospect& p) {
  const FigureEntry& f = *p.figure;
  Json with = Json::object(), least = Json::object();
  for (const auto& [name, words] : f.with) with[name] = words;
  for (const auto& [name, value] : f.at_least) least[name] = value;
  return {{"part", p.part->name},
          {"part_kind", p.part->kind},
          {"metric", f.workload + "." + f.metric},
          {"usual", {f.usual_low * p.part->rate, f.usual_high * p.part->rate}},
          {"far_below", f.least * p.part->rate},
          {"usual_share", {f.usual_low, f.usual_high}},
          {"far_below_share", f.least},
          {"with", std::move(with)},
          {"at_least", std::move(least)},
          {"cache", f.cache},
          {"source", f.source}};
}

/// GPUs and pairs of GPUs that are alike are reported once: "gpu0 to gpu7".
struct AlikeParts {
  std::vector<const Part*> parts;
  std::string name() const {
    if (parts.size() == 1) return parts.front()->name;
    return fmt::format("{} to {}", parts.front()->name, parts.back()->name);
  }
};

std::vector<AlikeParts> alike(const std::vector<Part>& parts) {
  std::vector<AlikeParts> groups;
  for (const Part& part : parts) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const AlikeParts& g) {
      const Part& first = *g.parts.front();
      return first.kind == part.kind && first.rate == part.rate && first.how == part.how && first.up == part.up &&
             part.kind.starts_with("gpu");
    });
    if (same == groups.end())
      groups.push_back({{&part}});
    else
      same->parts.push_back(&part);
  }
  return groups;
}

Text part_text(const AlikeParts& group, const expectations::Table& table, const Terminal& terminal) {
  const Part& part = *group.parts.front();
  if (part.rate == 0)
    return Text::format("{}  {}: {}\n", terminal.paint(group.name(), Ink::strong), part.kind,
                        in_lines("not known: " + Text(part.how), terminal, 4));
  Text out = Text::format("{}  {}: {} ({}{})\n", terminal.paint(group.name(), Ink::strong), part.kind,
                          rate_text(part.rate, part), part.how, part.up ? "" : ", not up");
  if (!part.source.empty()) out += terminal.paint(Text::format("    rate: {}\n", part.source), Ink::faint);
  for (const expectations::Prospect& p : expectations::prospects(std::span(&part, 1), table)) {
    const FigureEntry& f = *p.figure;
    const std::string when = conditions(f);
    out += Text::format("    {}.{}  {} to {} ({:.0f} to {:.0f} %), far below under {}\n", f.workload, f.metric,
                        rate_text(f.usual_low * part.rate, part), rate_text(f.usual_high * part.rate, part),
                        100 * f.usual_low, 100 * f.usual_high, rate_text(f.least * part.rate, part));
    if (!when.empty()) out += Text::format("        where {}\n", in_lines(Text(when), terminal, 8));
    out += terminal.paint(Text::format("        {}\n", in_lines(Text(f.source), terminal, 8)), Ink::faint);
  }
  return out;
}

Json all_reduce_json(const expectations::AllReduceProspect& prospect) {
  Json sizes = Json::array();
  for (const auto& s : prospect.sizes)
    sizes.push_back({{"message_bytes", s.bytes}, {"time_s", {s.fastest_s, s.slowest_s}}});
  return {{"gpus", prospect.gpus}, {"links", prospect.links}, {"formula", "F28"}, {"sizes", std::move(sizes)}};
}

Text all_reduce_text(const expectations::AllReduceProspect& prospect, const Terminal& terminal) {
  Text out =
      Text::format("{}  over {} each: time, and bus bandwidth, by size (F28)\n",
                   terminal.paint(Text::format("all-reduce of {} GPUs", prospect.gpus), Ink::strong), prospect.links);
  for (const auto& s : prospect.sizes)
    out +=
        Text::format("    {:>8}  {} to {}  ({} to {})\n", format_quantity(s.bytes, Dimension::bytes, true),
                     format_quantity(s.fastest_s, Dimension::seconds), format_quantity(s.slowest_s, Dimension::seconds),
                     format_quantity(s.busbw(s.slowest_s), Dimension::bytes_per_second),
                     format_quantity(s.busbw(s.fastest_s), Dimension::bytes_per_second));
  return out;
}

/// Exit code: 10 where a figure is far below, 11 where one may be. 12 where none could be reported, else 0.
Outcome word_of(const std::vector<Expected>& figures) {
  const auto any = [&](Standing standing) {
    return std::any_of(figures.begin(), figures.end(), [=](const Expected& e) { return e.standing == standing; });
  };
  const bool known =
      std::any_of(figures.begin(), figures.end(), [](const Expected& e) { return e.standing != Standing::not_known; });
  return worst({.fail = any(Standing::far_below),
                .error = false,
                .inconclusive = any(Standing::perhaps) || any(Standing::above),
                .incomplete = !known});
}

}  // namespace

void add_expectations_option(Verb& verb, std::string& file) {
  verb.option("--expectations FILE", file,
              "Rates of your own hardware, read before headrace's own (docs/reference/expectations.md)");
}

expectations::Table expectations_table(const std::string& file) {
  std::vector<std::string> known;
  for (const WorkloadInfo& info : Registry::instance().all())
    for (const std::span<const Metric> metrics : {info.metrics, standard_metrics()})
      for (const Metric& metric : metrics) known.push_back(fmt::format("{}.{}", info.name, metric.name));
  return expectations::load_table(file, known);
}

int expected_of_machine(const std::string& path, const std::string& table_file, bool json, const Shared& shared) {
  const expectations::Table table = expectations_table(table_file);
  std::error_code error;
  if (!fs::exists(path, error))
    throw UsageError(fmt::format("doctor: {}: {}", path, error ? error.message() : "No such file or directory"));
  Node node(path);
  const std::vector<Part> parts = expectations::parts_of(node, path, table);
  const auto all_reduce = expectations::all_reduce_prospect(parts);
  if (json) {
    Json figures = Json::array();
    for (const auto& p : expectations::prospects(parts, table)) figures.push_back(prospect_json(p));
    Json all{{"schema", 1},
             {"kind", "headrace.expect"},
             {"headrace", {{"version", kVersion}, {"revision", kRevision}}},
             {"path", path},
             {"parts", results::parts_part(parts)},
             {"figures", std::move(figures)}};
    if (all_reduce) all["all_reduce"] = all_reduce_json(*all_reduce);
    print_document(results::json_text(all));
    return 0;
  }
  const Terminal terminal(stdout, shared);
  const auto known = std::ranges::count_if(parts, [](const Part& part) { return part.rate > 0; });
  print(answer_text({.sentence = Text::format("{} of the {} parts of this machine have a reference rate; data at {}.",
                                              known, parts.size(), path),
                     .next = "headrace verdict RUN --expect  # compares a finished run with it"},
                    terminal));
  for (const AlikeParts& group : alike(parts)) print(part_text(group, table, terminal));
  if (all_reduce) print(all_reduce_text(*all_reduce, terminal));
  if (!node.backends().why_not(Gives::gpus).empty()) print_line(Text(system::without_gpus()));
  return 0;
}

int expected_of_run(const std::string& file, const std::string& table_file, bool json, const Shared& shared) {
  const expectations::Table table = expectations_table(table_file);
  results::RecordedParts run = results::read_recorded_parts(file);
  if (!table_file.empty()) expectations::apply_rates(run.parts, table);
  const std::vector<Expected> figures = expectations::hold(run.parts, table, run.points);
  const auto reduces = expectations::measured_all_reduces(run.parts, run.points);
  const Outcome word = word_of(figures);
  const auto count = [&](Standing standing) {
    return std::count_if(figures.begin(), figures.end(), [=](const Expected& e) { return e.standing == standing; });
  };
  if (json) {
    Json all{{"schema", 1},
             {"kind", "headrace.expected"},
             {"run", file},
             {"word", to_string(word)},
             {"exit_code", exit_code(word)},
             {"parts", results::parts_part(run.parts)},
             {"figures", results::expected_part(figures)}};
    for (const auto& r : reduces)
      all["all_reduce"].push_back({{"point", r.point},
                                   {"time_s", r.time_s},
                                   {"expected_s", {r.expected.fastest_s, r.expected.slowest_s}},
                                   {"links", r.links},
                                   {"standing", r.standing()},
                                   {"transport", r.transport}});
    print_document(results::json_text(all));
    return exit_code(word);
  }
  const Terminal terminal(stdout, shared);
  Answer answer{.word = word,
                .sentence = Text::format("{} of {} figures are as on healthy hardware.",
                                         count(Standing::usual) + count(Standing::below), figures.size())};
  for (const Standing standing : {Standing::not_known, Standing::above, Standing::perhaps, Standing::far_below})
    for (const Expected& e : figures)
      if (e.standing == standing) answer.cause = Text::format("{} {}: {}", e.point, e.metric, sentence(e));
  if (word != Outcome::pass) answer.next = "headrace doctor  # shows links, settings and limits of the parts";
  if (figures.empty()) answer.sentence = "no test of this run measured a part of the machine by itself.";
  print(answer_text(answer, terminal) + expected_text(figures, terminal, shared.verbosity < 0));
  for (const auto& r : reduces) {
    print_line(Text::format("{}  {}: {} {} to {} (F28{}{})", r.point, format_quantity(r.time_s, Dimension::seconds),
                            r.standing() == "within" ? Text("within") : Text::format("{} than", r.standing()),
                            format_quantity(r.expected.fastest_s, Dimension::seconds),
                            format_quantity(r.expected.slowest_s, Dimension::seconds), r.links.empty() ? "" : "; ",
                            r.links));
    if (!r.transport.empty()) print_line(Text::format("    {}", r.transport));
  }
  print_line(Text::format("EXPECT {} figures={} usual={} below={} far_below={} undecided={} not_known={} exit={}",
                          to_string(word), figures.size(), count(Standing::usual), count(Standing::below),
                          count(Standing::far_below), count(Standing::perhaps) + count(Standing::above),
                          count(Standing::not_known), exit_code(word)));
  return exit_code(word);
}

}  // namespace headrace::cli
