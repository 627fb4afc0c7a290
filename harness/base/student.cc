// The t distribution by a continued fraction of the incomplete beta function (Abramowitz and
// Stegun 26.5.8, 26.7.1).
#include "harness/base/student.h"

#include <cmath>

namespace headrace::statistics {
namespace {

// Lentz's method for the continued fraction of I_x(a, b); converges fast for x < (a + 1) / (a + b +
// 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kEnough = 1e-16;
  const auto not_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < kEnough) break;
  }
  return result;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double t_probability(double t, double freedom) {
  const double tail = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

double t_quantile(double probability, double freedom) {
  if (probability == 0.5) return 0;
  if (probability < 0.5) return -t_quantile(1 - probability, freedom);
  double low = 0, high = 1;
  while (t_probability(high, freedom) < probability) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-13 * high; ++i) {
    const double middle = (low + high) / 2;
    (t_probability(middle, freedom) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace headrace::statistics
