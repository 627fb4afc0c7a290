#include "harness/backends/uring/uring_engine.h"

#include "harness/backends/plugin.h"
#include "harness/backends/uring/ring.h"

namespace headrace::uring {
namespace {

class UringEngine final : public StorageEngine {
 public:
  std::optional<std::string> unusable() const override {
    io_uring ring{};
    const int result = io_uring_queue_init(2, &ring, 0);
    if (result < 0) return setup_failure(-result);
    io_uring_queue_exit(&ring);
    return std::nullopt;
  }
  std::unique_ptr<WholeFileReader> whole_file_reader(const FileTable& files, const ReaderOptions& options) override {
    return make_whole_files(files, options, notes_);
  }
  std::unique_ptr<BlockReader> block_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                            const ReaderOptions& options) override {
    return make_blocks(files, selected, options, notes_);
  }
  std::unique_ptr<BlockWriter> block_writer(const WriterOptions& options) override {
    return make_writer(options, notes_);
  }
  std::vector<std::string> take_notes() override { return notes_.take(); }

 private:
  Notes notes_;
};

class UringPlugin final : public Plugin {
 public:
  std::string version() const override { return "liburing " HEADRACE_LIBURING_VERSION; }
  std::unique_ptr<StorageEngine> storage_engine() override { return std::make_unique<UringEngine>(); }
  std::unique_ptr<StreamEngine> stream_engine() override { return make_streams(); }
};

}  // namespace
}  // namespace headrace::uring

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::uring::UringPlugin plugin;
  return &plugin;
}
