// Folders of a data set, and listing one as readdir does.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "harness/record/file_table.h"

namespace headrace {

/// The root and every folder on the way to a file.
inline FileTable folders_of(const FileTable& files) {
  std::set<std::string, std::less<>> folders{"."};
  for (std::uint32_t i = 0; i < files.count(); ++i) {
    const std::string_view path = files.path(i);  // of a link what it leads to
    for (std::size_t end = path.rfind('/'); end != path.npos && end > 0; end = path.rfind('/', end - 1)) {
      if (!folders.emplace(path.substr(0, end)).second) break;
    }
  }
  FileTable table(::fcntl(files.root_fd(), F_DUPFD_CLOEXEC, 0), files.root());
  for (const std::string& folder : folders) table.add(folder, 0);
  return table;
}

/// Opens, lists and closes one folder as readdir does, and adds the names to `names`.
inline bool list_folder(const FileTable& folders, std::uint32_t folder, std::uint64_t& names) {
  alignas(dirent64) char entries[32 << 10];
  const int fd = ::openat(folders.root_fd(), folders.path(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t got;
  while ((got = ::syscall(SYS_getdents64, fd, entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      const char* name = entry->d_name;
      const bool own = name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0));
      names += !own;
      at += entry->d_reclen;
    }
  }
  const int code = errno;
  const bool closed = ::close(fd) == 0;
  if (got < 0) errno = code;
  return got == 0 && closed;
}

}  // namespace headrace
