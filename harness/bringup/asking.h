// Requests to the agents of nodes, and their answers read.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/bringup/agents/crowd.h"

namespace headrace::bringup {

/// A node's answer; `why` where it could not.
struct Answer {
  std::shared_ptr<const nlohmann::json> json;  // an object, where there is no `why`
  std::string why;
  bool own = false;                // it could not by itself: no other host has a part in it
  double asked_s = 0, came_s = 0;  // CLOCK_REALTIME
};

class Asking {
 public:
  /// `part`: nodes, as the crowd numbers them.
  Asking(agents::Crowd& crowd, const std::vector<unsigned>& part);

  /// Asks these nodes at once. A node that does not answer in time is given up.
  std::map<unsigned, Answer> operator()(const std::map<unsigned, nlohmann::json>& requests, double timeout_s);
  /// As the crowd numbers it.
  std::size_t member(unsigned node) const { return member_.at(node); }
  const agents::Crowd& crowd() const { return crowd_; }
  const std::vector<unsigned>& part() const { return part_; }

 private:
  agents::Crowd& crowd_;
  const std::vector<unsigned>& part_;
  std::map<unsigned, std::size_t> member_;
};

}  // namespace headrace::bringup
