#include "harness/engine/client_delta.h"

#include "harness/base/counters.h"

#include <algorithm>

namespace headrace::engine {
namespace {

/// A counter that fell was begun anew: the mount is another.
double seconds(std::uint64_t before_ms, std::uint64_t after_ms) {
  return 1e-3 * static_cast<double>(system::grown(after_ms, before_ms));
}

void add_nfs(const system::NfsStats& before, const system::NfsStats& after, ClientCalls& calls) {
  const system::NfsTransports &was = before.transports, &is = after.transports;
  calls.connections = is.connections;
  calls.most_slots = is.most_slots;
  calls.sent = system::grown(is.sent, was.sent);
  if (calls.sent > 0) {
    calls.in_flight =
        static_cast<double>(system::grown(is.in_flight_sum, was.in_flight_sum)) / static_cast<double>(calls.sent);
    calls.waiting =
        static_cast<double>(system::grown(is.waiting_sum, was.waiting_sum)) / static_cast<double>(calls.sent);
  }
  for (const system::NfsOperation& now : after.operations) {
    const auto known = std::ranges::find(before.operations, now.name, &system::NfsOperation::name);
    const system::NfsOperation then = known == before.operations.end() ? system::NfsOperation{} : *known;
    ClientOperation one;
    one.operation = now.name;
    one.requests = system::grown(now.requests, then.requests);
    if (one.requests == 0) continue;
    one.repeats = system::grown(system::grown(now.sent, then.sent), one.requests);
    one.errors = system::grown(now.errors, then.errors);
    one.queue_s = seconds(then.queue_ms, now.queue_ms);
    one.round_trip_s = seconds(then.round_trip_ms, now.round_trip_ms);
    one.execution_s = seconds(then.execution_ms, now.execution_ms);
    calls.operations.push_back(std::move(one));
  }
}

void add_others(const system::ClientRequestTable& before, const system::ClientRequestTable& after, ClientCalls& calls) {
  calls.connections = after.connections;
  calls.sent = system::grown(after.sent, before.sent);
  if (calls.sent > 0)
    calls.in_flight = std::max(0.0, after.in_flight_sum - before.in_flight_sum) / static_cast<double>(calls.sent);
  for (const system::ClientRequests& now : after.kinds) {
    const auto known = std::ranges::find(before.kinds, now.name, &system::ClientRequests::name);
    const system::ClientRequests then = known == before.kinds.end() ? system::ClientRequests{} : *known;
    ClientOperation one;
    one.operation = now.name;
    one.requests = system::grown(now.count, then.count);
    if (one.requests == 0) continue;
    one.round_trip_s = std::max(0.0, now.round_trip_s - then.round_trip_s);
    calls.operations.push_back(std::move(one));
  }
}

}  // namespace

ClientCalls calls_between(const system::ClientCounters& before, const system::ClientCounters& after,
                          const std::string& counter) {
  ClientCalls calls;
  calls.counter = counter;
  if (before.nfs && after.nfs)
    add_nfs(*before.nfs, *after.nfs, calls);
  else
    add_others(before.asked, after.asked, calls);
  std::ranges::stable_sort(calls.operations, std::ranges::greater{}, [](const ClientOperation& one) {
    return std::max(one.round_trip_s, one.execution_s);  // not all clients count the latter
  });
  return calls;
}

}  // namespace headrace::engine
