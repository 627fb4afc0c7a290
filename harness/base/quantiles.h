// Distributions that bounds are made of, and their quantiles, to 12 digits. Callable from several threads.
#pragma once

namespace headrace::statistics {

/// The value that a standard normal variable stays below with probability `p` in (0, 1).
double normal_quantile(double p);

/// P(T <= t) of Student's t with `degrees` >= 1 degrees of freedom.
double t_probability(double t, double degrees);

/// The t with P(T <= t) = `p` in (0, 1).
double t_quantile(double p, double degrees);

/// P(Bin(n, p) = k), for `p` in (0, 1).
double binomial_term(double n, double k, double p);

/// The largest k for which P(Bin(n, 1/2) <= k - 1) <= `alpha`; 0 when there is none.
double binomial_rank(double n, double alpha);

}  // namespace headrace::statistics
