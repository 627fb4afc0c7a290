#include "harness/observe/calls/strace_shapes.h"

#include <algorithm>
#include <array>

namespace headrace::observe::calls {
namespace {

constexpr std::array kShapes{
    Shape{.name = "open", .kind = Kind::open, .path = 0},
    Shape{.name = "creat", .kind = Kind::open, .path = 0},
    Shape{.name = "openat", .kind = Kind::open, .folder = 0, .path = 1},
    Shape{.name = "openat2", .kind = Kind::open, .folder = 0, .path = 1},
    Shape{.name = "read", .kind = Kind::read, .fd = 0, .size = 2},
    Shape{.name = "pread64", .kind = Kind::read, .fd = 0, .size = 2, .offset = 3},
    Shape{.name = "readv", .kind = Kind::read, .fd = 0},
    Shape{.name = "preadv", .kind = Kind::read, .fd = 0, .offset = 3},
    Shape{.name = "preadv2", .kind = Kind::read, .fd = 0, .offset = 3},
    Shape{.name = "recvfrom", .kind = Kind::read, .fd = 0, .size = 2},
    Shape{.name = "recvmsg", .kind = Kind::read, .fd = 0},
    Shape{.name = "write", .kind = Kind::write, .fd = 0, .size = 2},
    Shape{.name = "pwrite64", .kind = Kind::write, .fd = 0, .size = 2, .offset = 3},
    Shape{.name = "writev", .kind = Kind::write, .fd = 0},
    Shape{.name = "pwritev", .kind = Kind::write, .fd = 0, .offset = 3},
    Shape{.name = "pwritev2", .kind = Kind::write, .fd = 0, .offset = 3},
    Shape{.name = "sendto", .kind = Kind::write, .fd = 0, .size = 2},
    Shape{.name = "sendmsg", .kind = Kind::write, .fd = 0},
    Shape{.name = "close", .kind = Kind::close, .fd = 0},
    Shape{.name = "lseek", .kind = Kind::seek, .fd = 0},
    Shape{.name = "fstat", .kind = Kind::stat, .fd = 0},
    Shape{.name = "fstatfs", .kind = Kind::stat, .fd = 0},
    Shape{.name = "getdents64", .kind = Kind::stat, .fd = 0},
    Shape{.name = "stat", .kind = Kind::stat, .path = 0},
    Shape{.name = "lstat", .kind = Kind::stat, .path = 0},
    Shape{.name = "access", .kind = Kind::stat, .path = 0},
    Shape{.name = "readlink", .kind = Kind::stat, .path = 0},
    Shape{.name = "newfstatat", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "statx", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "faccessat", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "faccessat2", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "fsync", .kind = Kind::sync, .fd = 0},
    Shape{.name = "fdatasync", .kind = Kind::sync, .fd = 0},
    Shape{.name = "sync_file_range", .kind = Kind::sync, .fd = 0},
    Shape{.name = "mmap", .kind = Kind::map, .fd = 4, .size = 1, .offset = 5},
    Shape{.name = "rename", .kind = Kind::change, .path = 0},
    Shape{.name = "renameat", .kind = Kind::change, .folder = 0, .path = 1},
    Shape{.name = "renameat2", .kind = Kind::change, .folder = 0, .path = 1},
    Shape{.name = "unlink", .kind = Kind::change, .path = 0},
    Shape{.name = "unlinkat", .kind = Kind::change, .folder = 0, .path = 1},
    Shape{.name = "mkdir", .kind = Kind::change, .path = 0},
    Shape{.name = "futex", .kind = Kind::hand_over},
    Shape{.name = "poll", .kind = Kind::hand_over},
    Shape{.name = "ppoll", .kind = Kind::hand_over},
    Shape{.name = "select", .kind = Kind::hand_over},
    Shape{.name = "pselect6", .kind = Kind::hand_over},
    Shape{.name = "epoll_wait", .kind = Kind::hand_over},
    Shape{.name = "epoll_pwait", .kind = Kind::hand_over},
    Shape{.name = "epoll_pwait2", .kind = Kind::hand_over},
    Shape{.name = "wait4", .kind = Kind::hand_over},
    Shape{.name = "waitid", .kind = Kind::hand_over},
    Shape{.name = "accept", .kind = Kind::hand_over},
    Shape{.name = "accept4", .kind = Kind::hand_over},
    Shape{.name = "nanosleep", .kind = Kind::sleep},
    Shape{.name = "clock_nanosleep", .kind = Kind::sleep},
    Shape{.name = "ioctl", .kind = Kind::gpu, .fd = 0},
};

}  // namespace

const Shape* shape_of(std::string_view name) {
  const auto found = std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& one) { return one.name == name; });
  return found == kShapes.end() ? nullptr : &*found;
}

}  // namespace headrace::observe::calls
