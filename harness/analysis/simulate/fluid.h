// Clients that share a store: rates by max-min fairness, from event to event.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace headrace::simulate {

/// One client's transfer. Its rate is limited by its own speed, by its group and by the store.
struct Flow {
  double arrives_s = 0;
  double bytes = 0;    // HUGE_VAL: it continues until every other flow has ended
  unsigned speed = 0;  // index into Storm::speeds
  unsigned group = 0;  // index into Storm::groups
};

/// The resources that flows share. Rates of one storm have one unit, bytes or shares of the store's time.
struct Storm {
  std::vector<Flow> flows;
  std::vector<double> speeds;                   // most of one flow [B/s], ascending, above 0
  std::vector<double> groups = {};              // most of all flows of an uplink [B/s]; empty: no uplink limits
  std::function<double(double)> store = {};     // the store's rate for that many flows [B/s]; empty: no limit
  double most_clients = 0;                      // the store refuses more at once; 0: it refuses none
  double retry_after_s = 1, retry_most_s = 60;  // first pause of a refused client; it doubles up to the second value
  std::uint64_t seed = 0;                       // of the pauses, each 0.5 to 1.5 times as long
};

/// The limit of the active flows.
struct Limited {
  double client = 0, uplink = 0, store = 0, waiting = 0;  // the last: refused, until they retry
  double sum() const { return client + uplink + store + waiting; }
};

/// From `at_s` on, until the next one.
struct Moment {
  double at_s = 0, rate = 0;  // [B/s] of all flows
  Limited flows = {};         // how many of them each limited
};

struct StormResult {
  std::vector<double> ends_s;  // of each flow; of an endless one the storm's end
  std::vector<double> bytes;   // that each has moved
  double end_s = 0;            // of the last flow that ends
  Limited flow_s;              // seconds of all flows
  std::uint64_t retries = 0;
  std::vector<Moment> moments;  // where they were wanted
};

/// Runs the storm to its end. The same storm always gives the same result. Flows of one speed and group are one class.
/// So an event takes time in proportion to the number of speeds, and to the logarithm of that of flows.
StormResult run(const Storm& storm, bool moments = false);

/// The maximum rate of a flow so that all together take `capacity` (progressive filling): `counts` flows of each of
/// `speeds`. HUGE_VAL: all of them fit. 0: others already take more than there is.
double fill_level(const std::vector<double>& speeds, const std::vector<double>& counts, double capacity);

}  // namespace headrace::simulate
