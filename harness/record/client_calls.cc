#include "harness/record/client_calls.h"

#include <algorithm>

namespace headrace {

void add(ClientCalls& all, const ClientCalls& more) {
  all.counter = more.counter;
  all.connections = std::max(all.connections, more.connections);
  all.most_slots = std::max(all.most_slots, more.most_slots);
  if (const std::uint64_t sent = all.sent + more.sent; sent > 0) {
    const double share = static_cast<double>(more.sent) / static_cast<double>(sent);
    all.in_flight += (more.in_flight - all.in_flight) * share;
    all.waiting += (more.waiting - all.waiting) * share;
    all.sent = sent;
  }
  for (const ClientOperation& one : more.operations) {
    const auto known = std::ranges::find(all.operations, one.operation, &ClientOperation::operation);
    if (known == all.operations.end()) {
      all.operations.push_back(one);
      continue;
    }
    known->requests += one.requests;
    known->repeats += one.repeats;
    known->errors += one.errors;
    known->queue_s += one.queue_s;
    known->round_trip_s += one.round_trip_s;
    known->execution_s += one.execution_s;
  }
}

}  // namespace headrace
