#include "harness/agents/pair_json.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/error.h"

namespace headrace::agents {

using Json = nlohmann::json;

Json plan_json(const TcpPairPlan& plan) {
  return {{"time_s", plan.time_s}, {"streams", plan.streams}, {"meet_s", plan.meet_s}, {"interface", plan.interface}};
}

TcpPairPlan plan_from(const Json& json) {
  TcpPairPlan plan;
  plan.time_s = json.at("time_s").get<double>();
  plan.streams = json.at("streams").get<unsigned>();
  plan.meet_s = json.at("meet_s").get<double>();
  plan.interface = json.at("interface").get<std::string>();
  if (!(plan.time_s > 0 && plan.time_s <= 3600 && plan.streams > 0 && plan.streams <= 256 && plan.meet_s > 0))
    throw RunError("no plan of a pair");
  return plan;
}

Json end_json(const TcpPairEnd& end) {
  Json json{{"received", end.received}, {"segments", end.segments}, {"retransmitted", end.retransmitted}};
  if (end.latency)
    json["latency_s"] = {
        {"least", end.latency->least_s}, {"median", end.latency->median_s}, {"p99", end.latency->p99_s}};
  return json;
}

TcpPairEnd end_from(const Json& json) {
  TcpPairEnd end;
  const auto seconds = [](const Json& value) {
    const auto time_s = value.get<double>();
    if (!(time_s >= 0 && time_s <= 3600)) throw RunError("it tells a latency that cannot be");
    return time_s;
  };
  end.received = json.at("received").get<double>();
  if (!(end.received >= 0 && end.received <= 1e15)) throw RunError("it tells a rate that cannot be");
  end.segments = json.at("segments").get<std::uint64_t>();
  end.retransmitted = json.at("retransmitted").get<std::uint64_t>();
  if (json.contains("latency_s")) {
    const Json& of = json["latency_s"];
    end.latency.emplace();
    end.latency->least_s = seconds(of.at("least"));
    end.latency->median_s = seconds(of.at("median"));
    end.latency->p99_s = seconds(of.at("p99"));
  }
  return end;
}

std::string door_text(const TcpDoor& door) {
  std::string text;
  for (const char byte : door.packed()) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

TcpDoor door_from(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16));
  return TcpDoor::unpacked(bytes);
}

}  // namespace headrace::agents
