#include "harness/system/entries.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "harness/error.h"

namespace headrace::system {

std::vector<std::string> entries_of(int folder) {
  std::vector<std::string> names;
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!list) throw system_error("list", "folder", errno);
  while (const dirent* entry = ::readdir(list.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace headrace::system
