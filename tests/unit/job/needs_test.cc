// Needs: with their texts and without. Their values: tests/cases/decisions/needs.yaml.
#include "harness/job/needs.h"

#include <gtest/gtest.h>

#include "tests/unit/source_dir.h"

namespace headrace::job::needs_test {
namespace {

TEST(Needs, ValuesAloneAreTheSame) {
  const Job job = load_job(source_dir() + "/configs/jobs/llm-70b.yaml", {});
  const auto full = derive_needs(job), values = derive_need_values(job);
  ASSERT_EQ(full.size(), values.size());
  for (std::size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(full[i].id, values[i].id);
    EXPECT_EQ(full[i].required, values[i].required);
  }
}

}  // namespace
}  // namespace headrace::job::needs_test
