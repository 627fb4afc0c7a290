#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "harness/backends/loader.h"
#include "harness/backends/open_files.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/units.h"
#include "harness/files/marked_folder.h"
#include "harness/node.h"
#include "harness/storage/checkpoint/pace.h"
#include "harness/storage/checkpoint_saver.h"
#include "harness/storage/data_set/block_pattern.h"
#include "harness/system/open_quiet.h"

namespace headrace::checkpoint {
namespace {

constexpr std::uint64_t kChunk = 4_MiB;  // of untimed work: filling, verifying
constexpr std::uint64_t kKey = 0x636865636b70;

bool can_be_direct(std::uint64_t size) { return size % kPage == 0; }

/// Calls body(rank, offset, length) for every chunk of every rank, on every core.
template <class Body>
void for_every_chunk(const SaveParams& params, Body body, const std::function<void()>& tick = {}) {
  const std::uint64_t chunks = (params.shard_size + kChunk - 1) / kChunk;
  parallel_for(
      params.ranks * chunks, std::max(1u, std::thread::hardware_concurrency()),
      [&](unsigned, std::uint64_t item) {
        const std::uint64_t offset = item % chunks * kChunk;
        body(static_cast<unsigned>(item / chunks), offset, std::min(kChunk, params.shard_size - offset));
      },
      tick);
}

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
  folder.create(0, O_DIRECT);
  folder.remove_temporary(0);
}

/// Fills `to` from `offset` on, as far as the file goes: a read may well give less than was asked for.
std::uint64_t read_up_to(int fd, std::span<unsigned char> to, std::uint64_t offset, const std::string& path) {
  std::uint64_t done = 0;
  while (done < to.size()) {
    const ssize_t n = ::pread(fd, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (n == 0) break;
    if (n < 0 && errno != EINTR) throw system_error("read", path, offset + done, errno);
    if (n > 0) done += static_cast<std::uint64_t>(n);
  }
  return done;
}

/// What is wrong with a block, of which `length` bytes are there, that is not what it should be.
std::string differs(const unsigned char* block, std::uint64_t length, const BlockLabel& right) {
  if (length == 0) return "the file ends here";
  constexpr const char* kUnknown = "differs from what was saved";
  if (std::all_of(block, block + length, [](unsigned char byte) { return byte == 0; })) return "all zero";
  if (length < kLabelBytes) return kUnknown;
  const std::optional<BlockLabel> found = read_label(block);
  if (!found) return kUnknown;
  if (found->data_set != right.data_set) return "stale: a block of another save";
  if (*found == right) return "torn: only its start is what was saved";
  return fmt::format("holds block {} of rank {}", found->block, found->file);
}

}  // namespace

SaveParams SaveParams::declare(Params& params, const std::string& prefix) {
  const auto key = [&](const char* name) { return prefix + name; };
  SaveParams p;
  const std::vector<std::string> engines = storage_engines([](const StorageTraits& t) { return t.writes; });
  const std::string queueing = queueing_engine();
  p.engine = params.choice(key("engine"), engines.front(), engines, "how the shards are written");
  const bool queues = storage_traits(p.engine).queues();
  p.ranks = static_cast<unsigned>(
      params.count(key("ranks"), 2, {.min = 1, .max = 1024}, "processes that save at once, a thread each"));
  p.shard_size = params.bytes(key("shard_size"), 512_MiB, {.min = 1}, "what each rank saves");
  p.block_size = params.bytes(key("block_size"), 1_MiB, {.min = 4096, .max = static_cast<double>(1_GiB)}, "each write");
  p.queue_depth =
      static_cast<std::uint32_t>(params.count(key("queue_depth"), queues ? 8 : 1, {.min = 1, .max = 4096},
                                              "writes in flight per rank; more than 1 only with " + queueing));
  if (!queues && p.queue_depth != 1)
    params.conflict(key("queue_depth"), "engine " + p.engine + " keeps one write in flight per rank: use " + queueing);
  p.direct = params.flag(key("direct"), false, "O_DIRECT: bypass the page cache");
  p.preallocate = params.flag(key("preallocate"), false, "fallocate before writing");
  p.shared_file = params.choice(key("layout"), "file_per_rank", {"file_per_rank", "shared"},
                                "one file each, or one for all ranks") == "shared";
  p.async = params.choice(key("mode"), "sync", {"sync", "async"},
                          "async: training waits only for a copy in memory, which is then written") == "async";
  const std::string durability = params.choice(key("durability"), "fsync", {"fsync", "fdatasync", "none"},
                                               "what makes the data durable before it is renamed");
  p.durability = durability == "fsync"       ? Durability::fsync
                 : durability == "fdatasync" ? Durability::fdatasync
                                             : Durability::none;
  p.save_within_s = params.seconds(key("save_within"), 0, {.min = 0, .max = 3600},
                                   "shards are cut to what this storage saves in so long; 0s: never");
  if (p.direct && !can_be_direct(p.block_size))
    params.conflict(key("block_size"), "direct writes are multiples of 4KiB");
  if (p.direct && p.shared_file && !can_be_direct(p.shard_size))
    params.conflict(key("shard_size"), "direct writes to a shared file start at multiples of 4KiB");
  return p;
}

std::optional<Skip> SaveParams::check(Node& node) const {
  if (std::string why = node.backends().why_not(engine); !why.empty()) return Skip{std::move(why)};
  const auto text = [](std::uint64_t bytes) {
    return format_quantity(static_cast<double>(bytes), Dimension::bytes, true);
  };
  const std::uint64_t memory = node.memory_available(), disk = node.free_bytes(node.scratch_path());
  if (memory_bytes() > memory / 10 * 9)
    return Skip{fmt::format("the state of {} ranks takes {} of memory, {} is available", ranks, text(memory_bytes()),
                            text(memory))};
  // The old checkpoint stays until the new one is durable.
  if (2 * total_bytes() > disk)
    return Skip{fmt::format("two checkpoints take {} of disk, {} is free", text(2 * total_bytes()), text(disk))};
  return std::nullopt;
}

std::vector<std::string> save_parts() { return {"create", "sync", "publish"}; }

/// One rank's way through a save. Takes the temporary file away again unless it was published.
class Saver::Attempt {
 public:
  Attempt(Saver& saver, unsigned rank, Recorder& recorder, Staged* staged)
      : saver_(saver), p_(saver.params_), rank_(rank), recorder_(recorder), staged_(staged) {}
  ~Attempt() {
    if (!published_) saver_.folder_.remove_temporary(file());
  }

