// Blocks of mapped files, copied out: the page faults that a loader of memory-mapped arrays takes.
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>

#include "harness/backends/open_files.h"
#include "harness/backends/posix/guarded_copy.h"
#include "harness/backends/posix/posix_engine.h"
#include "harness/record/recorder.h"

namespace headrace {
namespace {

class MappedBlocks final : public BlockReader {
 public:
  MappedBlocks(const FileTable& files, std::span<const std::uint32_t> selected, const ReaderOptions& options,
               Notes& notes)
      : files_(files),
        selected_(selected.begin(), selected.end()),
        advice_(options.advice),
        open_(files, selected, options),
        buffers_(1, options.block_size, options.huge_pages) {
    notes.add_pages(buffers_, options.huge_pages);
    maps_.reserve(selected.size());
    catch_bus_errors();
  }
  ~MappedBlocks() override { detach(); }

  void attach() override {
    detach();
    for (std::uint32_t i = 0; i < selected_.size(); ++i) map(open_[i], selected_[i]);
  }
  void detach() noexcept override {
    for (const Map& map : maps_) ::munmap(const_cast<unsigned char*>(map.begin), map.size);
    maps_.clear();
  }

  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned) override {
    if (requests.empty()) return {};
    const BlockRequest& request = requests.front();
    const Map& map = maps_[request.file];
    const std::uint64_t rest = request.offset < map.size ? map.size - request.offset : 0;
    const std::uint64_t length = std::min<std::uint64_t>(request.length, rest);
    done_.file = request.file;
    done_.offset = request.offset;
    done_.begin_ns = now_ns();
    done_.result = static_cast<std::int64_t>(length);
    if (!guarded_copy(buffers_[0], map.begin + request.offset, length)) {
      done_.result = why_not(request);
      if (done_.result < 0) done_.offset = place_of(unreadable_address(), map, request);
    }
    done_.end_ns = now_ns();
    return {&done_, 1};
  }
  unsigned char* data(std::uint32_t) override { return buffers_[0]; }

 private:
  struct Map {
    const unsigned char* begin;
    std::uint64_t size;
  };

  void map(int fd, std::uint32_t file) {
    const std::uint64_t size = files_.size(file);
    void* begin = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (begin == MAP_FAILED) throw system_error("map", files_.full_path(file), errno);
    if (advice_ == Advice::sequential) ::madvise(begin, size, MADV_SEQUENTIAL);
    if (advice_ == Advice::random) ::madvise(begin, size, MADV_RANDOM);
    maps_.push_back({static_cast<const unsigned char*>(begin), size});
  }

  /// The page that raised the signal.
  static std::uint64_t place_of(const void* address, const Map& map, const BlockRequest& request) noexcept {
    const auto at = static_cast<std::uint64_t>(static_cast<const unsigned char*>(address) - map.begin);
    return std::max(request.offset, at / kPage * kPage);
  }

  /// The result that a read would have: the bytes before the end of a file that shrank, or an error.
  std::int64_t why_not(const BlockRequest& request) const noexcept {
    struct stat now {};
    if (::fstat(open_[request.file], &now) != 0) return -errno;
    const auto size = S_ISBLK(now.st_mode)  // a device's status reports no size
                          ? static_cast<std::int64_t>(files_.size(selected_[request.file]))
                          : std::int64_t{now.st_size};
    const std::int64_t rest = size - static_cast<std::int64_t>(request.offset);
    return rest >= static_cast<std::int64_t>(request.length) ? -EIO : std::max<std::int64_t>(rest, 0);
  }

  const FileTable& files_;
  const std::vector<std::uint32_t> selected_;
  const Advice advice_;
  OpenFiles open_;
  Buffers buffers_;
  std::vector<Map> maps_;
  BlockCompletion done_;
};

class MmapEngine final : public StorageEngine {
 public:
  std::optional<std::string> unusable() const override { return std::nullopt; }
  std::unique_ptr<WholeFileReader> whole_file_reader(const FileTable&, const ReaderOptions&) override {
    throw RunError("engine mmap reads blocks of files, not whole files");
  }
  std::unique_ptr<BlockReader> block_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                            const ReaderOptions& options) override {
    if (options.direct) throw RunError("engine mmap cannot bypass the page cache");
    return std::make_unique<MappedBlocks>(files, selected, options, notes_);
  }
  std::unique_ptr<BlockWriter> block_writer(const WriterOptions&) override {
    throw RunError("engine mmap does not write");
  }
  std::vector<std::string> take_notes() override { return notes_.take(); }

 private:
  Notes notes_;
};

}  // namespace

std::unique_ptr<StorageEngine> make_mmap_engine() { return std::make_unique<MmapEngine>(); }

}  // namespace headrace
