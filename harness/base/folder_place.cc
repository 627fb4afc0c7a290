#include "harness/base/folder_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

namespace headrace::system {

std::string folder_place(const std::string& path) {
  struct statx folder {};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &folder) != 0) return "";
  const bool born = (folder.stx_mask & STATX_BTIME) != 0;
  return fmt::format("{}:{} {} {}.{:09}", folder.stx_dev_major, folder.stx_dev_minor, folder.stx_ino,
                     born ? folder.stx_btime.tv_sec : 0, born ? folder.stx_btime.tv_nsec : 0u);
}

}  // namespace headrace::system