  SaveTimes run() {
    SaveTimes times{.begin_ns = now_ns()};
    const unsigned char* from = saver_.state(rank_);
    if (p_.async) {
      std::memcpy((*saver_.staging_)[rank_], from, p_.shard_size);
      from = (*saver_.staging_)[rank_];
      times.staged_ns = now_ns();
      if (staged_ != nullptr) staged_->staged();
    }
    create();
    if (!write(from)) return times;
    times.written_ns = now_ns();
    sync();
    publish();
    times.durable_ns = now_ns();
    recorder_.extend(times.durable_ns);
    return times;
  }

 private:
  unsigned file() const { return p_.shared_file ? 0 : rank_; }
  std::string target() const { return saver_.folder_.path() + "/" + Folder::temporary_name(file()); }

  /// Times one step as the latency channel `part`.
  template <class Step>
  void timed(unsigned part, Step step) {
    const std::uint64_t begin = now_ns();
    step();
    const std::uint64_t end = now_ns();
    recorder_.part(part, end - begin);
    recorder_.extend(end);
  }

  void create() {
    timed(1, [&] {
      fd_ = saver_.folder_.create(file(), p_.direct ? O_DIRECT : 0, p_.shared_file);
      if (!p_.preallocate) return;
      const auto length = static_cast<off_t>(p_.shard_size);
      if (::fallocate(fd_.get(), 0, static_cast<off_t>(saver_.offset_of(rank_)), length) != 0)
        throw system_error("allocate", target(), errno);
    });
  }

  /// False when it was stopped.
  bool write(const unsigned char* from) {
    const std::uint64_t base = saver_.offset_of(rank_);
    std::uint64_t at = 0;
    std::int64_t failed = 0;
    std::uint64_t failed_at = 0;
    saver_.loops_[rank_].run(
        *saver_.writers_[rank_],
        [&](BlockRequest& request) {
          if (at >= p_.shard_size || failed || !recorder_.running()) return false;
          // A direct write is of whole pages: the state's last one is padded, and cut off below.
          const std::uint64_t rest = p_.direct ? round_up(p_.shard_size - at, kPage) : p_.shard_size - at;
          request.file = static_cast<std::uint32_t>(fd_.get());
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
            recorder_.op(block.begin_ns, block.end_ns,
                         std::min<std::uint64_t>(static_cast<std::uint64_t>(block.result), wanted));
          }
        });
    if (failed) throw system_error("write", target(), failed_at, static_cast<int>(-failed));
    if (at < p_.shard_size) return false;
    if (at > p_.shard_size && ::ftruncate(fd_.get(), static_cast<off_t>(p_.shard_size)) != 0)
      throw system_error("cut", target(), errno);
    return true;
  }

  void sync() {
    timed(2, [&] {
      const int result = p_.durability == Durability::fsync       ? ::fsync(fd_.get())
                         : p_.durability == Durability::fdatasync ? ::fdatasync(fd_.get())
                                                                  : 0;
      if (result != 0) throw system_error("sync", target(), errno);
      if (::close(fd_.release()) != 0) throw system_error("close", target(), errno);
    });
  }

