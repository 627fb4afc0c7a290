// Lists of ETags: what proves that objects are those that headrace put there.
#include "harness/workload/data/data_set/object_set.h"

#include <gtest/gtest.h>

namespace headrace::object_set_test {
namespace {

TEST(ObjectSet, ReadsItsListsOfETags) {
  const std::vector<std::string> etags{"\"a\"", "", "\"c-2\""};
  const std::string text = etags_text("2x4B", "d000", etags);
  EXPECT_EQ(parse_etags(text, "2x4B", "d000"), etags);
  EXPECT_EQ(parse_etags(etags_text("2x4B", "d000", {}), "2x4B", "d000"), std::vector<std::string>{});
}

TEST(ObjectSet, TakesNoOtherList) {
  const std::string text = etags_text("2x4B", "d000", {"a"});
  EXPECT_FALSE(parse_etags(text, "2x4B", "d001"));
  EXPECT_FALSE(parse_etags(text, "3x4B", "d000"));
  EXPECT_FALSE(parse_etags("", "2x4B", "d000"));
  EXPECT_FALSE(parse_etags("somebody's notes\n", "2x4B", "d000"));
}

}  // namespace
}  // namespace headrace::object_set_test
