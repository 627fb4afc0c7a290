#include "harness/results/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "harness/error.h"
#include "harness/system/unique_fd.h"

namespace headrace::results {
namespace {

using system::UniqueFd;

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

void write_whole(const std::string& path, std::string_view text) {
  const std::filesystem::path whole(path);
  const std::string aside =
      (whole.parent_path() / fmt::format(".{}.{}.new", whole.filename().string(), ::getpid()))
          .string();
  try {
    const UniqueFd fd(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) throw system_error("create", aside, errno);
    write_all(fd.get(), text, path);
    if (::fsync(fd.get()) != 0) throw system_error("fsync", path, errno);
    if (::rename(aside.c_str(), path.c_str()) != 0) throw system_error("rename", path, errno);
  } catch (const RunError&) {
    ::unlink(aside.c_str());
    throw;
  }
}

void sync_folder(const std::string& folder) {
  const UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());
}

}  // namespace headrace::results
