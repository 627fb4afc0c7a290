// Programs that are started: their streams, their folder, their end.
#include "harness/base/system/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "harness/base/system/unique_fd.h"

namespace headrace::spawn_test {
namespace {

using system::Program;
using system::UniqueFd;

/// What `program` prints, and its exit code.
std::pair<std::string, int> run(Program program) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  program.out = to.get();
  pid_t pid = 0;
  EXPECT_EQ(system::spawn(program, pid), 0);
  to = UniqueFd();
  std::string text;
  char block[256];
  for (ssize_t got; (got = ::read(from.get(), block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  return {text, system::exit_code_of(system::wait_for_end(pid))};
}

TEST(Spawn, StartsWithTheEnvironmentAndStreamsThatAreAskedFor) {
  const auto [text, code] = run({.words = {"sh", "-c", "echo $COLOUR; cat; exit 3"},
                                 .environment = {{"PATH=/usr/bin:/bin", "COLOUR=green"}},
                                 .in = system::kNoStream});
  EXPECT_EQ(text, "green\n");
  EXPECT_EQ(code, 3);
}

TEST(Spawn, AProgramThatIsNotThereIsAnError) {
  pid_t pid = 0;
  EXPECT_EQ(system::spawn({.words = {"no-such-program-of-headrace"}}, pid), ENOENT);
  const int status = system::wait_for_end(system::spawn_tied({"no-such-program-of-headrace"}, STDERR_FILENO));
  EXPECT_EQ(system::exit_code_of(status), 127);
}

TEST(Spawn, HeedsASignalThatThisProcessIgnoresOnlyIfAsked) {
  struct sigaction before {};
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(::sigaction(SIGUSR1, &ignore, &before), 0);
  const Program program{.words = {"sh", "-c", "kill -USR1 $$; exit 4"}};
  EXPECT_EQ(run(program).second, 4);
  Program heeds = program;
  heeds.heeded = {SIGUSR1};
  EXPECT_EQ(run(heeds).second, 128 + SIGUSR1);
  ::sigaction(SIGUSR1, &before, nullptr);
}

TEST(Spawn, AGroupOfItsOwnIsNotThisOne) {
  pid_t pid = 0;
  ASSERT_EQ(system::spawn({.words = {"sleep", "600"}, .own_group = true}, pid), 0);
  EXPECT_EQ(::getpgid(pid), pid);
  EXPECT_NE(::getpgrp(), pid);
  ::kill(-pid, SIGKILL);
  EXPECT_EQ(system::exit_code_of(system::wait_for_end(pid)), 128 + SIGKILL);
}

TEST(Spawn, WaitingForAForeignProcessReportsIt) { EXPECT_EQ(system::wait_for_end(1), -1); }

}  // namespace
}  // namespace headrace::spawn_test
