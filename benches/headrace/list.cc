// headrace list: the workloads, or one of them with every parameter and metric.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "benches/headrace/console.h"
#include "benches/headrace/terminal.h"
#include "harness/workload/registry.h"
#include "harness/workload/workload.h"

namespace headrace::cli {
namespace {

/// The workload made with its defaults, to get its declarations.
std::unique_ptr<Workload> described(const WorkloadInfo& info, std::vector<ParamInfo>& params) {
  config::Value nothing;
  nothing.kind = config::Value::Kind::map;
  Diagnostics ignored;
  Params declared(std::string(info.name), nothing, ignored);
  auto workload = info.make(declared);
  params = declared.declared();
  return workload;
}

/// Why it cannot run on this machine; "" = it can.
std::string missing(Workload& workload, Node& node) {
  const auto skip = workload.check(node);
  return skip ? skip->reason : "";
}

std::string_view word(Better better) {
  return better == Better::higher ? "higher" : better == Better::lower ? "lower" : "neither";
}

Text one_text(const WorkloadInfo& info, Node& node, const Terminal& terminal) {
  const std::size_t width = terminal.text_width();
  std::vector<ParamInfo> params;
  const auto workload = described(info, params);
  Text out = Text::format("{}\n  {}\n", terminal.paint(info.name, Ink::strong), wrap(info.description, width - 2, 2));
  if (const std::string why = missing(*workload, node); !why.empty())
    out += Text::format("  {}\n", wrap("cannot run here: " + why, width - 2, 2));
  out += "\n" + terminal.paint("parameters (a list is a sweep axis)", Ink::strong) + "\n";
  for (const ParamInfo& p : params) {
    out += Text::format("  {} {}\n", pad(p.name, 20),
                        wrap(Text::format("{}{} ({}{})", p.help, p.help.empty() ? "" : ".", p.allowed,
                                          p.fallback.empty() ? Text() : "; default " + Text(p.fallback)),
                             width - 23, 23));
  }
  std::string states;
  for (const CacheState state : as<ReadsFiles>(*workload).cache_states())
    states += (states.empty() ? "" : " | ") + std::string(to_string(state));
  if (!states.empty())
    out += Text::format("  {} {}\n", pad("cache", 20),
                        wrap(Text::format("page-cache state, proven before and after ({})", states), width - 23, 23));
  out += terminal.paint("\nmetrics\n", Ink::strong);
  for (const auto& list : {info.metrics, standard_metrics()}) {
    for (const Metric& m : list) {
      if (width < 80)
        out += Text::format("  {} {}\n      {}\n", pad(m.name, 32), m.unit, wrap(m.description, width - 6, 6));
      else
        out += Text::format("  {} {} {}\n", pad(m.name, 32), pad(m.unit, 6), wrap(m.description, width - 42, 42));
    }
  }
  return out;
}

nlohmann::json one_json(const WorkloadInfo& info, Node& node) {
  using nlohmann::json;
  std::vector<ParamInfo> params;
  const auto workload = described(info, params);
  json described_params = json::array(), metrics = json::array(), states = json::array();
  for (const ParamInfo& p : params) {
    described_params.push_back(
        {{"name", p.name}, {"type", p.type}, {"default", p.fallback}, {"allowed", p.allowed}, {"help", p.help}});
  }
  for (const auto& list : {info.metrics, standard_metrics()}) {
    for (const Metric& m : list) {
      metrics.push_back(
          {{"name", m.name}, {"unit", m.unit}, {"better", word(m.better)}, {"description", m.description}});
    }
  }
  for (const CacheState state : as<ReadsFiles>(*workload).cache_states()) states.push_back(to_string(state));
  return {{"name", info.name},
          {"description", info.description},
          {"cannot_run_here", missing(*workload, node)},
          {"parameters", described_params},
          {"cache_states", states},
          {"metrics", metrics}};
}

int list(const std::string& name, bool json, const Shared& shared) {
  const Terminal terminal(stdout, shared);
  const Registry& registry = Registry::instance();
  Node node(".");
  if (!name.empty()) {
    const WorkloadInfo* info = registry.find(name);
    if (info == nullptr) {
      throw UsageError(fmt::format("list: no workload '{}'{} (known: {})", name, did_you_mean(name, registry.names()),
                                   join(registry.names())));
    }
    if (json)
      print_document(one_json(*info, node).dump(2) + "\n");
    else
      print_line(one_text(*info, node, terminal));
    return 0;
  }
  if (json) {
    nlohmann::json all = nlohmann::json::array();
    for (const WorkloadInfo& info : registry.all()) all.push_back(one_json(info, node));
    print_document(all.dump(2) + "\n");
    return 0;
  }
  // Each reason once; first the workloads that can run.
  std::vector<std::pair<std::string, std::vector<const WorkloadInfo*>>> groups{{"", {}}};
  for (const WorkloadInfo& info : registry.all()) {
    std::vector<ParamInfo> ignored;
    const std::string why = missing(*described(info, ignored), node);
    auto group = std::ranges::find(groups, why, [](const auto& one) { return one.first; });
    if (group == groups.end()) group = groups.insert(group, {why, {}});
    group->second.push_back(&info);
  }
  for (const auto& [why, infos] : groups) {
    if (!why.empty())
      print_line("\n" + terminal.paint(wrap("cannot run here: " + why, terminal.text_width(), 2), Ink::faint));
    for (const WorkloadInfo* info : infos)
      print_line(Text::format("{} {}", terminal.paint(pad(info->name, 20), Ink::strong),
                              wrap(info->description, terminal.text_width() - 21, 21)));
  }
  print_line("\nheadrace list NAME shows its parameters and metrics.");
  return 0;
}

void add_list(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("list", "The workloads; with a name: its parameters, ranges, defaults and metrics");
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  verb.option("WORKLOAD", *name, "A workload's name").suggests(Registry::instance().names());
  verb.flag("--json", *json, "Print JSON");
  verb.example("headrace list small_file_read", "Its parameters with ranges and defaults, and its metrics");
  verb.does([&shared, name, json] { return list(*name, *json, shared); });
}

const RegisterVerb registered_list{30, add_list};

}  // namespace
}  // namespace headrace::cli
