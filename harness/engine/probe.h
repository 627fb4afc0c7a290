// The control probe: a small fixed piece of work, timed before and after a repetition. Work that
// never changes takes longer only when the machine does: clocked down, hot, or shared.
#pragma once

namespace headrace::engine {

/// Time of one slice of the fixed work [ns]: dependent multiplications and a copy within the second
/// level cache, about 1 ms on one core of a current server. The least of several slices counts, so
/// that an interrupt or a moment of another program is not taken for drift. Runs on the first
/// processor that this process may use, since cores can differ. Takes some 10 ms.
double take_probe();

/// The probe taken again after a repetition that began at `before`: while it has moved by more than
/// kProbeDrift it is taken again, a few times; what passes by itself is no drift.
double take_probe_after(double before);

/// after / before - 1; 0 when one was not taken.
double probe_drift(double before_ns, double after_ns);

inline constexpr double kProbeDrift = 0.05;

}  // namespace headrace::engine
