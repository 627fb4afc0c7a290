// Reads a storm as JSON from standard input and prints when each of its flows ends, a JSON list.
#include <iostream>
#include <nlohmann/json.hpp>

#include "harness/analysis/simulate/fluid.h"

int main() {
  const nlohmann::json given = nlohmann::json::parse(std::cin);
  headrace::simulate::Storm storm;
  storm.speeds = given.at("speeds").get<std::vector<double>>();
  storm.groups = given.at("groups").get<std::vector<double>>();
  const double store = given.at("store").get<double>();
  storm.store = [store](double) { return store; };
  for (const auto& flow : given.at("flows"))
    storm.flows.push_back({.arrives_s = flow.at(0).get<double>(),
                           .bytes = flow.at(1).get<double>(),
                           .speed = flow.at(2).get<unsigned>(),
                           .group = flow.at(3).get<unsigned>()});
  std::cout << nlohmann::json(headrace::simulate::run(storm).ends_s) << '\n';
}
