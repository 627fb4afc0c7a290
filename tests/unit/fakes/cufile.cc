// A libcufile.so.0 that reads into host memory and tells which way each read went.
#include "tests/unit/fakes/cufile.h"

#include <unistd.h>

#include <cstring>
#include <map>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED headrace::testing::FakeCuFile fake_cufile;
headrace::testing::FakeCuFile fake_cufile;

namespace {
struct Status {
  int code, driver;
};
struct Description {
  int type;
  union {
    int fd;
    void* handle;
  } handle;
};
struct Properties {
  unsigned major, minor;
};
std::map<int, bool>& through_host() {
  static std::map<int, bool> files;
  return files;
}
constexpr Status kDone{0, 0}, kRefused{5007, 0};
int fd_of(void* handle) { return static_cast<int>(reinterpret_cast<long>(handle)); }
}  // namespace

EXPORTED Status cuFileDriverOpen() { return kDone; }
EXPORTED Status cuFileDriverGetProperties(Properties* p) {
  p->major = fake_cufile.nvidia_fs;
  p->minor = 24;
  return kDone;
}
EXPORTED Status cuFileHandleRegister(void** handle, Description* d) {
  bool& host = through_host()[d->handle.fd];
  host = fake_cufile.through_host > 0;
  if (host) --fake_cufile.through_host;
  *handle = reinterpret_cast<void*>(static_cast<long>(d->handle.fd));
  return kDone;
}
EXPORTED void cuFileHandleDeregister(void*) {}
EXPORTED Status cuFileBufRegister(const void*, std::size_t, int) { return kDone; }
EXPORTED Status cuFileBufDeregister(const void*) { return kDone; }
EXPORTED ssize_t cuFileRead(void* handle, void* memory, std::size_t length, off_t offset, off_t to) {
  ++fake_cufile.reads;
  constexpr std::size_t kAll = 4, kNvidiaFs = 6, kPosix = 7;
  if (fake_cufile.counting) {
    ++fake_cufile.counted[kAll];
    ++fake_cufile.counted[through_host()[fd_of(handle)] ? kPosix : kNvidiaFs];
  }
  return ::pread(fd_of(handle), static_cast<char*>(memory) + to, length, offset);
}
EXPORTED Status cuFileSetStatsLevel(int level) { return fake_cufile.level = level, kDone; }
EXPORTED Status cuFileGetStatsLevel(int* level) { return *level = fake_cufile.level, kDone; }
EXPORTED Status cuFileStatsStart() {
  if (!fake_cufile.counts) return kRefused;
  fake_cufile.counting = fake_cufile.level == 3;
  return kDone;
}
EXPORTED Status cuFileStatsStop() { return fake_cufile.counting = false, kDone; }
EXPORTED Status cuFileGetStatsL3(void* to) {
  if (!fake_cufile.counting) return kRefused;
  auto* at = static_cast<unsigned char*>(to) + fake_cufile.before_uuid;
  std::memcpy(at, fake_cufile.uuid, sizeof fake_cufile.uuid);
  std::memcpy(at + sizeof fake_cufile.uuid, fake_cufile.counted, sizeof fake_cufile.counted);
  return kDone;
}
