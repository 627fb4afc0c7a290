#include "harness/backends/cuda/gds_counters.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace headrace::cuda {
namespace {

/// The 16 bytes of "GPU-1f2e3d4c-..."; nothing of anything else.
std::optional<std::array<unsigned char, 16>> uuid_bytes(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  std::string digits;
  for (const char c : text.substr(std::min<std::size_t>(text.find('-'), text.size())))
    if (c != '-') digits += c;
  if (digits.size() != 2 * bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned byte = 0;
    if (std::sscanf(digits.substr(2 * i, 2).c_str(), "%2x", &byte) != 1) return std::nullopt;
    bytes[i] = static_cast<unsigned char>(byte);
  }
  return bytes;
}

}  // namespace

std::optional<std::uint64_t> nvidia_fs_reads(const std::string& root) {
  std::ifstream file(root + "/proc/driver/nvidia-fs/stats");
  bool counts = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("IO stats: Enabled")) counts = true;
    unsigned long long reads = 0;
    if (counts && line.starts_with("Reads") && std::sscanf(line.c_str(), "Reads : n=%llu", &reads) == 1) return reads;
  }
  return std::nullopt;
}

std::optional<CuFileReads> cufile_reads(std::span<const unsigned char> statistics, const std::string& uuid) {
  // CUfilePerGpuStats_t behind its UUID: bytes, bandwidth, utilization, duration, all reads, peer to peer, nvidia-fs, POSIX.
  constexpr std::size_t kPeerToPeer = 5, kNvidiaFs = 6, kPosix = 7;
  const auto wanted = uuid_bytes(uuid);
  if (!wanted) return std::nullopt;
  const auto at = std::search(statistics.begin(), statistics.end(), wanted->begin(), wanted->end());
  std::array<std::uint64_t, kPosix + 1> counters{};
  if (static_cast<std::size_t>(statistics.end() - at) < wanted->size() + sizeof counters) return std::nullopt;
  std::memcpy(counters.data(), &*at + wanted->size(), sizeof counters);
  return CuFileReads{counters[kPeerToPeer] + counters[kNvidiaFs], counters[kPosix]};
}

}  // namespace headrace::cuda
