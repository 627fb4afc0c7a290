#include "harness/engine/ledger.h"

#include <gtest/gtest.h>

namespace headrace::engine::client_delta_test {
namespace {

system::NfsOperation operation(const char* name, std::uint64_t requests, std::uint64_t sent, std::uint64_t ms) {
  return {.name = name,
          .requests = requests,
          .sent = sent,
          .queue_ms = ms,
          .round_trip_ms = 2 * ms,
          .execution_ms = 3 * ms,
          .errors = 0};
}

ClientCalls calls_between(const system::NfsStats& before, const system::NfsStats& after) {
  return engine::calls_between({.nfs = before}, {.nfs = after}, "mountstats");
}

TEST(ClientDelta, CountsRequestsInBetween) {
  system::NfsStats before, after;
  before.transports = {"tcp", 2, 100, 400, 10, 8};
  after.transports = {"tcp", 2, 200, 900, 10, 16};
  before.operations = {operation("READ", 50, 50, 100), operation("GETATTR", 50, 50, 10)};
  after.operations = {operation("GETATTR", 50, 50, 10), operation("OPEN", 10, 10, 5), operation("READ", 140, 142, 400)};
  ClientCalls calls = calls_between(before, after);
  EXPECT_EQ(calls.connections, 2u);
  EXPECT_EQ(calls.sent, 100u);
  EXPECT_DOUBLE_EQ(calls.in_flight, 5.0);
  EXPECT_DOUBLE_EQ(calls.waiting, 0.0);
  EXPECT_EQ(calls.most_slots, 16u);
  ASSERT_EQ(calls.operations.size(), 2u);  // of attributes nobody asked meanwhile
  EXPECT_EQ(calls.operations[0].operation, "READ");
  EXPECT_EQ(calls.operations[0].requests, 90u);
  EXPECT_EQ(calls.operations[0].repeats, 2u);
  EXPECT_DOUBLE_EQ(calls.operations[0].queue_s, 0.3);
  EXPECT_DOUBLE_EQ(calls.operations[0].round_trip_s, 0.6);
  EXPECT_DOUBLE_EQ(calls.operations[0].execution_s, 0.9);

  ClientCalls again = calls;  // another phase, with a request for each of these
  again.sent = 300;
  again.in_flight = 1;
  add(calls, again);
  EXPECT_EQ(calls.sent, 400u);
  EXPECT_DOUBLE_EQ(calls.in_flight, 2.0);
  EXPECT_EQ(calls.operations[0].requests, 180u);
  EXPECT_DOUBLE_EQ(calls.operations[0].execution_s, 1.8);
}

TEST(ClientDelta, IsNothingWhereCountersBeganAnew) {
  system::NfsStats before, after;
  before.transports.sent = 100;
  before.operations = {operation("READ", 50, 50, 100)};
  after.operations = {operation("READ", 3, 3, 1)};
  EXPECT_TRUE(calls_between(before, after).operations.empty());
  EXPECT_EQ(calls_between(before, after).sent, 0u);
}

TEST(ClientDelta, CountsOtherClientsByTheirCounters) {
  system::ClientCounters before, after;
  before.asked = {
      .kinds = {{"ost_read", 10, 0.5}, {"ldlm_enqueue", 4, 0.25}}, .connections = 2, .sent = 14, .in_flight_sum = 20};
  after.asked = {.kinds = {{"ost_read", 30, 1.5}, {"ldlm_enqueue", 4, 0.25}, {"ost_write", 2, 2}},
                 .connections = 2,
                 .sent = 36,
                 .in_flight_sum = 97};
  const ClientCalls calls = engine::calls_between(before, after, "osc stats");
  EXPECT_EQ(calls.counter, "osc stats");
  EXPECT_EQ(calls.connections, 2u);
  EXPECT_DOUBLE_EQ(calls.in_flight, 3.5);
  ASSERT_EQ(calls.operations.size(), 2u);
  EXPECT_EQ(calls.operations[0].operation, "ost_write");
  EXPECT_EQ(calls.operations[1].requests, 20u);
  EXPECT_DOUBLE_EQ(calls.operations[1].round_trip_s, 1.0);
  EXPECT_TRUE(engine::calls_between(after, before, "osc stats").operations.empty());  // another mount's: begun anew
}

}  // namespace
}  // namespace headrace::engine::client_delta_test
