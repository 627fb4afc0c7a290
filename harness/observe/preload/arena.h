// The memory that traced processes write their calls into: shared by all of them, so that whatever ends one (os._exit, a kill)
// loses nothing. Threads take chunks of it by one atomic addition, and have each alone.
#pragma once

#include <atomic>
#include <cstdint>

namespace headrace::observe::preload {

inline constexpr std::uint64_t kMagic = 0x6865616472616365;
inline constexpr std::uint64_t kChunk = 64 << 10;  // [B]
inline constexpr std::uint64_t kNotAsked = UINT64_MAX;
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
};

enum class Op : std::uint16_t { open, read, write, seek, stat, close, sync, rename, remove, map, duplicate };

/// One call, followed by path_bytes of a path (of rename: two, with a zero between), padded to 8.
struct Call {
  Op op;
  std::uint16_t path_bytes;
  std::uint32_t duration_ns;   // UINT32_MAX: as much or more
  std::uint64_t begin_ns;      // CLOCK_MONOTONIC
  std::int32_t fd, flags;      // flags: of open; of duplicate the new descriptor
  std::int64_t result;         // bytes, a descriptor; below 0: -errno
  std::uint64_t size;          // asked for
  std::int64_t offset;         // -1: where the descriptor stands
  std::uint64_t processor_ns;  // that the thread had since it was asked for last, this call's among it; or kNotAsked
};
static_assert(sizeof(Call) == 56 && sizeof(Chunk) == 16);

}  // namespace headrace::observe::preload
