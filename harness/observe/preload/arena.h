// The shared memory into which traced processes write their calls. No end of a process (os._exit, a kill) loses calls.
// Threads take chunks of it by one atomic addition, each for one thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace headrace::observe::preload {

inline constexpr std::uint64_t kMagic = 0x6865616472616365;
inline constexpr std::uint64_t kChunk = 64 << 10;  // [B]
/// The path below /proc of the arena, in the environment.
inline constexpr char kVariable[] = "HEADRACE_TRACE_MEMORY";

struct Arena {
  std::uint64_t magic;
  std::uint64_t bytes;                 // of all, this head (one chunk) with it
  std::atomic<std::uint64_t> next;     // where the next chunk begins
  std::atomic<std::uint64_t> dropped;  // calls that there was no room for
};

struct Chunk {
  std::int32_t pid, parent, tid;
  std::atomic<std::uint32_t> used;  // bytes behind this head
  std::uint64_t begin_ns;           // CLOCK_MONOTONIC; its calls begin later
};

enum class Op : std::uint8_t { open, read, write, seek, stat, close, sync, rename, remove, map, duplicate };

/// The parts after a call's head, in this order, 8 bytes each unless noted. Most calls need little of it: a trace costs
/// a job mostly memory that is not in its caches.
enum Part : std::uint8_t {
  kLater = 1,    // begin: nanoseconds since the one before, where the head has no room for it
  kWide = 2,     // result and descriptor, where the head has no room for them (16 bytes)
  kPath = 4,     // flags (of open; of duplicate the new descriptor), bytes of a path
  kSize = 8,     // asked for
  kOffset = 16,  // none: where the descriptor is
  kProcessor =
      32,  // nanoseconds that the thread had since it was asked for last, this call's among it; none: not asked
};

/// One call's head. Behind its parts is the path (of rename: two, with a zero between), padded to 8.
struct Call {
  Op op;
  std::uint8_t parts;
  std::uint16_t fd;           // kWorkingFolder: AT_FDCWD
  std::uint32_t duration_ns;  // UINT32_MAX: as much or more
  std::uint32_t since_ns;     // begin, since the one before in this chunk began, or the chunk
  std::int32_t result;        // bytes, a descriptor; below 0: -errno
};
struct PathPart {
  std::int32_t flags;
  std::uint16_t bytes, unused;
};
struct WidePart {
  std::int64_t result, fd;
};
inline constexpr std::uint16_t kWorkingFolder = UINT16_MAX;
static_assert(sizeof(Call) == 16 && sizeof(Chunk) == 24 && sizeof(PathPart) == 8 && sizeof(WidePart) == 16);

}  // namespace headrace::observe::preload
