// A made-up fleet brought up as real hosts are: the same rounds, judgements and files.
#pragma once

#include <cstdint>
#include <functional>

#include "harness/bringup/record.h"
#include "harness/bringup/simulation/simulation.h"

namespace headrace::bringup {

/// The bringup.json of such a fleet: its rates as in simulate(), latencies and segments sent again as of healthy ones.
/// A round takes as long as a real one would. Record::simulated describes the fleet. `measured`: after each round.
Record simulated_record(const FleetPlan& plan, std::uint64_t seed, const std::function<void(const Record&)>& measured);

}  // namespace headrace::bringup
