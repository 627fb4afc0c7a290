#include "harness/backends/posix/posix_engine.h"

#include <sched.h>

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

}  // namespace headrace
