// The path of reads into GPU memory, by the counters of nvidia-fs and cuFile. cuFile falls back to host memory file by
// file and buffer by buffer without a message.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace headrace::cuda {

/// Reads that the kernel module nvidia-fs has done, of all processes. Nothing where it is not there, or counts none
/// (rw_stats_enabled). `root` is where /proc is looked for; tests lay their own.
std::optional<std::uint64_t> nvidia_fs_reads(const std::string& root = "");

/// cuFile's reads of one GPU in this process.
struct CuFileReads {
  std::uint64_t direct = 0;  // by nvidia-fs or PCI peer to peer
  std::uint64_t through_host = 0;
};

/// From what cuFileGetStatsL3 wrote: a CUfilePerGpuStats_t for each GPU, behind others whose size depends on the version.
/// `uuid`: "GPU-1f2e...". Nothing where that GPU is not in it.
std::optional<CuFileReads> cufile_reads(std::span<const unsigned char> statistics, const std::string& uuid);

}  // namespace headrace::cuda
