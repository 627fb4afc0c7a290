// Notes calls in the memory that headrace shares with a traced process. Each thread has its own chunk, so that none
// waits. For the shim alone, not for a library: it allocates nothing, and this is its only state.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "harness/observe/preload/arena.h"

namespace {

using headrace::observe::preload::Arena;
using headrace::observe::preload::Call;
using headrace::observe::preload::Chunk;
using headrace::observe::preload::kChunk;
using headrace::observe::preload::kMagic;
using headrace::observe::preload::kVariable;
using headrace::observe::preload::Op;
using headrace::observe::preload::PathPart;
using headrace::observe::preload::WidePart;
namespace part = headrace::observe::preload;

std::atomic<char*> memory = nullptr;
std::uint64_t memory_bytes = 0;
__thread Chunk* chunk __attribute__((tls_model("initial-exec"))) = nullptr;

// Asking for a thread's processor time is dear: only where something may have been computed since its last call.
constexpr std::uint64_t kWorthAsking = 100'000;                                    // [ns]
__thread std::uint64_t processor __attribute__((tls_model("initial-exec"))) = 0;   // when it was asked for last
__thread std::uint64_t last_end __attribute__((tls_model("initial-exec"))) = 0;    // of its last call
__thread std::uint64_t last_begin __attribute__((tls_model("initial-exec"))) = 0;  // in this chunk

inline void after_fork() {
  chunk = nullptr;  // it is the parent's
  processor = last_end = 0;
}

__attribute__((constructor)) void join() {
  const char* const path = getenv(kVariable);
  if (path == nullptr) return;
  const long fd = strncmp(path, "/proc/", 6) == 0 ? syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  struct stat status;
  if (fstat(static_cast<int>(fd), &status) == 0 && static_cast<std::uint64_t>(status.st_size) >= 2 * kChunk) {
    void* const mapped =
        mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
    if (mapped != MAP_FAILED) {
      if (static_cast<Arena*>(mapped)->magic == kMagic) {
        memory_bytes = static_cast<std::uint64_t>(status.st_size);
        memory.store(static_cast<char*>(mapped));
        pthread_atfork(nullptr, nullptr, after_fork);
      } else {
        munmap(mapped, static_cast<size_t>(status.st_size));
      }
    }
  }
  syscall(SYS_close, fd);
}

inline std::uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Room for that many bytes, in this thread's chunk or one that begins with a call at `begin_ns`. nullptr: there is
/// none left.
inline char* room(std::uint32_t bytes, std::uint64_t begin_ns) {
  char* const base = memory.load(std::memory_order_relaxed);
  if (base == nullptr) return nullptr;
  if (chunk == nullptr || chunk->used.load(std::memory_order_relaxed) + bytes > kChunk - sizeof(Chunk)) {
    Arena* const arena = reinterpret_cast<Arena*>(base);
    const std::uint64_t at = arena->next.load(std::memory_order_relaxed) + kChunk > memory_bytes
                                 ? memory_bytes
                                 : arena->next.fetch_add(kChunk, std::memory_order_relaxed);
    if (at + kChunk > memory_bytes) {
      arena->dropped.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    chunk = reinterpret_cast<Chunk*>(base + at);
    chunk->pid = static_cast<std::int32_t>(syscall(SYS_getpid));
    chunk->parent = static_cast<std::int32_t>(syscall(SYS_getppid));
    chunk->tid = static_cast<std::int32_t>(syscall(SYS_gettid));
    chunk->begin_ns = last_begin = begin_ns;
  }
  return reinterpret_cast<char*>(chunk) + sizeof(Chunk) + chunk->used.load(std::memory_order_relaxed);
}

struct Noted {
  Op op;
  int fd = -1, flags = 0;
  std::uint64_t size = 0;
  std::int64_t offset = -1;
  const char* path = nullptr;
  const char* second = nullptr;
};

/// Behind a head: parts of a call, put one after the other.
class Parts {
 public:
  explicit Parts(char* at) : at_(at) {}
  template <class Value>
  void put(const Value& value) {
    memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void text(const char* from, size_t bytes) {
    memcpy(at_, from, bytes);
    at_ += bytes;
  }

 private:
  char* at_;
};

/// Keeps errno as the call left it.
inline void note(const Noted& what, std::uint64_t begin, std::int64_t returned) {
  const int code = errno;
  const std::uint64_t end = now();
  const std::int64_t result = returned < 0 ? -code : returned;
  std::uint64_t had = 0;
  std::uint8_t parts = 0;
  std::uint32_t bytes = sizeof(Call);
  const auto with = [&](bool wanted, std::uint8_t one, std::uint32_t size) {
    if (!wanted) return;
    parts |= one;
    bytes += size;
  };
  if (begin - last_end >= kWorthAsking) {
    const std::uint64_t all = now(CLOCK_THREAD_CPUTIME_ID);
    had = all - processor;
    processor = all;
    with(true, part::kProcessor, sizeof had);
  }
  last_end = end;
  const size_t first = what.path ? strnlen(what.path, 2000) : 0,
               second = what.second ? strnlen(what.second, 2000) + 1 : 0;
  const bool folder = what.fd == AT_FDCWD;
  // Whether the head has room for the time is known when the chunk is.
  constexpr std::uint32_t kMostLater = sizeof(std::uint64_t);
  with(result != static_cast<std::int32_t>(result) || (!folder && (what.fd < 0 || what.fd >= part::kWorkingFolder)),
       part::kWide, sizeof(WidePart));
  with(first + second > 0 || what.flags != 0, part::kPath, sizeof(PathPart));
  with(what.size != 0, part::kSize, sizeof what.size);
  with(what.offset >= 0, part::kOffset, sizeof what.offset);
  bytes += static_cast<std::uint32_t>((first + second + 7) / 8 * 8);
  if (char* const at = room(bytes + kMostLater, begin)) {
    const std::uint64_t since = begin - last_begin;
    with(since > UINT32_MAX, part::kLater, kMostLater);
    last_begin = begin;
    Call* const call = reinterpret_cast<Call*>(at);
    call->op = what.op;
    call->parts = parts;
    call->fd = folder ? part::kWorkingFolder : static_cast<std::uint16_t>(what.fd);
    call->duration_ns = end - begin >= UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(end - begin);
    call->since_ns = static_cast<std::uint32_t>(since);
    call->result = static_cast<std::int32_t>(result);
    Parts rest(at + sizeof(Call));
    if (parts & part::kLater) rest.put(since);
    if (parts & part::kWide) rest.put(WidePart{result, what.fd});
    if (parts & part::kPath) rest.put(PathPart{what.flags, static_cast<std::uint16_t>(first + second), 0});
    if (parts & part::kSize) rest.put(what.size);
    if (parts & part::kOffset) rest.put(what.offset);
    if (parts & part::kProcessor) rest.put(had);
    if (first > 0) rest.text(what.path, first);
    if (second > 0) {
      rest.put('\0');
      rest.text(what.second, second - 1);
    }
    // Only this thread writes here: no locked addition.
    chunk->used.store(chunk->used.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
  }
  errno = code;
}

}  // namespace
