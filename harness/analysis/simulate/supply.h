// The supply of a shared store to more and more clients: measured counts, a stated limit, and beyond them.
#pragma once

#include <string>
#include <vector>

#include "harness/base/random.h"

namespace headrace::simulate {

/// That many clients together got this much, with 95 % bounds on either side.
struct Counted {
  double clients = 1, rate = 0, low = 0, high = 0;
};

/// The supply of one use of the store: reading, saving, restoring, opening files [B/s or 1/s].
struct Supply {
  std::vector<Counted> measured = {};        // fewest clients first; empty: nothing was
  bool saturated = false;                    // more clients gave no more, by the mean rates
  double most = 0;                           // of all clients, as it is stated; 0: it is not
  double client = 0;                         // of one client, as it is stated; 0: it is not
  std::string from = {};                     // the runs or the sheet
  double store_times = 1, client_times = 1;  // how many times as fast the store and the clients are

  bool known() const { return !measured.empty() || (most > 0 && client > 0); }
  /// Up to that many clients the supply is measured; HUGE_VAL where it is stated.
  double shown_to() const;
};

/// Clients and the rate of all of them, fewest clients first.
using Counts = std::vector<std::pair<double, double>>;
/// Did the most clients get no more than fewer, of at least two counts?
bool stopped_growing(const Counts& counts);

/// One possible course of a supply. Its unknown parts are drawn: measured counts within their bounds, and beyond them
/// any growth between two ends. One end is in proportion. The other is the law X(n) = n / (a + b (n - 1)) through the
/// counts, or none after one count. b is at least 0: the serial share of the store's work. A saturated supply grows no
/// more where the drawn counts stopped growing, too.
class Course {
 public:
  Course(const Supply& supply, Random& random);

  /// The rate of all clients together, `clients` above 0.
  double at(double clients) const;
  /// The rate of one client that has the store for itself.
  double client() const { return client_; }

 private:
  Counts counts_;
  bool saturated_ = false;
  double store_times_ = 1, client_times_ = 1;
  double most_ = 0, client_ = 0, a_ = 0, b_ = 0, growth_ = 0;

  double measured_at(double clients) const;
};

/// A simulation's first seed and their number, where nothing else is asked for.
inline constexpr std::uint64_t kSeed = 1;
inline constexpr unsigned kSeeds = 1000;

/// 5 %, 50 % and 95 % of the seeds are below.
struct Quantiles {
  double low = 0, median = 0, high = 0;
};
Quantiles quantiles_of(std::vector<double> values);

/// The rate of equal clients of a known supply, all at once. Shares and seeds are those of a simulation.
Quantiles expected_rate(const Supply& supply, double clients);

/// Uniform in [0, 1), and standard normal.
double uniform(Random& random);
double normal(Random& random);

}  // namespace headrace::simulate
