// Loaded into a traced process by LD_PRELOAD. Each call on a file is made unchanged, timed, and noted in memory that
// headrace shares. It allocates, locks and prints nothing. Built alone, without the library.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <atomic>

#include "harness/observe/preload/notes.h"

namespace {

constexpr int kDescriptors = 65536;

std::atomic<bool> of_a_file[kDescriptors];  // opened by a path: others are pipes, sockets, inherited ones

bool noted(int fd) {
  return fd >= 0 && fd < kDescriptors && of_a_file[fd].load(std::memory_order_relaxed) &&
         memory.load(std::memory_order_relaxed) != nullptr;
}

void know(long fd) {
  if (fd >= 0 && fd < kDescriptors) of_a_file[fd].store(true, std::memory_order_relaxed);
}
void forget(int fd) {
  if (fd >= 0 && fd < kDescriptors) of_a_file[fd].store(false, std::memory_order_relaxed);
}

template <class Make>
int opened(int folder, const char* path, int flags, const Make& make) {
  const std::uint64_t begin = now();
  const int fd = make();
  know(fd);
  note({.op = Op::open, .fd = folder, .flags = flags, .path = path}, begin, fd);
  return fd;
}

template <class Make>
auto moved(Op op, int fd, std::uint64_t size, std::int64_t offset, const Make& make) {
  if (!noted(fd)) return make();
  const std::uint64_t begin = now();
  const auto result = make();
  note({.op = op, .fd = fd, .size = size, .offset = offset}, begin, static_cast<std::int64_t>(result));
  return result;
}

template <class Make>
int named(Op op, int folder, const char* path, const char* second, const Make& make) {
  const std::uint64_t begin = now();
  const int result = make();
  note({.op = op, .fd = folder, .path = path, .second = second}, begin, result);
  return result;
}

std::uint64_t sum(const iovec* parts, int count) {
  std::uint64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
  return bytes;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

// Looked up once, without the guards of the C++ library.
#define NEXT(name)                                                   \
  static std::atomic<void*> found = nullptr;                         \
  if (found.load(std::memory_order_relaxed) == nullptr)              \
    found.store(dlsym(RTLD_NEXT, #name), std::memory_order_relaxed); \
  auto* const real = reinterpret_cast<decltype(&(name))>(found.load(std::memory_order_relaxed))

extern "C" {

#define OPEN(name)                                                                 \
  int name(const char* path, int flags, ...) {                                     \
    NEXT(name);                                                                    \
    va_list more;                                                                  \
    va_start(more, flags);                                                         \
    const mode_t mode = mode_of(flags, more);                                      \
    va_end(more);                                                                  \
    return opened(AT_FDCWD, path, flags, [&] { return real(path, flags, mode); }); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                     \
  int name(int folder, const char* path, int flags, ...) {                               \
    NEXT(name);                                                                          \
    va_list more;                                                                        \
    va_start(more, flags);                                                               \
    const mode_t mode = mode_of(flags, more);                                            \
    va_end(more);                                                                        \
    return opened(folder, path, flags, [&] { return real(folder, path, flags, mode); }); \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t read(int fd, void* into, size_t size) {
  NEXT(read);
  return moved(Op::read, fd, size, -1, [&] { return real(fd, into, size); });
}
ssize_t pread(int fd, void* into, size_t size, off_t offset) {
  NEXT(pread);
  return moved(Op::read, fd, size, offset, [&] { return real(fd, into, size, offset); });
}
ssize_t pread64(int fd, void* into, size_t size, off64_t offset) {
  NEXT(pread64);
  return moved(Op::read, fd, size, offset, [&] { return real(fd, into, size, offset); });
}
ssize_t readv(int fd, const iovec* parts, int count) {
  NEXT(readv);
  return moved(Op::read, fd, sum(parts, count), -1, [&] { return real(fd, parts, count); });
}
ssize_t preadv(int fd, const iovec* parts, int count, off_t offset) {
  NEXT(preadv);
  return moved(Op::read, fd, sum(parts, count), offset, [&] { return real(fd, parts, count, offset); });
}
ssize_t preadv64(int fd, const iovec* parts, int count, off64_t offset) {
  NEXT(preadv64);
  return moved(Op::read, fd, sum(parts, count), offset, [&] { return real(fd, parts, count, offset); });
}
ssize_t write(int fd, const void* from, size_t size) {
  NEXT(write);
  return moved(Op::write, fd, size, -1, [&] { return real(fd, from, size); });
}
ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
  NEXT(pwrite);
  return moved(Op::write, fd, size, offset, [&] { return real(fd, from, size, offset); });
}
ssize_t pwrite64(int fd, const void* from, size_t size, off64_t offset) {
  NEXT(pwrite64);
  return moved(Op::write, fd, size, offset, [&] { return real(fd, from, size, offset); });
}
ssize_t writev(int fd, const iovec* parts, int count) {
  NEXT(writev);
  return moved(Op::write, fd, sum(parts, count), -1, [&] { return real(fd, parts, count); });
}
off_t lseek(int fd, off_t offset, int whence) noexcept {
  NEXT(lseek);
  if (offset == 0 && whence == SEEK_CUR) return real(fd, offset, whence);  // asks where it is, and moves nothing
  return moved(Op::seek, fd, 0, offset, [&] { return real(fd, offset, whence); });
}
off64_t lseek64(int fd, off64_t offset, int whence) noexcept {
  NEXT(lseek64);
  if (offset == 0 && whence == SEEK_CUR) return real(fd, offset, whence);  // asks where it is, and moves nothing
  return moved(Op::seek, fd, 0, offset, [&] { return real(fd, offset, whence); });
}
int fstat(int fd, struct stat* into) noexcept {
  NEXT(fstat);
  return moved(Op::stat, fd, 0, -1, [&] { return real(fd, into); });
}
int fstat64(int fd, struct stat64* into) noexcept {
  NEXT(fstat64);
  return moved(Op::stat, fd, 0, -1, [&] { return real(fd, into); });
}
int stat(const char* path, struct stat* into) noexcept {
  NEXT(stat);
  return named(Op::stat, AT_FDCWD, path, nullptr, [&] { return real(path, into); });
}
int stat64(const char* path, struct stat64* into) noexcept {
  NEXT(stat64);
  return named(Op::stat, AT_FDCWD, path, nullptr, [&] { return real(path, into); });
}
int lstat(const char* path, struct stat* into) noexcept {
  NEXT(lstat);
  return named(Op::stat, AT_FDCWD, path, nullptr, [&] { return real(path, into); });
}
int lstat64(const char* path, struct stat64* into) noexcept {
  NEXT(lstat64);
  return named(Op::stat, AT_FDCWD, path, nullptr, [&] { return real(path, into); });
}
int fstatat(int folder, const char* path, struct stat* into, int flags) noexcept {
  NEXT(fstatat);
  return named(Op::stat, folder, path, nullptr, [&] { return real(folder, path, into, flags); });
}
int fstatat64(int folder, const char* path, struct stat64* into, int flags) noexcept {
  NEXT(fstatat64);
  return named(Op::stat, folder, path, nullptr, [&] { return real(folder, path, into, flags); });
}
int access(const char* path, int mode) noexcept {
  NEXT(access);
  return named(Op::stat, AT_FDCWD, path, nullptr, [&] { return real(path, mode); });
}
int close(int fd) {
  NEXT(close);
  if (!noted(fd)) return real(fd);
  forget(fd);  // before another thread may get the number
  const std::uint64_t begin = now();
  const int result = real(fd);
  note({.op = Op::close, .fd = fd}, begin, result);
  return result;
}
int fsync(int fd) {
  NEXT(fsync);
  return moved(Op::sync, fd, 0, -1, [&] { return real(fd); });
}
int fdatasync(int fd) {
  NEXT(fdatasync);
  return moved(Op::sync, fd, 0, -1, [&] { return real(fd); });
}
int rename(const char* from, const char* to) noexcept {
  NEXT(rename);
  return named(Op::rename, AT_FDCWD, from, to, [&] { return real(from, to); });
}
int renameat(int folder, const char* from, int other, const char* to) noexcept {
  NEXT(renameat);
  return named(Op::rename, folder, from, to, [&] { return real(folder, from, other, to); });
}
int unlink(const char* path) noexcept {
  NEXT(unlink);
  return named(Op::remove, AT_FDCWD, path, nullptr, [&] { return real(path); });
}
void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  NEXT(mmap);
  if (!noted(fd)) return real(at, size, protection, flags, fd, offset);
  const std::uint64_t begin = now();
  void* const result = real(at, size, protection, flags, fd, offset);
  note({.op = Op::map, .fd = fd, .size = size, .offset = offset}, begin, result == MAP_FAILED ? -1 : 0);
  return result;
}
int dup(int fd) noexcept {
  NEXT(dup);
  if (!noted(fd)) return real(fd);
  const std::uint64_t begin = now();
  const int result = real(fd);
  know(result);
  note({.op = Op::duplicate, .fd = fd, .flags = result}, begin, result);
  return result;
}

#define FOPEN(name)                                                                  \
  FILE* name(const char* path, const char* mode) {                                   \
    NEXT(name);                                                                      \
    const std::uint64_t begin = now();                                               \
    FILE* const file = real(path, mode);                                             \
    const int fd = file ? fileno(file) : -1;                                         \
    know(fd);                                                                        \
    const int flags = mode[0] == 'r' && !strchr(mode, '+') ? O_RDONLY : O_WRONLY;    \
    note({.op = Op::open, .fd = AT_FDCWD, .flags = flags, .path = path}, begin, fd); \
    return file;                                                                     \
  }
FOPEN(fopen)
FOPEN(fopen64)

size_t fread(void* into, size_t size, size_t count, FILE* file) {
  NEXT(fread);
  const int fd = fileno(file);
  if (!noted(fd)) return real(into, size, count, file);
  const std::uint64_t begin = now();
  const size_t result = real(into, size, count, file);
  note({.op = Op::read, .fd = fd, .size = size * count}, begin, static_cast<std::int64_t>(result * size));
  return result;
}
size_t fwrite(const void* from, size_t size, size_t count, FILE* file) {
  NEXT(fwrite);
  const int fd = fileno(file);
  if (!noted(fd)) return real(from, size, count, file);
  const std::uint64_t begin = now();
  const size_t result = real(from, size, count, file);
  note({.op = Op::write, .fd = fd, .size = size * count}, begin, static_cast<std::int64_t>(result * size));
  return result;
}
int fclose(FILE* file) {
  NEXT(fclose);
  const int fd = fileno(file);
  if (!noted(fd)) return real(file);
  forget(fd);
  const std::uint64_t begin = now();
  const int result = real(file);
  note({.op = Op::close, .fd = fd}, begin, result);
  return result;
}

}  // extern "C"
