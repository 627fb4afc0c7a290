// The requests of a network file system's client to its servers during a repetition, and their waits by resource.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

/// All requests of one kind. Times are of all of them together.
struct ClientOperation {
  std::string operation;       // "READ", as the client calls it
  std::uint64_t requests = 0;  // each once, however often it was sent
  std::uint64_t repeats = 0;   // sent again: a lost packet, or a server that did not answer in time
  std::uint64_t errors = 0;    // answered with an error ("no such file" is one)
  double queue_s = 0;          // until it was sent: for a slot, a connection or a processor
  double round_trip_s = 0;     // from there to the answer: network and server
  double execution_s = 0;      // from the request to its end, both of these included
};

/// Calls of the whole mount, by every process of this machine. No operations where the client counts none.
struct ClientCalls {
  /// Where it was read: "mountstats". Of clients that report neither queues, executions, repeats nor errors of a kind,
  /// "osc stats", ".stats", "ceph metrics".
  std::string counter;
  std::uint64_t connections = 0;
  std::uint64_t most_slots = 0;  // slots in use at once on one connection, since the mount; 0 = not counted
  std::uint64_t sent = 0;        // on all connections
  double in_flight = 0;          // mean on a connection, when a request was sent
  double waiting = 0;            // mean that waited for a slot then
  std::vector<ClientOperation> operations;
};

/// Adds the client's requests of another phase.
void add(ClientCalls& all, const ClientCalls& more);

}  // namespace headrace
