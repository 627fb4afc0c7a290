// What marks say, and whether who left a word lives.
#include "harness/base/files/mark.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace headrace::files::mark_test {
namespace {

TEST(Mark, KeepsItsToken) {
  const Mark mark{.kind = "objects", .made = true, .holder = {}, .token = "0123456789abcdef", .files = {}};
  const auto read = parse_mark(mark_text(mark));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->token, mark.token);
  EXPECT_EQ(read->kind, mark.kind);
  EXPECT_EQ(parse_mark(mark_text({.kind = "scratch", .made = true, .holder = {}, .token = {}, .files = {}}))->token,
            "");
}

TEST(Holder, LivesUntilItEnds) {
  EXPECT_TRUE(Holder::this_process().may_live());
  Holder other = Holder::this_process();
  other.host += "-far";
  other.pid = 1 << 30;
  EXPECT_TRUE(other.may_live());  // nothing is known of another machine
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);  // ended, and still there
  Holder ended = Holder::this_process();
  ended.pid = child;
  EXPECT_FALSE(ended.may_live());
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(ended.may_live());
}

}  // namespace
}  // namespace headrace::files::mark_test
