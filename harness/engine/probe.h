// The control probe: a small fixed piece of work, timed before and after a repetition. Work that
// never changes takes longer only when the machine does: clocked down, hot, or shared.
#pragma once

namespace headrace::engine {

/// Time of one slice of the fixed work [ns]. It is dependent multiplications and a copy within the second level cache,
/// about 1 ms on a current server's core. The least of several slices counts. So an interrupt or another program for a
/// moment is not taken for drift. Runs on the first processor that this process may use, since cores can differ. Takes
/// some 10 ms.
double take_probe();

/// The probe after a repetition that began at `before`. While it has moved by more than kProbeDrift, it is repeated, a
/// few times. A temporary change is no drift.
double take_probe_after(double before);

/// after / before - 1; 0 when one was not taken.
double probe_drift(double before_ns, double after_ns);

inline constexpr double kProbeDrift = 0.05;

}  // namespace headrace::engine
