#include "harness/workload/data/data_set/proof.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "harness/base/system/open_quiet.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/manifest.h"
#include "harness/workload/data/data_set/sample_files.h"

namespace headrace {
namespace {

bool later(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

bool read_at(int fd, std::uint64_t at, unsigned char* to, std::uint64_t length) {
  return ::pread(fd, to, length, static_cast<off_t>(at)) == static_cast<ssize_t>(length);
}

bool are_whole(const SampleFile& file, int fd) {
  std::vector<unsigned char> bytes;
  for (std::uint64_t i = 0; i < file.count(); ++i) {
    const SamplePlace place = file.place(i);
    bytes.resize(place.size);
    if (!read_at(fd, place.offset, bytes.data(), place.size) || !file.wrong(i, bytes).empty()) return false;
  }
  return true;
}

}  // namespace

FileProof::FileProof(const DataSetLayout& layout, const files::Folder& folder) : layout_(layout) {
  const auto manifest = read_manifest(folder, layout.spec());
  const auto status = folder.look(Manifest::kFile);
  if (!manifest || !status) return;
  since_ = status->st_ctim;
  made_ = manifest->made;
}

bool FileProof::untouched(const struct stat& status, std::uint64_t file) const {
  return settled(file) && files::bears_mark(status) && !later(status.st_ctim, *since_) &&
         static_cast<std::uint64_t>(status.st_size) == layout_.size(file);
}

FileProof::Answer FileProof::look(const files::Folder& folder, const char* name, std::uint64_t file) const {
  Answer answer;
  if (::fstatat(folder.fd(), name, &answer.status, AT_SYMLINK_NOFOLLOW) != 0) {
    answer.found = errno == ENOENT ? Found::absent : Found::foreign;
  } else if (!S_ISREG(answer.status.st_mode)) {
    answer.found = Found::foreign;
  } else {
    answer.found = untouched(answer.status, file) ? Found::whole : judge(folder, name, file, answer.status);
  }
  return answer;
}

FileProof::Found FileProof::judge(const files::Folder& folder, const char* name, std::uint64_t file,
                                  const struct stat& status) const {
  const auto size = static_cast<std::uint64_t>(status.st_size), full = layout_.size(file);
  const bool marked = files::bears_mark(status);
  // Writing ends on a whole block before it is cut to size.
  if (size >= full + kBlock) return Found::foreign;
  if (size == 0) return marked ? Found::part : Found::foreign;
  if (size < kLabelBytes && !marked) return Found::foreign;  // too short to say whose it is

  const system::UniqueFd fd = system::open_quiet(folder.fd(), name, O_NOFOLLOW | O_NONBLOCK);
  struct stat opened;
  if (!fd || ::fstat(fd.get(), &opened) != 0 || !files::same(opened, status)) return Found::foreign;
  unsigned char expected[kBlock], found[kBlock];
  const std::uint64_t first = std::min(kBlock, size);
  const bool samples = layout_.spec().holds_samples();
  if (!samples) fill_range(layout_.key(), file, 0, expected, first);
  if (!read_at(fd.get(), 0, found, first)) return Found::foreign;
  const bool own =
      samples ? SampleFile(layout_, file).is_begin({found, first}) : std::memcmp(expected, found, first) == 0;
  if (!own) {
    // Space that was set aside and never written, as after a loss of power.
    const bool empty = std::all_of(found, found + first, [](unsigned char c) { return c == 0; });
    if (!marked || !empty) return Found::foreign;
    return settled(file) && size == full ? Found::whole : Found::part;
  }
  if (size != full) return Found::part;
  // What storage does to a finished set is for verify and the sample to find, not to be mended
  // unseen; one that was cut short may end in blocks that never reached the storage.
  if (settled(file)) return Found::whole;
  if (samples) return are_whole(SampleFile(layout_, file), fd.get()) ? Found::whole : Found::part;
  const std::uint64_t last = (full - 1) / kBlock * kBlock;
  fill_range(layout_.key(), file, last, expected, full - last);
  const bool whole = read_at(fd.get(), last, found, full - last) && std::memcmp(expected, found, full - last) == 0;
  return whole ? Found::whole : Found::part;
}

}  // namespace headrace
