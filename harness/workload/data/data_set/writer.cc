// Writes one generated file.
#include "harness/workload/data/data_set/writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>

#include "harness/base/error.h"
#include "harness/base/files/write_fully.h"
#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace {
namespace {

/// From here on writes go around the page cache, and nothing has to be evicted afterwards. On virtual machines it is
/// two to three times faster, as no page of memory need be touched first. Smaller files are better gathered by the
/// kernel.
constexpr std::uint64_t kDirectFrom = 64 << 10;  // [B]

std::uint64_t round_up(std::uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

}  // namespace

FileWriter::FileWriter(const DataSetLayout& layout, const FileProof& proof, const files::Folder& root,
                       std::atomic<std::uint64_t>& done, const std::function<bool()>& stop,
                       const decode::SampleMaker* maker)
    : layout_(layout), proof_(proof), root_(root), done_(done), stop_(stop), maker_(maker) {
  void* memory = ::mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, kBuffer, MADV_HUGEPAGE);  // fewer segments per direct write
  buffer_ = static_cast<unsigned char*>(memory);
}

FileWriter::~FileWriter() { ::munmap(buffer_, kBuffer); }

const files::Folder& FileWriter::folder_of(std::uint64_t file) {
  const std::uint64_t number = layout_.folder_of(file);
  if (!folder_ || number != folder_number_) {
    folder_ = root_.inner(layout_.folder(number));
    if (!folder_) throw system_error("open folder", root_.path_of(layout_.folder(number)), errno);
    folder_number_ = number;
  }
  return folder_;
}

void FileWriter::take_back() {
  for (const std::uint64_t file : made_) {
    const files::Folder& folder = folder_of(file);
    const std::string name = layout_.name(file);
    const FileProof::Answer there = proof_.look(folder, name.c_str(), file);
    if (there.found == FileProof::Found::part || there.found == FileProof::Found::whole)
      folder.remove(name, there.status);
  }
  made_.clear();
}

bool FileWriter::write(std::uint64_t file) {
  const files::Folder& folder = folder_of(file);
  const std::string name = layout_.name(file), shown = root_.path_of(layout_.path(file));
  UniqueFd fd = folder.create(name.c_str());
  if (!fd && errno == EEXIST) {
    const FileProof::Answer there = proof_.look(folder, name.c_str(), file);
    if (there.found == FileProof::Found::foreign)
      throw RunError("create " + shown + ": refusing to overwrite: headrace did not make this file");
    if (there.found == FileProof::Found::whole) {
      done_.fetch_add(layout_.size(file), std::memory_order_relaxed);
      return true;
    }
    folder.remove(name, there.status);
    fd = folder.create(name.c_str());
  }
  if (!fd) throw system_error("create", shown, errno);
  made_.push_back(file);
  if (fill(std::move(fd), shown, file)) return true;
  const FileProof::Answer there = proof_.look(folder, name.c_str(), file);
  if (there.found == FileProof::Found::part) folder.remove(name, there.status);
  made_.pop_back();
  return false;
}

bool FileWriter::fill(UniqueFd fd, const std::string& shown, std::uint64_t file) {
  const std::uint64_t size = layout_.size(file);
  const bool direct = size >= kDirectFrom;
  std::optional<SampleStream> samples;
  if (maker_ != nullptr) samples.emplace(layout_, *maker_, file);
  if (direct) {
    ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_DIRECT);  // refused: then through the cache
    // One piece on the disk instead of many, where the file system can; the size stays until data
    // is there.
    ::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size));
  }
  for (std::uint64_t at = 0; at < size; at += kBuffer) {
    const std::uint64_t length = std::min(kBuffer, size - at), whole = direct ? round_up(length) : length;
    if (samples) {
      samples->fill(buffer_, length);
      std::fill(buffer_ + length, buffer_ + whole, 0);
    } else {
      fill_range(layout_.key(), file, at, buffer_, whole);
    }
    if (!files::write_fully(fd.get(), buffer_, whole, at)) throw system_error("write", shown, errno);
    done_.fetch_add(length, std::memory_order_relaxed);
    if (at + length < size && stop_()) return false;
  }
  if (direct && size % kBlock != 0 && ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    throw system_error("truncate", shown, errno);
  // Errors that come only with write-back are reported by close on NFS and by syncfs elsewhere.
  if (::close(fd.release()) != 0 && errno != EINTR) throw system_error("close", shown, errno);
  return true;
}

}  // namespace headrace
