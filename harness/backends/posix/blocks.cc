// Blocks of open files by pread and pwrite.
#include "harness/backends/open_files.h"
#include "harness/backends/posix/posix_engine.h"
#include "harness/record/recorder.h"

namespace headrace {
namespace {

class PosixBlocks final : public BlockReader {
 public:
  PosixBlocks(const FileTable& files, std::span<const std::uint32_t> selected, const ReaderOptions& options,
              Notes& notes)
      : open_(files, selected, options), direct_(options.direct), buffers_(1, options.block_size, options.huge_pages) {
    notes.add_pages(buffers_, options.huge_pages);
  }

  void attach() override { own_descriptors(); }

  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned) override {
    if (requests.empty()) return {};
    const BlockRequest& request = requests.front();
    done_.file = request.file;
    done_.offset = request.offset;
    done_.begin_ns = now_ns();
    done_.result = read(open_[request.file], request, done_.offset);
    done_.end_ns = now_ns();
    return {&done_, 1};
  }
  unsigned char* data(std::uint32_t) override { return buffers_[0]; }

 private:
  /// Bytes up to the file's end, or -errno and where.
  std::int64_t read(int fd, const BlockRequest& request, std::uint64_t& at) const noexcept {
    std::uint32_t done = 0;
    for (;;) {
      const ssize_t n =
          ::pread(fd, buffers_[0] + done, request.length - done, static_cast<off_t>(request.offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        at = request.offset + done;
        return -errno;
      }
      done += static_cast<std::uint32_t>(n);
      if (n == 0 || done == request.length || (direct_ && done % kPage != 0)) return done;
    }
  }

  OpenFiles open_;
  const bool direct_;
  Buffers buffers_;
  BlockCompletion done_;
};

class PosixWriter final : public BlockWriter {
 public:
  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned) override {
    if (requests.empty()) return {};
    const BlockRequest& request = requests.front();
    done_.file = request.file;
    done_.offset = request.offset;
    done_.begin_ns = now_ns();
    done_.result = write(request, done_.offset);
    done_.end_ns = now_ns();
    return {&done_, 1};
  }

 private:
  /// All bytes, or -errno and where: a full disk takes a part and then returns the error.
  static std::int64_t write(const BlockRequest& request, std::uint64_t& at) noexcept {
    std::uint32_t done = 0;
    while (done < request.length) {
      const ssize_t n = ::pwrite(static_cast<int>(request.file), request.from + done, request.length - done,
                                 static_cast<off_t>(request.offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        at = request.offset + done;
        return n < 0 ? -errno : -EIO;
      }
      done += static_cast<std::uint32_t>(n);
    }
    return done;
  }

  BlockCompletion done_;
};

}  // namespace

std::unique_ptr<BlockWriter> make_posix_writer() { return std::make_unique<PosixWriter>(); }

std::unique_ptr<BlockReader> make_posix_blocks(const FileTable& files, std::span<const std::uint32_t> selected,
                                               const ReaderOptions& options, Notes& notes) {
  return std::make_unique<PosixBlocks>(files, selected, options, notes);
}

}  // namespace headrace
