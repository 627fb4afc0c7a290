// What a line of /proc/PID/task/TID/syscall and a descriptor's link say that a thread waits for.
#include "harness/observe/learning/wait.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace headrace::observe::observe_wait_test {
namespace {

TEST(Syscall, TakesApartWhatTheKernelWrites) {
  const auto blocked = parse_syscall("0 0x5 0x7f00 0x10000 0x0 0x0 0x0 0x7ffd 0x7fe8\n");
  ASSERT_TRUE(blocked);
  EXPECT_FALSE(blocked->running);
  EXPECT_EQ(blocked->number, 0);
  EXPECT_EQ(blocked->arguments[0], 5u);
  EXPECT_EQ(blocked->arguments[2], 0x10000u);
  EXPECT_TRUE(parse_syscall("running\n")->running);
  EXPECT_EQ(parse_syscall("-1 0x7ffd 0x7fe8\n")->number, -1);
}

TEST(Syscall, TakesNothingElse) {
  for (const char* wrong :
       {"", "\n", "walking", "0", "0 0x5", "0 5 6 7 8 9 10", "0 0x5 0x 0x1 0x1 0x1 0x1", "12345678901234567890123 0x1"})
    EXPECT_FALSE(parse_syscall(wrong)) << wrong;
}

TEST(FdKind, ReportsFilesFromWhatProcessesHandOver) {
  EXPECT_EQ(fd_kind("/data/train/1.jpg"), FdKind::file);
  EXPECT_EQ(fd_kind("/dev/shm/data/1.bin"), FdKind::file);
  EXPECT_EQ(fd_kind("/dev/nvme0n1"), FdKind::file);
  EXPECT_EQ(fd_kind("pipe:[12345]"), FdKind::hand_over);
  EXPECT_EQ(fd_kind("socket:[1]"), FdKind::hand_over);
  EXPECT_EQ(fd_kind("anon_inode:[eventpoll]"), FdKind::hand_over);
  EXPECT_EQ(fd_kind("/dev/nvidia0"), FdKind::gpu);
  EXPECT_EQ(fd_kind("/dev/pts/0"), FdKind::device);
  EXPECT_EQ(fd_kind("/proc/1/stat"), FdKind::device);
  EXPECT_EQ(fd_kind(""), FdKind::unknown);
}

TEST(Wait, FollowsFromCallAndDescriptor) {
  EXPECT_EQ(wait_of(call_kind(SYS_read), FdKind::file), Wait::read);
  EXPECT_EQ(wait_of(call_kind(SYS_read), FdKind::hand_over), Wait::hand_over);
  EXPECT_EQ(wait_of(call_kind(SYS_read), FdKind::device), Wait::other);  // a terminal
  EXPECT_EQ(wait_of(call_kind(SYS_pwrite64), FdKind::file), Wait::write);
  EXPECT_EQ(wait_of(call_kind(SYS_fsync), FdKind::unknown), Wait::write);
  EXPECT_EQ(wait_of(call_kind(SYS_openat), FdKind::unknown), Wait::name);
  EXPECT_EQ(wait_of(call_kind(SYS_futex), FdKind::unknown), Wait::hand_over);
  EXPECT_EQ(wait_of(call_kind(SYS_clock_nanosleep), FdKind::unknown), Wait::sleep);
  EXPECT_EQ(wait_of(call_kind(SYS_ioctl), FdKind::gpu), Wait::gpu);
  EXPECT_EQ(wait_of(call_kind(SYS_ioctl), FdKind::device), Wait::other);
  EXPECT_EQ(wait_of(call_kind(SYS_getpid), FdKind::unknown), Wait::other);
}

}  // namespace
}  // namespace headrace::observe::observe_wait_test
