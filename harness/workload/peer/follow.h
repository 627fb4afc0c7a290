// The follower's life: makes the other end of the workloads that a leader measures, step by step, as it is asked.
#pragma once

#include <functional>
#include <string>

#include "harness/machine/node.h"
#include "harness/workload/peer/tcp_peer.h"

namespace headrace::peer {

/// Until the leader says goodbye, hangs up, or says nothing for `silence_s`; `log` hears of each workload and of what
/// failed, which the leader learns, too. Only workloads that are Paired are made, only from parameters that they
/// declare, and nothing else is done. Never throws for what a leader asks.
void follow(TcpPeer& leader, Node& node, double silence_s, const std::function<void(const std::string&)>& log);

}  // namespace headrace::peer
