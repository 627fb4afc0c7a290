// Quantiles of Student's t distribution, for the few bounds that are not order statistics.
#pragma once

namespace headrace::statistics {

/// P(T <= t) with `freedom` >= 1 degrees of freedom, by the regularized incomplete beta function.
double t_probability(double t, double freedom);

/// The t with P(T <= t) = `probability` (0 < probability < 1), to 12 digits.
double t_quantile(double probability, double freedom);

}  // namespace headrace::statistics
