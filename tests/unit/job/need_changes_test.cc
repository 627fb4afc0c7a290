// Two jobs side by side.
#include "harness/job/need_output.h"
#include "tests/unit/source_dir.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headrace::job::need_changes_test {
namespace {

const std::string kJob = source_dir() + "/configs/jobs/llm-70b.yaml";

TEST(NeedChanges, ReportsChanges) {
  const std::vector<std::string> overrides{"parallelism.sharding=zero3"};
  const Job before = load_job(kJob), after = load_job(kJob, overrides);
  const auto root = nlohmann::json::parse(changes_json(before, after, overrides));
  int changed = 0;
  for (const auto& need : root["needs"]) {
    changed += need["before"] != need["after"];
    if (need["id"] == "network.gradient_busbw") {
      EXPECT_DOUBLE_EQ(need["factor"], 12);
    }
    if (need["id"] == "checkpoint.largest_shard") {
      EXPECT_TRUE(need["after"].is_null() && need["factor"].is_null());
    }
  }
  EXPECT_EQ(changed, 3);
  EXPECT_NE(changes_csv(before, after).find("\nnetwork.gradient_busbw,gpu,B/s,"), std::string::npos);
}

}  // namespace
}  // namespace headrace::job::need_changes_test
