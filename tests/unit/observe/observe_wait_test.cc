// What a line of /proc/PID/task/TID/syscall and a descriptor's link say that a thread waits for.
#include "harness/observe/learning/wait.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "harness/observe/sampling/process_files.h"

namespace headrace::observe::observe_wait_test {
namespace {

TEST(Syscall, ParsesTheKernelsText) {
  const auto blocked = parse_syscall("0 0x5 0x7f00 0x10000 0x0 0x0 0x0 0x7ffd 0x7fe8\n");
  ASSERT_TRUE(blocked);
  EXPECT_FALSE(blocked->running);
  EXPECT_EQ(blocked->number, 0);
  EXPECT_EQ(blocked->arguments[0], 5u);
  EXPECT_EQ(blocked->arguments[2], 0x10000u);
  EXPECT_TRUE(parse_syscall("running\n")->running);
  EXPECT_EQ(parse_syscall("-1 0x7ffd 0x7fe8\n")->number, -1);
  EXPECT_FALSE(parse_syscall("-1 0x7ffd 0x7fe8\n")->running);
}

TEST(Syscall, NamesAFileByItsPathOrByItsFolderToo) {
  const auto is = [](PathArgument found, int folder, int path) {
    EXPECT_EQ(found.folder, folder);
    EXPECT_EQ(found.path, path);
  };
#ifdef SYS_open
  is(path_argument(SYS_open), -1, 0);
#endif
  is(path_argument(SYS_openat), 0, 1);
  is(path_argument(SYS_read), -1, -1);
}

TEST(Syscall, WaitsForALockOrForDescriptors) {
  EXPECT_TRUE(is_futex(SYS_futex) && is_poll(SYS_ppoll));
#ifdef SYS_poll
  EXPECT_TRUE(is_poll(SYS_poll));
#endif
  EXPECT_FALSE(is_futex(SYS_read) || is_poll(SYS_read) || is_poll(SYS_futex));
}

TEST(Syscall, TakesNothingElse) {
  for (const char* wrong :
       {"", "\n", "walking", "0", "0 0x5", "0 5 6 7 8 9 10", "0 0x5 0x 0x1 0x1 0x1 0x1", "12345678901234567890123 0x1"})
    EXPECT_FALSE(parse_syscall(wrong)) << wrong;
}

TEST(FdKind, ReportsFilesFromHandedOverDescriptors) {
  EXPECT_EQ(fd_kind("/data/train/1.jpg"), FdKind::file);
  EXPECT_EQ(fd_kind("/dev/shm/data/1.bin"), FdKind::file);
  EXPECT_EQ(fd_kind("/dev/nvme0n1"), FdKind::file);
  EXPECT_EQ(fd_kind("pipe:[12345]"), FdKind::hand_over);
  EXPECT_EQ(fd_kind("socket:[1]"), FdKind::hand_over);
  EXPECT_EQ(fd_kind("anon_inode:[eventpoll]"), FdKind::hand_over);
  EXPECT_EQ(fd_kind("/dev/nvidia0"), FdKind::gpu);
  EXPECT_EQ(fd_kind("/dev/pts/0"), FdKind::device);
  EXPECT_EQ(fd_kind("/proc/1/stat"), FdKind::device);
  EXPECT_EQ(fd_kind("/memfd:tensors (deleted)"), FdKind::memory);
  EXPECT_EQ(fd_kind("/dev/zero (deleted)"), FdKind::memory);
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

/// A lock elsewhere, as of a queue in between, is not the interpreter's.
TEST(PythonData, IsThatOfTheLibraryWhereThereIsOne) {
  constexpr const char* kShared =
      "564f39d86000-564f39d87000 r--p 00000000 fe:00 1 /opt/python/bin/python3.11\n"
      "564f39d8a000-564f39d8b000 rw-p 00003000 fe:00 1 /opt/python/bin/python3.11\n"
      "564f4b2dc000-564f4b516000 rw-p 00000000 00:00 0 [heap]\n"
      "7fdc58000000-7fdc58021000 rw-p 00000000 00:00 0 \n"
      "7fdc5f415000-7fdc5f444000 r--p 00414000 fe:00 2 /opt/python/lib/libpython3.11.so.1.0\n"
      "7fdc5f444000-7fdc5f578000 rw-p 00443000 fe:00 2 /opt/python/lib/libpython3.11.so.1.0\n"
      "7fdc5f578000-7fdc5f5bb000 rw-p 00000000 00:00 0 \n"
      "7fdc60000000-7fdc60001000 rw-p 00001000 fe:00 3 /opt/python/lib/libpython3.so\n";
  const AddressRange shared = python_data(kShared);
  EXPECT_EQ(shared.begin, 0x7fdc5f444000u);
  EXPECT_EQ(shared.end, 0x7fdc5f5bb000u);
  const AddressRange of_program = python_data(
      "00a4b000-00b8e000 rw-p 0064b000 fe:00 1 /usr/bin/python3.11\n"
      "00b8e000-00dd0000 rw-p 00000000 00:00 0 \n"
      "01000000-01200000 rw-p 00000000 00:00 0 [heap]\n");
  EXPECT_TRUE(of_program.holds(0xdcffffu) && !of_program.holds(0x1000000u) && of_program.begin == 0xa4b000u);
  EXPECT_EQ(python_data("00a4b000-00b8e000 rw-p 00000000 fe:00 1 /usr/bin/java\n").end, 0u);
}

}  // namespace
}  // namespace headrace::observe::observe_wait_test
