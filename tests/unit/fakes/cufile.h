// What the tests' libcufile.so.0 does and has seen: exported by it as `fake_cufile`.
#pragma once

#include <cstdint>

namespace headrace::testing {

struct FakeCuFile {
  unsigned nvidia_fs = 2;            // major version of the kernel module; 0 = not loaded
  bool counts = true;                // statistics can be had
  unsigned through_host = 0;         // of the files registered from now on that many, the others are direct
  std::uint64_t before_uuid = 1024;  // bytes of statistics before the GPU's own: depends on the version
  unsigned char uuid[16] = {};
  int level = 0;  // of statistics
  bool counting = false;
  std::uint64_t counted[8] = {};  // as CUfilePerGpuStats_t has them
  unsigned reads = 0;
  unsigned batches = 0, most_in_batch = 0;  // handed over, and reads in the largest
  unsigned at_once = 1000;                  // events of a batch that are reported by one call
  unsigned fails = 0;                       // of the reads in batches and streams: the so-many-th
  unsigned queued = 0, streams = 0;
  bool never_ends = false;  // batches
  unsigned cancelled = 0;   // batches
  long failure = -5;        // what a failed read of a batch or stream gives
  unsigned refuses = 0;     // reads of a stream: the so-many-th is not queued
};

}  // namespace headrace::testing
