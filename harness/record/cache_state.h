// The page-cache states that files can be in while they are read, and their proof (rule 13).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headrace {

enum class CacheState { cold, warm, bypassed, asis };
std::string_view to_string(CacheState state);
std::optional<CacheState> parse_cache_state(std::string_view text);

/// The timed region's use of its files, which determines the proof of a cache state.
struct CacheUse {
  /// Only names and attributes are asked for; no byte of the files is read.
  bool names_only = false;
  /// Files are read whole, so that storage gives whole blocks for them.
  bool whole_files = true;
  /// How often each byte is read: where ranks share files, only the first one reads from storage.
  unsigned readers = 1;
};

/// The observations around one repetition. A share is of the data set's bytes, 0..1; -1 = could not be measured.
struct CacheProof {
  /// The most of a cold data set in memory, or of a warm one from storage. The rest is as declared.
  static constexpr double kMostOfOther = 0.05, kLeastOfState = 1 - kMostOfOther;
  /// This process's own reads, on file systems that the kernel reads from a block device itself.
  static constexpr const char* kOwnCounter = "/proc/self/io";

  CacheState declared = CacheState::asis;
  CacheUse use;
  double resident_before = -1;
  double resident_after = -1;
  std::uint64_t delivered_bytes = 0;
  std::uint64_t operations = 0;
  /// The value of `counter`: bytes that this process made the storage read, or that a network file system's servers
  /// gave.
  std::uint64_t storage_bytes = 0;
  std::uint64_t requests = 0;            // of a network file system's client to its servers, for names
  std::uint64_t device_bytes = 0;        // the block device's own counter, neighbours too; 0 = unknown
  std::string counter = kOwnCounter;     // or "mountstats"...; "" = nothing counts this traffic
  double rounding = 1;                   // least bytes that storage gives for one that is read: more by whole blocks,
                                         // fewer where they are stored compressed
  std::string method;                    // "cachestat", "mincore"; with ", drop_caches" when all was dropped
  std::string obstacle;                  // why no file here can be in that state: "tmpfs keeps files in memory"
  std::string second_cache;              // a cache below the page cache of the files: a loop device's image
  std::uint64_t second_cache_bytes = 0;  // that it had in memory before
  std::string compression;               // why storage may give fewer bytes: "squashfs stores compressed data ..."
  std::string caveat;                    // a cache outside of the state: "the server's own cache is not seen"
  std::string warm_names;                // cold bytes: why names and inodes may be in memory; "" = they were dropped
  bool required = false;                 // the state had to be proven: one was declared
  bool proven = false;
  std::string why;  // one sentence: the proof, or why there is none

  /// May anything be concluded from a measurement in this state? It was proven, or none was declared. A measurement
  /// that is no evidence is reported, and decides nothing: no verdict, limit, prediction, tuning, comparison or sizing.
  bool is_evidence() const { return proven || !required; }
};

/// The proof before any look: none, so that a declared state is not proven.
CacheProof nothing_proven(CacheState declared);

/// Judges. Cold: at most 5 % resident before. At least 95 % of the bytes, in whole blocks, counted as they came from
/// storage. bypassed: at least 95 % so. Uncounted bytes are not proven, and a device's own counter, which neighbours
/// move, proves nothing. Warm: at least 95 % resident, and at most 5 % from storage where that is counted. asis is
/// always proven. Bytes that are read several times need to come from storage once. Names are never resident in the
/// page cache alone. They are cold when all caches were dropped and storage then gave at least 64 B for each operation.
/// With a network file system, its client must have asked its servers for nearly each. They are warm when storage gave
/// less than a twentieth of that. Where residency cannot be seen the traffic decides. Read-ahead and metadata may make
/// storage_bytes exceed delivered_bytes. Sets proven and why.
void judge(CacheProof& proof);

/// Merges the proofs of two phases or ranks. Bytes add up; the worst residency and the first unproven state count.
void add(CacheProof& all, const CacheProof& more);

}  // namespace headrace