  /// The last rank makes the names durable; of a shared file, the last one renames it.
  void publish() {
    timed(3, [&] {
      if (!p_.shared_file) saver_.replaced_[file()] = saver_.folder_.publish(file());
      published_ = true;
      if (saver_.unpublished_.fetch_sub(1) != 1) return;
      if (p_.shared_file) saver_.replaced_[file()] = saver_.folder_.publish(file());
      if (p_.durability != Durability::none) saver_.folder_.sync();
    });
  }

  Saver& saver_;
  const SaveParams& p_;
  const unsigned rank_;
  Recorder& recorder_;
  Staged* const staged_;
  system::UniqueFd fd_;
  bool published_ = false;
};

Saver::Saver(const SaveParams& params, Node& node, const DataProgress& progress)
    : params_(params), folder_(node.own_scratch()), replaced_(params.ranks) {
  if (params.direct) require_direct(folder_);
  if (params.save_within_s > 0) params_.shard_size = shard_within(params, folder_, progress);
  if (params_.shard_size < params.shard_size) {
    const auto text = [](std::uint64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); };
    unproven_ = fmt::format(
        "checkpoint shards of {} stand for {}, as this storage saves no more in {}: what larger ones meet is not shown",
        text(params_.shard_size), text(params.shard_size), format_quantity(params.save_within_s, Dimension::seconds));
  }
  if (params.preallocate && !can_preallocate(folder_)) {
    params_.preallocate = false;
    notes_.emplace_back("no fallocate on this file system: not preallocated");
  }
  state_ = std::make_unique<Buffers>(params_.ranks, params_.shard_size, true);
  if (params.async) staging_ = std::make_unique<Buffers>(params_.ranks, params_.shard_size, true);
  if (state_->pages() == Buffers::Pages::ordinary)
    notes_.emplace_back("no huge pages: the state lies in ordinary pages");
  const Buffers& source = params.async ? *staging_ : *state_;
  StorageEngine& engine = node.backends().storage(params.engine);
  for (unsigned rank = 0; rank < params.ranks; ++rank) {
    const WriterOptions options{.queue_depth = params.queue_depth, .memory = {source[rank], source.stride()}};
    writers_.push_back(engine.block_writer(options));
    loops_.emplace_back(params.queue_depth);
  }
}

void Saver::fill(std::uint64_t generation) {
  key_ = mix(kKey ^ mix(generation));
  unpublished_ = params_.ranks;
  for (system::UniqueFd& old : replaced_) old = {};
  folder_.require_free(params_.shared_file ? 1 : params_.ranks);
  folder_.sync();  // the file system is done with them before the clock starts
  for_every_chunk(params_, [&](unsigned rank, std::uint64_t offset, std::uint64_t length) {
    fill_range(key_, rank, offset, (*state_)[rank] + offset, length);
  });
}

SaveTimes Saver::save(unsigned rank, Recorder& recorder, Staged* staged) {
  return Attempt(*this, rank, recorder, staged).run();
}

void Saver::again() noexcept {
  unpublished_ = params_.ranks;
  for (system::UniqueFd& old : replaced_) old = {};
}

std::vector<WrongBlock> Saver::verify(const DataProgress& progress, std::size_t most) const {
  std::vector<WrongBlock> wrong;
  std::mutex mutex;
  std::atomic<std::uint64_t> done{0};
  const auto look = [&](unsigned rank, std::uint64_t offset, std::uint64_t length) {
    const unsigned file = params_.shared_file ? 0 : rank;
    const system::UniqueFd fd = system::open_quiet(folder_.fd(), Folder::name(file).c_str(), O_NOFOLLOW);
    if (!fd) throw system_error("open", folder_.full_path(file), errno);
    const std::uint64_t base = offset_of(rank) + offset;
    ::posix_fadvise(fd.get(), static_cast<off_t>(base), static_cast<off_t>(length), POSIX_FADV_DONTNEED);
    std::vector<unsigned char> found(length);
    const std::uint64_t got = read_up_to(fd.get(), found, base, folder_.full_path(file));
    done += got;
    const unsigned char* right = state(rank) + offset;
    if (got == length && std::memcmp(found.data(), right, length) == 0) return;
    // Block by block, so that every wrong one is named.
    for (std::uint64_t at = 0; at < length; at += kPage) {
      const std::uint64_t all = std::min(kPage, length - at), part = std::min(all, got - at);
      if (part == all && std::memcmp(found.data() + at, right + at, all) == 0) continue;
      std::string why = differs(found.data() + at, part, {key_, rank, (offset + at) / kPage});
      const std::lock_guard lock(mutex);
      if (wrong.size() < most) wrong.push_back({folder_.full_path(file), base + at, std::move(why)});
      if (part < all) return;
    }
  };
  for_every_chunk(params_, look, [&] {
    if (progress) progress(done, params_.total_bytes(), "reading the checkpoint back");
  });
  return wrong;
}

}  // namespace headrace::checkpoint
