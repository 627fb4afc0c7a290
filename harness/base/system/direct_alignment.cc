#include "harness/base/system/direct_alignment.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

namespace headrace::system {
namespace {

#ifdef STATX_DIOALIGN
constexpr unsigned kAsked = STATX_TYPE | STATX_DIOALIGN;
std::uint64_t reported_by(const struct statx& seen) noexcept {
  return (seen.stx_mask & STATX_DIOALIGN) != 0 ? seen.stx_dio_offset_align : 0;
}
#else
constexpr unsigned kAsked = STATX_TYPE;
std::uint64_t reported_by(const struct statx&) noexcept { return 0; }
#endif

/// The block size of the disk, where the device is a partition.
std::uint64_t logical_block(unsigned major, unsigned minor) noexcept {
  constexpr const char* kFolders[] = {"queue", "../queue"};
  for (const char* folder : kFolders) {
    char path[96];
    std::snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s/logical_block_size", major, minor, folder);
    std::FILE* const file = std::fopen(path, "re");
    if (file == nullptr) continue;
    unsigned long long size = 0;
    const bool read = std::fscanf(file, "%llu", &size) == 1;
    std::fclose(file);
    if (read) return size;
  }
  return 0;
}

}  // namespace

std::uint64_t direct_alignment(int fd) noexcept {
  struct statx seen {};
  if (::statx(fd, "", AT_EMPTY_PATH, kAsked, &seen) != 0) return 0;
  if (const std::uint64_t reported = reported_by(seen)) return reported;
  int size = 0;
  if (S_ISBLK(seen.stx_mode)) return ::ioctl(fd, BLKSSZGET, &size) == 0 ? static_cast<std::uint64_t>(size) : 0;
  return logical_block(seen.stx_dev_major, seen.stx_dev_minor);
}

}  // namespace headrace::system
