// Whole files as image loaders and memory-mapped loaders read them.
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "harness/backends/posix/buffered_file.h"
#include "harness/backends/posix/guarded_copy.h"
#include "harness/backends/posix/posix_engine.h"
#include "harness/backends/read_profiles.h"
#include "harness/record/recorder.h"

namespace headrace {
namespace {

/// Common to such readers: one file at a time, the steps timed.
class ProfileFiles : public WholeFileReader {
 public:
  explicit ProfileFiles(const FileTable& files) : files_(files) {}
  void attach() final { own_descriptors(); }
  std::span<const FileCompletion> exchange(std::span<const std::uint32_t> files, unsigned) final {
    if (files.empty()) return {};
    done_ = FileCompletion{.file = files.front(), .begin_ns = now_ns()};
    const bool opened = open(done_.file);
    done_.opened_ns = now_ns();
    if (opened) read(files_.size(done_.file));
    done_.read_ns = now_ns();
    if (opened) close();
    done_.end_ns = now_ns();
    return {&done_, 1};
  }
  unsigned free_slots() const final { return 1; }

 protected:
  virtual bool open(std::uint32_t file) noexcept = 0;
  virtual void read(std::uint64_t size) noexcept = 0;
  virtual void close() noexcept = 0;

  bool worked(int code, std::uint8_t part) noexcept {
    if (code != 0 && done_.error == 0) fail(code, part);
    return code == 0;
  }
  void fail(int code, std::uint8_t part) noexcept {
    done_.error = code;
    done_.failed_part = part;
    done_.failed_offset = done_.bytes;
  }

  const FileTable& files_;
  FileCompletion done_;
};

/// Image.open() looks at the first bytes. load() then reads 64 KiB at a time, part of which the buffer holds.
class PilFiles final : public ProfileFiles {
 public:
  PilFiles(const FileTable& files, bool keep_data)
      : ProfileFiles(files), input_(files), keep_(keep_data), piece_(kPiece + (keep_data ? files.largest() : 0)) {}
  const unsigned char* data(std::uint32_t) const override { return keep_ ? piece_.data() : nullptr; }

 private:
  static constexpr std::uint64_t kPiece = 65536,
                                 kMagic = 16;  // ImageFile.MAXBLOCK; the bytes that distinguish formats

  bool open(std::uint32_t file) noexcept override {
    input_.count_anew();
    return worked(input_.open(file), 1);
  }
  void read(std::uint64_t size) noexcept override {
    ::lseek(input_.fd(), 0, SEEK_SET);
    const std::int64_t magic = input_.read(piece_.data(), kMagic);
    if (magic < 0) return fail(static_cast<int>(-magic), 2);
    ::lseek(input_.fd(), 0, SEEK_CUR);
    input_.rewind();
    while (done_.bytes < size) {
      const std::int64_t got = input_.read(piece_.data() + (keep_ ? done_.bytes : 0), kPiece);
      done_.requests = input_.requests();
      if (got <= 0) return fail(got < 0 ? static_cast<int>(-got) : OperationError::kShortRead, 2);
      done_.bytes += static_cast<std::uint64_t>(got);
    }
    done_.bytes = size;  // of a file that has grown, the expected size
  }
  void close() noexcept override { worked(input_.close(), 3); }

  BufferedFile input_;
  const bool keep_;  // pieces lie one behind the other
  std::vector<unsigned char> piece_;
};

/// numpy.load(file)["x"] of an .npz. zipfile reads the directory at the end. numpy opens each member again and reads
/// the array's first bytes and its header. It reads the array 256 KiB at a time through a buffered file. The member and
/// the place of the directory change no calls. The first member and the last 124 bytes are taken, as savez() writes a
/// volume and its label.
class NpzFiles final : public ProfileFiles {
 public:
  NpzFiles(const FileTable& files, bool keep_data)
      : ProfileFiles(files), input_(files), keep_(keep_data), piece_(kPiece + (keep_data ? files.largest() : 0)) {}
  const unsigned char* data(std::uint32_t) const override { return keep_ ? piece_.data() : nullptr; }

 private:
  static constexpr std::uint64_t kPiece = 262144;  // numpy.lib.format.BUFFER_SIZE
  static constexpr std::uint64_t kLeast = 4096;    // zipfile.ZipExtFile.MIN_READ_SIZE
  static constexpr std::uint64_t kHeader = 55;     // of a member, with its name and the sizes of zip64
  static constexpr std::uint64_t kEnd = 22, kZip64 = 20, kDirectory = 124;

