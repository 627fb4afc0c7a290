#include "harness/base/file_text.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "harness/base/diagnostics.h"

namespace headrace {

std::string file_text(const std::string& path, std::size_t most) {
  constexpr std::size_t kBlock = 1 << 20;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  // Block by block: a device, or a pipe, may never end.
  for (std::size_t got = kBlock; file && got == kBlock;) {
    const std::size_t before = text.size();
    if (before > most) throw UsageError(fmt::format("has more than {} MiB", most >> 20));
    text.resize(before + kBlock);
    file.read(text.data() + before, kBlock);
    got = static_cast<std::size_t>(file.gcount());
    text.resize(before + got);
  }
  if (file.bad() || !file.is_open())
    throw UsageError(std::string("cannot be read: ") + std::strerror(errno ? errno : EIO));
  return text;
}

}  // namespace headrace
