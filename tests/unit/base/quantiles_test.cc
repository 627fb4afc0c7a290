// The t distribution against SciPy 1.10 (scipy.stats.t).
#include "harness/base/quantiles.h"

#include <gtest/gtest.h>

namespace headrace::statistics::quantiles_test {
namespace {

TEST(Quantiles, OfStudentsT) {
  struct {
    double probability, freedom, t;
  } const known[] = {{0.975, 1, 12.706204736432095}, {0.975, 4, 2.7764451051977987},   {0.975, 14, 2.1447866879169273},
                     {0.9875, 5, 3.163381449748624}, {0.95, 2.5, 2.5582186141360017},  {0.975, 29, 2.045229642132703},
                     {0.999, 3, 10.214531852405331}, {0.975, 1000, 1.9623390808264074}};
  for (const auto& k : known) {
    EXPECT_NEAR(t_quantile(k.probability, k.freedom), k.t, 1e-10 * k.t);
    EXPECT_NEAR(t_quantile(1 - k.probability, k.freedom), -k.t, 1e-9 * k.t);
  }
  EXPECT_EQ(t_quantile(0.5, 3), 0);
}

TEST(Quantiles, ProbabilitiesOfStudentsT) {
  EXPECT_NEAR(t_probability(1.3, 7), 0.8826160823038114, 1e-13);
  EXPECT_NEAR(t_probability(-4, 3), 0.014004228005073078, 1e-13);
  EXPECT_EQ(t_probability(0, 5), 0.5);
}

}  // namespace
}  // namespace headrace::statistics::quantiles_test
