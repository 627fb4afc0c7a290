#include "harness/machine/fuse_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "harness/base/system/unique_fd.h"

namespace headrace::system {

bool is_fuse(const Mount& mount) {
  return mount.type == "fuse" || mount.type == "fuseblk" || mount.type.starts_with("fuse.");
}

FuseQueue::FuseQueue(const Mount& mount, const std::string& connections) {
  unsigned major = 0, minor = 0;
  const char* const end = mount.device.data() + mount.device.size();
  const auto [colon, wrong] = std::from_chars(mount.device.data(), end, major);
  if (!is_fuse(mount) || wrong != std::errc{} || colon == end ||
      std::from_chars(colon + 1, end, minor).ec != std::errc{})
    return;
  // A connection is called by its file system's device, as the kernel holds its number.
  path_ = connections + "/" + std::to_string(major << 20 | minor) + "/waiting";
}

std::optional<unsigned> FuseQueue::waiting() const noexcept {
  if (path_.empty()) return std::nullopt;
  // It can be read once: the kernel knows no places in it.
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  char text[32];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text) : -1;
  unsigned count = 0;
  if (got <= 0 || std::from_chars(text, text + got, count).ec != std::errc{}) return std::nullopt;
  return count;
}

}  // namespace headrace::system
