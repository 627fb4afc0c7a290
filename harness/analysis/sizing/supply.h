// The supply of storage and host, over all sessions that measured it, by the number of clients.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/statistics/sessions.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/results/run_file.h"

namespace headrace::sizing {

// Which runs measured at the same time, and their sum.

/// Runs of different nodes with the same configuration that overlap in time: their clients may have
/// shared the storage. The same run given twice counts once.
using Session = std::vector<const results::StoredRun*>;
std::vector<Session> sessions_of(std::span<const results::StoredRun> runs);

/// Two repetitions were at the same time when they overlap by this share of the longer one.
inline constexpr double kTogether = 0.9;

/// Did the repetition deliver nothing in its time? Then it has no rate.
bool delivered_nothing(const results::StoredRepetition& repetition, const std::string& metric);

/// The first of `clients` (the same point of several runs) with the metric's sum over all of them. Only repetitions
/// that every client had at the same time count. Repetitions without a time have none. A sum is disturbed, not steady
/// or taken again when that holds for any client.
judging::RecordedPoint sum_together(std::span<const results::StoredPoint* const> clients, const std::string& metric);

/// Share of the point's timed seconds in which another run of the session timed something.
double share_beside_others(const results::StoredPoint& point, const results::StoredRun& of, const Session& session);

/// Whether a number was measured as it would be used, computed by a formula from measured parts, or extrapolated.
enum class Basis { measured, modelled, extrapolated };
std::string_view to_string(Basis basis);

/// One session's value of a point; several clients' sum.
struct SessionValue {
  const results::StoredRun* run = nullptr;      // the first client's
  const results::StoredPoint* point = nullptr;  // in that run
  Evidence evidence;                            // as a verdict on the session has it
  statistics::SessionMean value;                // its estimate; too few repetitions: low and high are the range
  std::size_t repetitions = 0;
  double lowest = 0, highest = 0;  // of any repetition
  Reason doubt = Reason::none;     // disturbed, not_steady: of any client
  bool is_bounded = false;         // enough repetitions for bounds
  bool is_used = false;            // the measurement's mean is of it
};

/// A metric of one point, measured by that many clients at once (rates add), over all sessions.
struct Measurement {
  unsigned clients = 1;
  std::vector<SessionValue> sessions;  // earliest first
  double mean = 0, low = 0, high = 0;
  bool is_range = false;           // too few repetitions for a bound: low and high are the range
  Reason doubt = Reason::none;     // none: of sessions without one, which decide, where there are any
  double mean_of_all = 0;          // doubtful sessions included
  double lowest = 0, highest = 0;  // of any repetition of any session
  std::string metric;              // "read_bandwidth"

  const results::StoredRun& run() const { return *sessions.front().run; }
  const results::StoredPoint& point() const { return *sessions.front().point; }
  std::size_t repetitions() const;  // of all sessions
  double per_client() const { return mean / clients; }
  /// "run/point.metric", of the first session.
  std::string name() const;
};

/// Every point with one of `metrics` ("small_file_read.read_bandwidth", the preferred one first) in the requested cache
/// state ("" = any). The state is proven in every repetition of every client. Not those that have but one repetition in
/// all: that bounds nothing. The chance of an error is shared out among `choices` points that could answer.
std::vector<Measurement> measurements(std::span<const Session> sessions, std::span<const std::string> metrics,
                                      const std::string& cache, unsigned choices = 1);

}  // namespace headrace::sizing
