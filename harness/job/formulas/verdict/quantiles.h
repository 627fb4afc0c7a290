// Quantiles that the bounds of a verdict need.
#pragma once

namespace headrace::job {

/// The value that a standard normal variable stays below with probability `p` in (0, 1).
double normal_quantile(double p);

/// The same of Student's t with `degrees` >= 1 degrees of freedom.
double student_t_quantile(double p, double degrees);

/// The largest k for which P(Bin(n, 1/2) <= k - 1) <= `alpha`; 0 when there is none.
double binomial_rank(double n, double alpha);

}  // namespace headrace::job
