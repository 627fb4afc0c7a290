#include "harness/backends/posix/posix_engine.h"

#include <sched.h>
#include <sys/socket.h>

#include <cerrno>

namespace headrace {
namespace {

class PosixEngine final : public StorageEngine {
 public:
  std::optional<std::string> unusable() const override { return std::nullopt; }
  std::unique_ptr<WholeFileReader> whole_file_reader(const FileTable& files, const ReaderOptions& options) override {
    return make_posix_whole_files(files, options, notes_);
  }
  std::unique_ptr<BlockReader> block_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                            const ReaderOptions& options) override {
    return make_posix_blocks(files, selected, options, notes_);
  }
  std::unique_ptr<BlockWriter> block_writer(const WriterOptions&) override { return make_posix_writer(); }
  std::vector<std::string> take_notes() override { return notes_.take(); }

 private:
  Notes notes_;
};

}  // namespace

void own_descriptors() noexcept {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return;  // which takes equal numbers of two tables for one descriptor
#endif
#endif
  ::unshare(CLONE_FILES);  // refused, it is only slower
}

std::unique_ptr<StorageEngine> make_posix_engine() { return std::make_unique<PosixEngine>(); }

namespace {

/// The socket's own time limit ends a call with EAGAIN; a signal does the same here.
std::int64_t describe(ssize_t result) {
  if (result >= 0) return result;
  return errno == EINTR ? -EAGAIN : -errno;
}

class PosixMover final : public StreamMover {
 public:
  std::int64_t send(int socket, std::span<const char> data) override {
    return describe(::send(socket, data.data(), data.size(), MSG_NOSIGNAL));
  }
  std::int64_t receive(int socket, std::span<char> data) override {
    return describe(::recv(socket, data.data(), data.size(), 0));
  }
};

class PosixStreams final : public StreamEngine {
 public:
  std::unique_ptr<StreamMover> mover() override { return std::make_unique<PosixMover>(); }
};

}  // namespace

std::unique_ptr<StreamEngine> make_posix_streams() { return std::make_unique<PosixStreams>(); }

}  // namespace headrace
