// Shards as files: written next to the old ones, made durable, put in their places.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "harness/backends/loader.h"
#include "harness/backends/open_files.h"
#include "harness/base/error.h"
#include "harness/base/system/open_quiet.h"
#include "harness/machine/node.h"
#include "harness/workload/data/checkpoint/folder.h"
#include "harness/workload/data/checkpoint/place.h"
#include "harness/workload/data/checkpoint_saver.h"

namespace headrace::checkpoint {
namespace {

/// False when the file system cannot set space aside.
bool can_preallocate(const Folder& folder) {
  const system::UniqueFd fd = folder.create(0, 0);
  const bool can =
      ::fallocate(fd.get(), 0, 0, static_cast<off_t>(kPage)) == 0 || (errno != EOPNOTSUPP && errno != ENOSYS);
  folder.remove_temporary(0);
  return can;
}

/// Throws Unsupported when files there cannot be written past the page cache.
void require_direct(const Folder& folder) {
  require_storage(folder.fd(), folder.path());
  require_multiple(folder.fd(), folder.path(), kPage);
  folder.create(0, O_DIRECT);
  folder.remove_temporary(0);
}

class Files final : public Place {
 public:
  Files(const SaveParams& params, Node& node)
      : folder_(node.own_scratch()), replaced_(params.ranks), fds_(params.ranks), published_(params.ranks) {
    if (params.direct) require_direct(folder_);
    durable_ = params.durability != Durability::none;
  }

  void open(const SaveParams& params, const Buffers& source, Node& node) override {
    p_ = params;
    if (p_.preallocate && !can_preallocate(folder_)) {
      p_.preallocate = false;
      notes_.emplace_back("no fallocate on this file system: not preallocated");
    }
    StorageEngine& engine = node.backends().storage(p_.engine);
    for (unsigned rank = 0; rank < p_.ranks; ++rank) {
      const WriterOptions options{.queue_depth = p_.queue_depth, .memory = {source[rank], source.stride()}};
      writers_.push_back(engine.block_writer(options));
      loops_.emplace_back(p_.queue_depth);
    }
  }
  void attach(unsigned rank) override { writers_[rank]->attach(); }

  void clear() override {
    again();
    folder_.require_free(p_.shared_file ? 1 : p_.ranks);
    folder_.sync();  // the file system is done with them before the clock starts
  }
  void again() noexcept override {
    unpublished_ = p_.ranks;
    for (system::UniqueFd& old : replaced_) old = {};
  }

  void create(unsigned rank) override {
    published_[rank] = false;
    fds_[rank] = folder_.create(file(rank), p_.direct ? O_DIRECT : 0, p_.shared_file);
    if (!p_.preallocate) return;
    const auto length = static_cast<off_t>(p_.shard_size);
    if (::fallocate(fds_[rank].get(), 0, static_cast<off_t>(begin_of(rank)), length) != 0)
      throw system_error("allocate", target(rank), errno);
  }

  bool write(unsigned rank, const unsigned char* from, Recorder& recorder) override {
    const std::uint64_t base = begin_of(rank);
    const int fd = fds_[rank].get();
    std::uint64_t at = 0;
    std::int64_t failed = 0;
    std::uint64_t failed_at = 0;
    loops_[rank].run(
        *writers_[rank],
        [&](BlockRequest& request) {
          if (at >= p_.shard_size || failed || !recorder.running()) return false;
          // A direct write is of whole pages: the state's last one is padded, and cut off below.
          const std::uint64_t rest = p_.direct ? round_up(p_.shard_size - at, kPage) : p_.shard_size - at;
          request.file = static_cast<std::uint32_t>(fd);
          request.offset = base + at;
          request.length = static_cast<std::uint32_t>(std::min(p_.block_size, rest));
          request.from = from + at;
          at += request.length;
          return true;
        },
        [&](const BlockCompletion& block) {
          if (block.result < 0) {
            if (failed && block.offset > failed_at) return;
            failed = block.result;
            failed_at = block.offset;
          } else {
            const std::uint64_t wanted = p_.shard_size - (block.offset - base);
            recorder.op(block.begin_ns, block.end_ns,
                        std::min<std::uint64_t>(static_cast<std::uint64_t>(block.result), wanted));
          }
        });
    if (failed) throw system_error("write", target(rank), failed_at, static_cast<int>(-failed));
    if (at < p_.shard_size) return false;
    if (at > p_.shard_size && ::ftruncate(fd, static_cast<off_t>(p_.shard_size)) != 0)
      throw system_error("cut", target(rank), errno);
    return true;
  }

