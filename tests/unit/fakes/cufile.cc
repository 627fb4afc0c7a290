// A libcufile.so.0 that reads into host memory and shows which way each read went.
#include "tests/unit/fakes/cufile.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

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

namespace {
struct BatchRead {
  int mode;
  struct {
    void* memory;
    off_t file_offset, memory_offset;
    std::size_t length;
  } read;
  void* file;
  int operation;
  void* cookie;
};
static_assert(sizeof(BatchRead) == 64, "CUfileIOParams_t");
struct BatchEvent {
  void* cookie;
  int status;
  std::size_t result;
};
static_assert(sizeof(BatchEvent) == 24, "CUfileIOEvents_t");
struct Batch {
  unsigned most;
  std::vector<BatchRead> reads;
};
bool fails_now() { return fake_cufile.fails != 0 && --fake_cufile.fails == 0; }
}  // namespace

EXPORTED Status cuFileBatchIOSetUp(void** batch, unsigned most) { return *batch = new Batch{most, {}}, kDone; }
EXPORTED Status cuFileBatchIOCancel(void* batch) {
  ++fake_cufile.cancelled;
  static_cast<Batch*>(batch)->reads.clear();
  return kDone;
}
EXPORTED void cuFileBatchIODestroy(void* batch) { delete static_cast<Batch*>(batch); }
EXPORTED Status cuFileBatchIOSubmit(void* batch, unsigned count, BatchRead* reads, unsigned) {
  auto& own = *static_cast<Batch*>(batch);
  if (count > own.most || !own.reads.empty()) return kRefused;  // one at a time
  own.reads.assign(reads, reads + count);
  ++fake_cufile.batches;
  fake_cufile.most_in_batch = std::max(fake_cufile.most_in_batch, count);
  return kDone;
}
EXPORTED Status cuFileBatchIOGetStatus(void* batch, unsigned, unsigned* count, BatchEvent* events, timespec*) {
  auto& own = *static_cast<Batch*>(batch);
  constexpr int kComplete = 0x10, kFailed = 0x40;
  const unsigned reported =
      fake_cufile.never_ends ? 0 : std::min({*count, fake_cufile.at_once, unsigned(own.reads.size())});
  for (unsigned i = 0; i < reported; ++i) {  // the last first: they end in any order
    const BatchRead r = own.reads.back();
    own.reads.pop_back();
    const ssize_t got = cuFileRead(r.file, r.read.memory, r.read.length, r.read.file_offset, r.read.memory_offset);
    const bool fails = fails_now();
    events[i] = {r.cookie, fails && fake_cufile.failure == -5 ? kFailed : kComplete,
                 static_cast<std::size_t>(fails ? fake_cufile.failure : got)};
  }
  *count = reported;
  return kDone;
}
EXPORTED Status cuFileStreamRegister(void*, unsigned) { return ++fake_cufile.streams, kDone; }
EXPORTED Status cuFileStreamDeregister(void*) { return --fake_cufile.streams, kDone; }
EXPORTED Status cuFileReadAsync(void* file, void* memory, std::size_t* length, off_t* offset, off_t* to,
                                ssize_t* result, void*) {
  if (fake_cufile.refuses != 0 && --fake_cufile.refuses == 0) return kRefused;
  ++fake_cufile.queued;
  *result = fails_now() ? fake_cufile.failure : cuFileRead(file, memory, *length, *offset, *to);
  return kDone;
}
