// Does B differ from A, and by how much? Rules 8 to 10: interleaved blocks, stored runs, many
// metrics. docs/explanation/comparing.md reports them to users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/judge/statistics/sessions.h"
#include "harness/record/metric.h"

namespace headrace::statistics {

/// Smaller changes do not matter, for rates and medians, and for tails (percentiles from 90 on, maxima).
inline constexpr double kDeltaRate = 0.05, kDeltaTail = 0.10;
/// Two looks, each at 97.5 %, are wrong at most 5 % of the time. Stored runs are looked at once, but a user compares
/// many of them. At most one in fifty equal ones is called changed.
inline constexpr double kBlockLevel = 0.975, kStoredLevel = 0.98;
/// Blocks at which an interleaved comparison is judged.
inline constexpr unsigned kFirstLook = 6, kLastLook = 12;
inline constexpr double kFalseDiscoveryRate = 0.05;

/// How many times larger than A's is B's value, and how surely.
struct RatioEstimate {
  double ratio = 1;          // B / A
  double low = 0, high = 0;  // bounds of it at the level asked for
  double p = 1;              // chance of a ratio at least this far from 1 if nothing differs
  /// On the scale of logarithms: half the width of the bounds. Also the distance beyond a limit at which a change is
  /// estimated beyond it nine times in ten.
  double half_width = 0, margin = 0;
};

/// The smallest true change (0.03 = 3 %) that such an estimate reports nine times in ten. Its bounds then exclude 1,
/// and it is beyond `delta`.
double smallest_called(const RatioEstimate& estimate, double delta);

/// The ratio of two values that were read, not measured, both above 0: it is its own bound.
RatioEstimate compare_facts(double a, double b);

/// Rule 8: one value of each side per block. Student's t over the logarithms of the blocks' ratios.
/// Nothing with fewer than two blocks, or when a value is not above 0: such have no ratio.
std::optional<RatioEstimate> compare_blocks(std::span<const double> a, std::span<const double> b,
                                            double level = kBlockLevel);

/// The spread of medians of one metric on one machine from session to session: standard deviation of their logarithms.
/// sessions = 0: not known.
struct SessionSpread {
  double spread = 0;
  unsigned sessions = 0;
};
/// As if sessions of a system did not differ at all.
inline constexpr SessionSpread kNoSpread{0, ~0u};

/// From the medians of past sessions; not known from fewer than kFewestSessions, or when one is not
/// above 0.
SessionSpread session_spread(std::span<const double> medians);

/// Rule 9: repetitions of two runs that were not interleaved. Ratio of the medians. Bounds by Welch's t on the
/// logarithms, widened by the spread between sessions. It is the history's, or kAssumedSpread where none is known.
/// Nothing when a side has fewer than two values or one that is not above 0.
std::optional<RatioEstimate> compare_stored(std::span<const double> a, std::span<const double> b,
                                            const SessionSpread& history, double level = kStoredLevel);

enum class Change { worse, better, differs, same, small, inconclusive };

/// changed (worse, better; differs where no direction is better): the bounds exclude 1. The ratio is also beyond 1 +
/// delta or 1 / (1 + delta). small: they exclude 1 and the ratio is within. same: the bounds are within. Else
/// inconclusive.
Change classify(const RatioEstimate& estimate, double delta, Better better);

/// Rule 10, Benjamini-Hochberg: which of these are significant, when at most `rate` of the significant ones may be
/// chance.
std::vector<bool> stand_out(std::span<const double> p, double rate = kFalseDiscoveryRate);

/// The noise floor of a system compared with itself, from the logarithms of its blocks' ratios (at least two). It is
/// half the width of the bounds that six such blocks give, as a change (0.013 = 1.3 %).
double noise_floor(std::span<const double> log_ratios);

/// Share of 2,000 seeded comparisons of six blocks, drawn from these with their signs at random,
/// that are called changed.
double false_alarm_rate(std::span<const double> log_ratios, double delta, std::uint64_t seed = 1);

}  // namespace headrace::statistics
