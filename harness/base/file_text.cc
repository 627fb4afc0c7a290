#include "harness/base/file_text.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "harness/base/diagnostics.h"

namespace headrace {

std::string file_text(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file || text.bad()) throw UsageError(std::string("cannot be read: ") + std::strerror(errno ? errno : EIO));
  return std::move(text).str();
}

}  // namespace headrace
