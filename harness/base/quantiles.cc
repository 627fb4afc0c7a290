// Quantiles by Newton's method on distribution functions that are exact to rounding. The t distribution uses a
// continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8, 26.7.1).
#include "harness/base/quantiles.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headrace::statistics {
namespace {

/// std::lgamma() writes the sign to a variable that all threads share.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

/// The continued fraction of the regularized incomplete beta function (Lentz); converges for x < (a
/// + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kDone = 1e-16;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  if (std::abs(d) < kTiny) d = kTiny;
  d = 1 / d;
  double h = d;
  for (int m = 1; m < 10000; ++m) {
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 + term * d;
      if (std::abs(d) < kTiny) d = kTiny;
      c = 1 + term / c;
      if (std::abs(c) < kTiny) c = kTiny;
      d = 1 / d;
      h *= d * c;
    }
    if (std::abs(d * c - 1) < kDone) break;
  }
  return h;
}

/// I_x(a, b); `y` = 1 - x is passed so that neither end loses digits.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(a * std::log(x) + b * std::log(y) + log_gamma(a + b) - log_gamma(a) - log_gamma(b));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

/// P(T > t) for t >= 0.
double student_t_tail(double t, double degrees) {
  const double sum = degrees + t * t;
  return incomplete_beta(degrees / 2, 0.5, degrees / sum, t * t / sum) / 2;
}

double student_t_density(double t, double degrees) {
  return std::exp(log_gamma((degrees + 1) / 2) - log_gamma(degrees / 2) -
                  (degrees + 1) / 2 * std::log1p(t * t / degrees)) /
         std::sqrt(degrees * std::numbers::pi);
}

/// Solves tail(x) = q for x >= 0: bracketed Newton, so that a bad step never leaves the interval.
template <class Tail, class Density>
double solve_tail(double q, Tail tail, Density density) {
  double low = 0, high = 1;
  while (tail(high) > q && high < 1e300) {
    low = high;
    high *= 2;
  }
  double x = (low + high) / 2;
  for (int i = 0; i < 200; ++i) {
    const double error = tail(x) - q;
    (error > 0 ? low : high) = x;
    double next = x + error / density(x);
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::abs(next - x) <= 4 * std::numeric_limits<double>::epsilon() * std::abs(next)) return next;
    x = next;
  }
  return x;
}

}  // namespace

double normal_quantile(double p) {
  if (p == 0.5) return 0;
  const double q = p < 0.5 ? p : 1 - p;
  const double x = solve_tail(
      q, [](double z) { return std::erfc(z / std::numbers::sqrt2) / 2; },
      [](double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); });
  return p < 0.5 ? -x : x;
}

double t_probability(double t, double degrees) {
  const double tail = student_t_tail(std::abs(t), degrees);
  return t > 0 ? 1 - tail : tail;
}

double t_quantile(double p, double degrees) {
  if (p == 0.5) return 0;
  const double q = p < 0.5 ? p : 1 - p;
  const double x = solve_tail(
      q, [&](double t) { return student_t_tail(t, degrees); }, [&](double t) { return student_t_density(t, degrees); });
  return p < 0.5 ? -x : x;
}

double binomial_term(double n, double k, double p) {
  // By logarithms: 2^-n underflows from n = 1075 on.
  return std::exp(log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1) + k * std::log(p) +
                  (n - k) * std::log1p(-p));
}

double binomial_rank(double n, double alpha) {
  const double limit = alpha * (1 + 1e-12);                                   // 1 - 0.96875 is 1/32 despite rounding
  const double start = std::max(0.0, std::floor(n / 2 - 20 * std::sqrt(n)));  // terms below are less than 1e-300
  double sum = 0;
  for (double k = start; k <= n; ++k) {
    sum += binomial_term(n, k, 0.5);
    if (sum > limit) return k;
  }
  return n + 1;
}

}  // namespace headrace::statistics
