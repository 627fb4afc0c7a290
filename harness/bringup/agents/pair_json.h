// A pair's plan, door and result in the words of the protocol.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/bringup/network/rdma_pair.h"
#include "harness/bringup/network/tcp_pair.h"

namespace headrace::agents {

nlohmann::json plan_json(const TcpPairPlan& plan);
nlohmann::json end_json(const TcpPairEnd& end);
std::string door_text(const TcpDoor& door);
nlohmann::json rdma_plan_json(const RdmaPairPlan& plan);
nlohmann::json rdma_end_json(const RdmaPairEnd& end);
std::string hex(const std::string& bytes);

// Throw std::exception where it is none.
TcpPairPlan plan_from(const nlohmann::json& json);
TcpPairEnd end_from(const nlohmann::json& json);
TcpDoor door_from(const std::string& text);
RdmaPairPlan rdma_plan_from(const nlohmann::json& json);
RdmaPairEnd rdma_end_from(const nlohmann::json& json);
std::string bytes_from(const std::string& hex);

}  // namespace headrace::agents
