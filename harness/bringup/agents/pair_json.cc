#include "harness/bringup/agents/pair_json.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "harness/base/error.h"

namespace headrace::agents {

using Json = nlohmann::json;

namespace {

Json latency_json(const PairLatency& latency) {
  return {{"least", latency.least_s}, {"median", latency.median_s}, {"p99", latency.p99_s}};
}

PairLatency latency_from(const Json& json) {
  const auto seconds = [&](const char* key) {
    const auto time_s = json.at(key).get<double>();
    if (!(time_s >= 0 && time_s <= 3600)) throw RunError("it reports an impossible latency");
    return time_s;
  };
  return {seconds("least"), seconds("median"), seconds("p99")};
}

double rate_from(const Json& json) {
  const auto rate = json.get<double>();
  if (!(rate >= 0 && rate <= 1e15)) throw RunError("it reports an impossible rate");
  return rate;
}

void check_plan(double time_s, unsigned connections) {
  if (!(time_s > 0 && time_s <= 3600 && connections > 0 && connections <= 256)) throw RunError("no plan of a pair");
}

}  // namespace

Json plan_json(const TcpPairPlan& plan) {
  return {{"time_s", plan.time_s}, {"streams", plan.streams}, {"meet_s", plan.meet_s}, {"interface", plan.interface}};
}

TcpPairPlan plan_from(const Json& json) {
  TcpPairPlan plan;
  plan.time_s = json.at("time_s").get<double>();
  plan.streams = json.at("streams").get<unsigned>();
  plan.meet_s = json.at("meet_s").get<double>();
  plan.interface = json.at("interface").get<std::string>();
  check_plan(plan.time_s, plan.streams);
  if (!(plan.meet_s > 0)) throw RunError("no plan of a pair");
  return plan;
}

Json end_json(const TcpPairEnd& end) {
  Json json{{"received", end.received}, {"segments", end.segments}, {"retransmitted", end.retransmitted}};
  if (end.latency) json["latency_s"] = latency_json(*end.latency);
  if (!end.back.empty()) json["back"] = end.back;
  return json;
}

TcpPairEnd end_from(const Json& json) {
  TcpPairEnd end;
  end.received = rate_from(json.at("received"));
  end.segments = json.at("segments").get<std::uint64_t>();
  end.retransmitted = json.at("retransmitted").get<std::uint64_t>();
  if (json.contains("latency_s")) end.latency = latency_from(json["latency_s"]);
  end.back = json.value("back", "");
  return end;
}

Json rdma_plan_json(const RdmaPairPlan& plan) {
  return {{"port", plan.port}, {"time_s", plan.time_s}, {"queue_pairs", plan.queue_pairs}};
}

RdmaPairPlan rdma_plan_from(const Json& json) {
  RdmaPairPlan plan;
  plan.port = json.at("port").get<std::string>();
  plan.time_s = json.at("time_s").get<double>();
  plan.queue_pairs = json.at("queue_pairs").get<unsigned>();
  check_plan(plan.time_s, plan.queue_pairs);
  return plan;
}

Json rdma_end_json(const RdmaPairEnd& end) {
  Json json{
      {"sent", end.sent}, {"sent_again", end.sent_again}, {"own_errors", end.own_errors}, {"damaged", end.damaged}};
  if (end.latency) json["latency_s"] = latency_json(*end.latency);
  return json;
}

RdmaPairEnd rdma_end_from(const Json& json) {
  RdmaPairEnd end;
  end.sent = rate_from(json.at("sent"));
  end.sent_again = json.at("sent_again").get<double>();
  if (!(end.sent_again >= 0 && end.sent_again <= 1)) throw RunError("it reports an impossible share");
  end.damaged = json.at("damaged").get<std::string>();
  end.own_errors = json.at("own_errors").get<std::map<std::string, std::uint64_t>>();
  if (json.contains("latency_s")) end.latency = latency_from(json["latency_s"]);
  return end;
}

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string bytes_from(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16));
  return bytes;
}

std::string door_text(const TcpDoor& door) { return hex(door.packed()); }
TcpDoor door_from(const std::string& text) { return TcpDoor::unpacked(bytes_from(text)); }

}  // namespace headrace::agents
