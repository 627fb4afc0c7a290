// Messages between a collector and its agents on other hosts. A line of JSON each, over the agent's standard input and
// output.
//
//   agent      {"agent": 1, "version": "0.1.0"}                      once, when it is there
//   collector  {"do": "facts", "paths": ["/data"], "rdma": "mlx5_0"}   which devices; "" = all of the fabric, "none"
//   collector  {"do": "clock"}
//   collector  {"do": "open", "plan": {...}}                        both ends of a pair; answered at once: where it is called
//   collector  {"do": "answer", "door": "6e6f..."}                  the end that is called, and calls the other one back; answered when it is measured
//   collector  {"do": "call", "plan": {...}, "door": "6e6f..."}     the end that calls
//   collector  {"do": "open rdma", "plan": {...}}                   both ends of a pair over RDMA: a card
//   collector  {"do": "connect rdma", "card": "6e6f..."}            the other's
//   collector  {"do": "measure rdma", "leads": true}                both; one leads
//   collector  {"do": "run", "config": "schema: 1...", "job": "", "at": "/scratch", "folder": "node1", ...}   own_run.h
//   collector  {"do": "place", "folder": "/tmp/x", "config": "...", "job": ""}     files of a run on several hosts: placed.h
//   collector  {"do": "take away", "folder": "/tmp/x"}
//   collector  {"do": "clean", "at": "/scratch", "folder": "node1"}     what such runs left there
// An answer has the requested values, or {"error": "why"}. With "own" where it failed by itself, whatever other hosts do. With "connected" where the other one was reached and data stopped.
#pragma once

#include <string_view>

namespace headrace::agents {

/// Bumped when words change their meaning.
inline constexpr unsigned kProtocol = 1;
/// Begins each line of an agent: a login message of the host's shell does not.
inline constexpr std::string_view kMark = "headrace-agent ";

}  // namespace headrace::agents
