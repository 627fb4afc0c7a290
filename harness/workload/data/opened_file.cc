#include "harness/workload/data/opened_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "harness/backends/object_store.h"
#include "harness/base/error.h"
#include "harness/base/system/open_quiet.h"

namespace headrace {

OpenedFile::OpenedFile(const FileTable& files, std::uint32_t file, int advice, ObjectStore* store)
    : store_(files.holds_objects() ? store : nullptr) {
  if (store_ != nullptr) {
    url_ = files.full_path(file);
    return;
  }
  fd_ = system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW);
  if (!fd_)
    why_ = system_error("open", "", errno).what();
  else
    ::posix_fadvise(fd_.get(), 0, 0, advice);
}

std::int64_t OpenedFile::read(std::uint64_t offset, unsigned char* to, std::uint64_t length) {
  if (store_ != nullptr) {
    try {
      const auto found = store_->get(url_, offset, length);
      if (!found) {
        why_ = "the object is not there any more";
        return -1;
      }
      std::copy(found->bytes.begin(), found->bytes.end(), to);
      return static_cast<std::int64_t>(found->bytes.size());
    } catch (const RunError& e) {
      why_ = e.what();
      return -1;
    }
  }
  for (;;) {
    const ssize_t got = ::pread(fd_.get(), to, length, static_cast<off_t>(offset));
    if (got >= 0) return got;
    if (errno == EINTR) continue;
    why_ = system_error("read", "", errno).what();
    return -1;
  }
}

}  // namespace headrace
