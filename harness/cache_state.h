// Puts a data set's files in a declared page-cache state and proves that they are (rule 13).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/data_set.h"

namespace headrace {

enum class CacheState { cold, warm, bypassed, asis };
std::string_view to_string(CacheState state);
std::optional<CacheState> parse_cache_state(std::string_view text);

/// What the timed region does with its files, which says what proves a cache state.
struct CacheUse {
  /// Only names and attributes are asked for; no byte of the files is read.
  bool names_only = false;
  /// How often each byte is read: where ranks share files, only the first one reads from storage.
  unsigned readers = 1;
};

/// What was seen around one repetition. A share is of the data set's bytes, 0..1; -1 = could not be measured.
struct CacheProof {
  CacheState declared = CacheState::asis;
  CacheUse use;
  double resident_before = -1;
  double resident_after = -1;
  std::uint64_t delivered_bytes = 0;
  std::uint64_t operations = 0;
  std::uint64_t storage_bytes = 0;   // /proc/self/io read_bytes: what this process made the storage read
  std::uint64_t device_bytes = 0;    // the block device's own counter; 0 when the file system has no single device
  std::string method;                // "cachestat", "mincore"; with ", drop_caches" when the whole cache was dropped
  std::string obstacle;              // why no file here can be in that state: "tmpfs keeps files in memory"; "" = none
  std::string caveat;                // what the state does not cover: "names and inodes stay: only root can drop them"
  bool counted = true;               // storage_bytes sees this file system's traffic (not so on network and FUSE ones)
  bool proven = false;
  std::string why;                   // one sentence: what proves it, or what is missing
};

/// The whole cache may be dropped (root and permitted) besides advising the kernel file by file.
struct CacheOptions {
  bool drop_caches = false;
  CacheUse use;
};

/// Brings `files` into `state` (cold: written back, advised away, caches dropped if allowed; warm: read once; bypassed
/// and asis: nothing), then looks what is resident and, if allowed, drops the names and inodes that looking brought
/// back. Where only names are used: cold drops all caches, warm opens every file once, and nothing is looked at. Fills
/// declared, use, resident_before, method and obstacle; do not look again before the timed region. Works on up to 32
/// threads. Throws RunError when a file cannot be opened or read. `progress` hears of bytes.
void establish(CacheState state, const FileTable& files, const CacheOptions& options, CacheProof& proof,
               const DataProgress& progress = {});

/// Share of the data set's bytes in the page cache, 0..1 (every file when there are few, else a seeded sample of
/// 2,000); -1 when the kernel does not tell: for other owners' files that this process may not write.
double resident_share(const FileTable& files, std::string& method);

/// Judges: cold needs <= 5 % resident before and >= 95 % of the bytes from storage; warm >= 95 % resident and <= 5 %
/// from storage; bypassed >= 95 % from storage; asis is always proven. Bytes that are read several times need to come
/// from storage once. Names (never resident in the page cache alone) are cold when all caches were dropped and storage
/// then gave at least 64 B for each operation, and warm when it gave less than a twentieth of that. Where residency cannot be seen, or storage
/// traffic is not counted, the other one decides; where neither can, nothing is proven. Read-ahead and metadata may
/// make storage_bytes exceed delivered_bytes. Sets proven and why.
void judge(CacheProof& proof);

}  // namespace headrace
