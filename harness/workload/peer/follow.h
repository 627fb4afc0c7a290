// The follower's life: makes the other end of the leader's workloads, step by step, on request.
#pragma once

#include <functional>
#include <string>

#include "harness/machine/node.h"
#include "harness/workload/peer/tcp_peer.h"

namespace headrace::peer {

/// Until the leader says goodbye, hangs up, or is silent for `silence_s`. `log` gets each workload and each error,
/// which the leader gets, too. Makes only workloads that are Paired, only from parameters that they declare, and does
/// nothing else. Never throws for a leader's request.
void follow(TcpPeer& leader, Node& node, double silence_s, const std::function<void(const std::string&)>& log);

}  // namespace headrace::peer
