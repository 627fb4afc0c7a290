#include "harness/base/system/list_names.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "harness/base/system/unique_fd.h"

namespace headrace::system {

int list_names(int at, const char* path, std::vector<std::string>& names) {
  UniqueFd fd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fd ? ::fdopendir(fd.get()) : nullptr, ::closedir);
  if (!list) return errno;
  fd.release();  // `list` closes it
  // readdir returns nullptr both at the end and on failure; errno separates the two.
  for (errno = 0; const dirent* entry = ::readdir(list.get()); errno = 0)
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  if (errno != 0) return errno;
  std::sort(names.begin(), names.end());
  return 0;
}

}  // namespace headrace::system
