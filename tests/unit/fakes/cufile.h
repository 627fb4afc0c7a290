// What the tests' libcufile.so.0 does and has seen: exported by it as `fake_cufile`.
#pragma once

#include <cstdint>

namespace headrace::testing {

struct FakeCuFile {
  unsigned nvidia_fs = 2;            // major version of the kernel module; 0 = not loaded
  bool counts = true;                // statistics can be had
  unsigned through_host = 0;         // of the files registered from now on so many, the others are direct
  std::uint64_t before_uuid = 1024;  // bytes of statistics before the GPU's own: depends on the version
  unsigned char uuid[16] = {};
  int level = 0;  // of statistics
  bool counting = false;
  std::uint64_t counted[8] = {};  // as CUfilePerGpuStats_t has them
  unsigned reads = 0;
};

}  // namespace headrace::testing