  bool open(std::uint32_t file) noexcept override {
    input_.count_anew();
    return worked(input_.open(file), 1);
  }
  void read(std::uint64_t size) noexcept override {
    if (!look_at_end(size)) return;
    for (int member = 0; member < 2; ++member) {  // whose first bytes show that it is an array; then to read it
      input_.seek(0, SEEK_SET);
      done_.bytes = 0;
      if (!more(std::min(kHeader, size))) return;
      for (int i = 0; i < 3; ++i) ::lseek(input_.fd(), 0, SEEK_CUR);
      if (!more(std::min(kLeast, size - done_.bytes))) return;
      if (member == 0) ::lseek(input_.fd(), 0, SEEK_CUR);
    }
    // Bytes that came with the header are part of the first piece.
    for (std::uint64_t piece = kPiece - kLeast + 128; done_.bytes < size; piece = kPiece) {
      ::lseek(input_.fd(), 0, SEEK_CUR);
      if (!more(std::min(piece, size - done_.bytes))) return;
    }
  }
  /// Is it a zip file, where does its directory begin, and what does it hold?
  bool look_at_end(std::uint64_t size) noexcept {
    if (!worked_read(input_.read(piece_.data(), 6))) return false;  // is it one, or a bare array?
    ::lseek(input_.fd(), 0, SEEK_END);
    ::lseek(input_.fd(), 0, SEEK_CUR);
    input_.seek(-static_cast<std::int64_t>(std::min(size, kEnd)), SEEK_END);
    ::lseek(input_.fd(), 0, SEEK_CUR);
    struct stat status {};
    ::fstat(input_.fd(), &status);
    if (!worked_read(input_.read_rest(piece_.data(), kEnd + 1))) return false;
    for (const std::uint64_t from_end : {kEnd + kZip64, kDirectory}) {
      input_.seek(-static_cast<std::int64_t>(std::min(size, from_end)), SEEK_END);
      if (!worked_read(input_.read(piece_.data(), std::min(size, from_end)))) return false;
    }
    return true;
  }
  bool worked_read(std::int64_t got) noexcept {
    done_.requests = input_.requests();
    if (got < 0) fail(static_cast<int>(-got), 2);
    return got >= 0;
  }
  /// `length` bytes of the file behind those that came.
  bool more(std::uint64_t length) noexcept {
    const std::int64_t got = input_.read(piece_.data() + (keep_ ? done_.bytes : 0), length);
    if (!worked_read(got)) return false;
    done_.bytes += static_cast<std::uint64_t>(got);
    if (static_cast<std::uint64_t>(got) < length) fail(OperationError::kShortRead, 2);
    return static_cast<std::uint64_t>(got) == length;
  }
  void close() noexcept override { worked(input_.close(), 3); }

  BufferedFile input_;
  const bool keep_;  // pieces lie one behind the other
  std::vector<unsigned char> piece_;
};

class MappedFiles final : public ProfileFiles {
 public:
  MappedFiles(const FileTable& files, bool keep_data)
      : ProfileFiles(files),
        keep_(keep_data),
        copy_(std::min<std::uint64_t>(keep_data ? UINT64_MAX : kPiece, std::max<std::uint64_t>(files.largest(), 1))) {
    catch_bus_errors();
  }
  const unsigned char* data(std::uint32_t) const override { return keep_ ? copy_.data() : nullptr; }

 private:
  static constexpr std::uint64_t kPiece = 1 << 20;

  bool open(std::uint32_t file) noexcept override {
    fd_ = open_for_reading(files_.root_fd(), files_.path(file), kReadFlags);
    return worked(fd_ < 0 ? errno : 0, 1);
  }
  void read(std::uint64_t size) noexcept override {
    if (size == 0) return;
    struct stat status {};
    if (!worked(::fstat(fd_, &status) != 0 ? errno : 0, 2)) return;
    void* const map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd_, 0);
    if (!worked(map == MAP_FAILED ? errno : 0, 2)) return;
    done_.requests = 1;
    const auto* from = static_cast<const unsigned char*>(map);
    while (done_.bytes < size) {
      const std::uint64_t length = std::min<std::uint64_t>(copy_.size(), size - done_.bytes);
      if (!guarded_copy(copy_.data(), from + done_.bytes, length)) {
        const bool ends = ::fstat(fd_, &status) == 0 && static_cast<std::uint64_t>(status.st_size) < size;
        fail(ends ? OperationError::kShortRead : EIO, 2);
        break;
      }
      done_.bytes += length;
    }
    ::munmap(map, size);
  }
  void close() noexcept override { worked(::close(fd_) != 0 ? errno : 0, 3); }

  const bool keep_;  // a file is copied in one piece
  std::vector<unsigned char> copy_;
  int fd_ = -1;
};

}  // namespace

ReadProfile read_profile(std::string_view word) {
  constexpr std::string_view kWords[] = {"whole", "ranged", "pil", "wds", "mds", "mmap", "row_group", "npz"};
  for (std::size_t i = 0; i < std::size(kWords); ++i)
    if (word == kWords[i]) return static_cast<ReadProfile>(i);
  throw RunError("there is no read profile " + std::string(word));
}

std::unique_ptr<WholeFileReader> profile_file_reader(ReadProfile profile, const FileTable& files, bool keep_data) {
  if (profile == ReadProfile::pil) return std::make_unique<PilFiles>(files, keep_data);
  if (profile == ReadProfile::mmap) return std::make_unique<MappedFiles>(files, keep_data);
  if (profile == ReadProfile::npz) return std::make_unique<NpzFiles>(files, keep_data);
  throw RunError("this read profile is none of whole files");
}

}  // namespace headrace