  bool syncs() const override { return true; }
  void sync(unsigned rank) override {
    const int fd = fds_[rank].get();
    const int result = p_.durability == Durability::fsync       ? ::fsync(fd)
                       : p_.durability == Durability::fdatasync ? ::fdatasync(fd)
                                                                : 0;
    if (result != 0) throw system_error("sync", target(rank), errno);
    if (::close(fds_[rank].release()) != 0) throw system_error("close", target(rank), errno);
  }

  /// The last rank makes the names durable; of a shared file, the last one renames it.
  void publish(unsigned rank) override {
    if (!p_.shared_file) replaced_[rank] = folder_.publish(rank);
    published_[rank] = true;
    if (unpublished_.fetch_sub(1) != 1) return;
    if (p_.shared_file) replaced_[0] = folder_.publish(0);
    if (durable_) folder_.sync();
  }
  void leave(unsigned rank) noexcept override {
    fds_[rank] = {};
    if (!published_[rank]) folder_.remove_temporary(file(rank));
  }

  std::string shown(unsigned rank) const override { return folder_.full_path(file(rank)); }
  std::uint64_t begin_of(unsigned rank) const override { return p_.shared_file ? rank * p_.shard_size : 0; }
  /// A read may well give less than was asked for.
  std::uint64_t read(unsigned rank, std::uint64_t offset, std::span<unsigned char> to) const override {
    const system::UniqueFd fd = system::open_quiet(folder_.fd(), Folder::name(file(rank)).c_str(), O_NOFOLLOW);
    if (!fd) throw system_error("open", shown(rank), errno);
    const std::uint64_t base = begin_of(rank) + offset;
    ::posix_fadvise(fd.get(), static_cast<off_t>(base), static_cast<off_t>(to.size()), POSIX_FADV_DONTNEED);
    std::uint64_t done = 0;
    while (done < to.size()) {
      const ssize_t n = ::pread(fd.get(), to.data() + done, to.size() - done, static_cast<off_t>(base + done));
      if (n == 0) break;
      if (n < 0 && errno != EINTR) throw system_error("read", shown(rank), base + done, errno);
      if (n > 0) done += static_cast<std::uint64_t>(n);
    }
    return done;
  }

  std::uint64_t try_to_save(unsigned rank, std::uint64_t bytes, std::span<const unsigned char> chunk,
                            const std::function<bool()>& goes_on) override {
    const system::UniqueFd fd = folder_.create(rank, 0);
    std::uint64_t at = 0;
    while (at < bytes && (at == 0 || goes_on())) {
      const std::uint64_t wanted = std::min<std::uint64_t>(chunk.size(), bytes - at);
      const ssize_t n = ::pwrite(fd.get(), chunk.data(), wanted, static_cast<off_t>(at));
      if (n < 0 && errno != EINTR) throw system_error("write", trial(rank), errno);
      if (n > 0) at += static_cast<std::uint64_t>(n);
    }
    if (durable_ && ::fsync(fd.get()) != 0) throw system_error("sync", trial(rank), errno);
    return at;
  }
  void forget(unsigned rank) noexcept override { folder_.remove_temporary(rank); }

 private:
  unsigned file(unsigned rank) const { return p_.shared_file ? 0 : rank; }
  std::string trial(unsigned rank) const { return folder_.path() + "/" + Folder::temporary_name(rank); }
  std::string target(unsigned rank) const { return trial(file(rank)); }

  SaveParams p_;
  Folder folder_;
  bool durable_ = true;
  // The checkpoint before the last, released untimed. Freeing its blocks takes a file system a good part of a save. It
  // is no part of making the new one durable.
  std::vector<system::UniqueFd> replaced_;
  std::vector<system::UniqueFd> fds_;  // by rank
  std::vector<char> published_;        // by rank
  std::vector<std::unique_ptr<BlockWriter>> writers_;
  std::vector<BlockLoop> loops_;
  std::atomic<unsigned> unpublished_{0};
};

}  // namespace

std::unique_ptr<Place> place_of_files(const SaveParams& params, Node& node) {
  return std::make_unique<Files>(params, node);
}

}  // namespace headrace::checkpoint
