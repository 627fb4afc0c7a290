// A pair's plan, door and result in the words of the protocol.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/network/tcp_pair.h"

namespace headrace::agents {

nlohmann::json plan_json(const TcpPairPlan& plan);
nlohmann::json end_json(const TcpPairEnd& end);
std::string door_text(const TcpDoor& door);

// Throw std::exception where it is none.
TcpPairPlan plan_from(const nlohmann::json& json);
TcpPairEnd end_from(const nlohmann::json& json);
TcpDoor door_from(const std::string& text);

}  // namespace headrace::agents
