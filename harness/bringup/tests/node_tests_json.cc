#include "harness/bringup/tests/node_tests_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

namespace headrace::bringup {
namespace {

using Json = nlohmann::ordered_json;
using results::JsonPlace;

constexpr std::array<std::pair<Better, const char*>, 2> kBetter{{{Better::higher, "higher"}, {Better::lower, "lower"}}};

const char* word(Better better) {
  return std::find_if(kBetter.begin(), kBetter.end(), [&](const auto& one) { return one.first == better; })->second;
}

TestedMetric metric_from(const JsonPlace& place) {
  TestedMetric metric;
  metric.workload = place.at("workload").text();
  metric.point = place.at("point").text();
  metric.metric = place.at("metric").text();
  metric.unit = place.at("unit").text();
  metric.description = place.at("description").text();
  place.at("params").each_member(
      [&](const std::string& key, const JsonPlace& value) { metric.params[key] = value.text(); });
  for (const auto& one : kBetter)
    if (place.at("better").text() == one.second) metric.better = one.first;
  metric.leads = place.flag("leads", true);
  return metric;
}

}  // namespace

Json node_tests_json(const NodeTests& tests) {
  Json metrics = Json::array(), nodes = Json::array();
  for (const TestedMetric& one : tests.metrics) {
    metrics.push_back({{"workload", one.workload},
                       {"point", one.point},
                       {"metric", one.metric},
                       {"unit", one.unit},
                       {"better", word(one.better)},
                       {"description", one.description},
                       {"params", one.params}});
    if (!one.leads) metrics.back()["leads"] = false;
  }
  for (const TestedNode& one : tests.nodes) {
    Json values = Json::array();
    for (const auto& value : one.values) values.push_back(value ? Json(*value) : Json());
    Json node{{"node", one.node}, {"values", values}};
    if (one.disturbed > 0) node["disturbed"] = one.disturbed;
    if (!one.without.empty()) node["without"] = one.without;
    for (const TestedFault& fault : one.faults)
      node["faults"].push_back({{"part", fault.part}, {"told", fault.reported}, {"fix", fault.fix}});
    if (!one.far_below.empty()) node["far_below"] = one.far_below;
    nodes.push_back(std::move(node));
  }
  return {{"started_utc", tests.started_utc}, {"took_s", tests.took_s}, {"metrics", metrics}, {"nodes", nodes}};
}

NodeTests node_tests_from(const JsonPlace& place) {
  NodeTests tests;
  tests.started_utc = place.at("started_utc").text();
  tests.took_s = place.at("took_s").number();
  place.at("metrics").each([&](const JsonPlace& item) { tests.metrics.push_back(metric_from(item)); });
  place.at("nodes").each([&](const JsonPlace& item) {
    TestedNode node;
    node.node = static_cast<unsigned>(item.at("node").whole());
    item.at("values").each([&](const JsonPlace& value) {
      node.values.push_back(value.value().is_null() ? std::nullopt : std::optional(value.number()));
    });
    node.disturbed = item.number("disturbed", 0);
    if (item.has("without"))
      item.at("without").each_member(
          [&](const std::string& point, const JsonPlace& why) { node.without[point] = why.text(); });
    if (item.has("faults"))
      item.at("faults").each([&](const JsonPlace& one) {
        node.faults.push_back({one.at("part").text(), one.at("told").text(), one.text("fix", "")});
      });
    if (item.has("far_below"))
      item.at("far_below").each_member([&](const std::string& what, const JsonPlace& reported) {
        node.far_below[what] = reported.text();
      });
    tests.nodes.push_back(std::move(node));
  });
  return tests;
}

}  // namespace headrace::bringup
