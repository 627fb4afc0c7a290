#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/backends/engines.h"
#include "harness/backends/loader.h"
#include "harness/backends/object_writer.h"
#include "harness/base/error.h"
#include "harness/base/parallel.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/workload/data/checkpoint/place.h"
#include "harness/workload/data/checkpoint_saver.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/storage_params.h"

namespace headrace::checkpoint {
namespace {

// How large a checkpoint this storage saves within a given time.

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kGrowth = 4;   // from one trial to the next
constexpr double kLongEnough = 0.125;  // of the time that a save may take: a trial this long shows the speed
constexpr std::uint64_t kPaceKey = 0x70616365;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

class Trial {
 public:
  Trial(const SaveParams& params, Place& place)
      : params_(params), place_(place), chunk_(std::min(params.block_size, round_up(params.shard_size, kPage))) {
    fill_range(kPaceKey, 0, 0, chunk_.data(), chunk_.size());
  }

  /// Bytes per rank and second, while every rank saves `bytes`; ends early after `most_s`.
  double speed(std::uint64_t bytes, double most_s, const std::function<void()>& tick) {
    const Clock::time_point begin = Clock::now();
    std::atomic<std::uint64_t> written{0};
    const auto save = [&](unsigned, std::uint64_t rank) {
      written +=
          place_.try_to_save(static_cast<unsigned>(rank), bytes, chunk_, [&] { return seconds_since(begin) < most_s; });
    };
    try {
      parallel_for(params_.ranks, params_.ranks, save, tick);
    } catch (...) {
      remove();
      throw;
    }
    took_s_ = seconds_since(begin);
    remove();
    return static_cast<double>(written) / params_.ranks / took_s_;
  }
  double took_s() const { return took_s_; }

 private:
  void remove() {
    for (unsigned rank = 0; rank < params_.ranks; ++rank) place_.forget(rank);
  }

  const SaveParams& params_;
  Place& place_;
  std::vector<unsigned char> chunk_;
  double took_s_ = 0;
};

/// The shard [B] of which all ranks at once save one within `params.save_within_s`, at most `params.shard_size`. In
/// whole pages where it is less. By growing trials, each written and made durable. They end when one takes a good part
/// of that time or is a whole shard. They are gone when it returns. Throws RunError.
std::uint64_t shard_within(const SaveParams& params, Place& place, const DataProgress& progress) {
  Trial trial(params, place);
  for (std::uint64_t bytes = std::min(params.block_size, params.shard_size);;
       bytes = std::min(params.shard_size, bytes * kGrowth)) {
    const auto tick = [&] {
      if (progress) progress(bytes * params.ranks, params.total_bytes(), "saving a part, to learn the speed");
    };
    const double speed = trial.speed(bytes, params.save_within_s, tick);
    if (bytes < params.shard_size && trial.took_s() < kLongEnough * params.save_within_s) continue;
    const double most = speed * params.save_within_s;
    if (most >= static_cast<double>(params.shard_size)) return params.shard_size;
    const auto pages = static_cast<std::uint64_t>(most) / kPage;
    return std::min(params.shard_size, std::max<std::uint64_t>(pages, 1) * kPage);
  }
}

constexpr std::uint64_t kChunk = 4_MiB;      // of untimed work: filling, verifying
constexpr std::uint64_t kUsualPart = 8_MiB;  // of AWS's own tools and of s3torchconnector
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

/// The fault of a block, of which `length` bytes are there, that differs from the right one.
std::string differs(const unsigned char* block, std::uint64_t length, const BlockLabel& right) {
  if (length == 0) return "the file ends here";
  constexpr const char* kUnknown = "differs from the saved data";
  if (std::all_of(block, block + length, [](unsigned char byte) { return byte == 0; })) return "all zero";
  if (length < kLabelBytes) return kUnknown;
  const std::optional<BlockLabel> found = read_label(block);
  if (!found) return kUnknown;
  if (found->data_set != right.data_set) return "stale: a block of another save";
  if (*found == right) return "torn: only its start is the saved data";
  return fmt::format("holds block {} of rank {}", found->block, found->file);
}

}  // namespace

SaveParams SaveParams::declare(Params& params, const std::string& prefix) {
  const auto key = [&](const char* name) { return prefix + name; };
  SaveParams p;
  const std::vector<std::string> engines = storage_engines([](const StorageTraits& t) { return t.writes; });
  const std::string queueing = queueing_engine();
  p.objects = params.makes_objects();
  p.engine = params.choice(key("engine"), p.objects ? object_engine() : engines.front(), engines,
                           "how the shards are written; " + object_engine() +
                               ": as objects, in parts, where data is "
                               "made in s3://bucket/prefix");
  const StorageTraits& traits = storage_traits(p.engine);
  const bool queues = traits.queues();
  if (traits.objects != p.objects)
    params.conflict(key("engine"), p.objects
                                       ? fmt::format("objects are written by engine {}", object_engine())
                                       : fmt::format("engine {} writes objects: --at s3://bucket/prefix", p.engine));
  p.ranks = static_cast<unsigned>(
      params.count(key("ranks"), 2, {.min = 1, .max = 1024}, "processes that save at once, a thread each"));
  p.shard_size = params.bytes(key("shard_size"), 512_MiB, {.min = 1}, "what each rank saves");
  p.block_size = params.bytes(key("block_size"), p.objects ? kUsualPart : 1_MiB,
                              {.min = 4096, .max = static_cast<double>(1_GiB)}, "each write; of objects, a part: 8MiB");
  p.queue_depth = static_cast<std::uint32_t>(
      params.count(key("queue_depth"), queues ? 8 : 1, {.min = 1, .max = 4096},
                   "writes in flight per rank; more than 1 only with " + queueing + " and " + object_engine()));
  if (!queues && p.queue_depth != 1)
    params.conflict(key("queue_depth"), "engine " + p.engine + " keeps one write in flight per rank: use " + queueing);
  p.retries = StorageParams::declare_retries(params, p.objects, prefix);
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
  p.save_within_s =
      params.seconds(key("save_within"), 0, {.min = 0, .max = 3600},
                     "limit of a save's time: shards are cut to the size that this storage saves in it; 0s: never");
  if (p.objects) p.check_parts(params, prefix);
  if (p.direct && !can_be_direct(p.block_size))
    params.conflict(key("block_size"), "direct writes are multiples of 4KiB: " + nearest_multiple(p.block_size, kPage) +
                                           " is the nearest");
  if (p.direct && p.shared_file && !can_be_direct(p.shard_size))
    params.conflict(key("shard_size"), "direct writes to a shared file start at multiples of 4KiB");
  return p;
}

void SaveParams::check_parts(Params& params, const std::string& prefix) const {
  const auto refuse = [&](const char* name, std::string_view why) { params.conflict(prefix + name, why); };
  // Redundant notes are in resolved configurations only.
  for (const auto& [name, set] : {std::pair{"direct", direct}, {"preallocate", preallocate}})
    if (set) refuse(name, "is of files: a store has no page cache, and sets no space aside");
  if (durability != Durability::fsync) refuse("durability", "is of files: an object that is complete is durable");
  if (shared_file) refuse("layout", "shared is of files: each rank's parts make an object of their own");
  if (shard_size <= block_size) return;
  if (block_size < kLeastPart)
    refuse("block_size", "a store takes parts of 5MiB and more, but for the last, or the shard as a whole");
  if (shard_size > kMostParts * block_size)
    refuse("block_size", fmt::format("an upload has {} parts at most, and this would have {}", kMostParts,
                                     (shard_size + block_size - 1) / block_size));
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

/// One rank's steps of a save. Removes its unpublished files.
class Saver::Attempt {
 public:
  Attempt(Saver& saver, unsigned rank, Recorder& recorder, Staged* staged)
      : saver_(saver), p_(saver.params_), rank_(rank), recorder_(recorder), staged_(staged) {}
  ~Attempt() { saver_.place_->leave(rank_); }

  SaveTimes run() {
    SaveTimes times{.begin_ns = now_ns()};
    const unsigned char* from = saver_.state(rank_);
    if (p_.async) {
      std::memcpy((*saver_.staging_)[rank_], from, p_.shard_size);
      from = (*saver_.staging_)[rank_];
      times.staged_ns = now_ns();
      if (staged_ != nullptr) staged_->staged();
    }
    Place& place = *saver_.place_;
    timed(1, [&] { place.create(rank_); });
    if (!place.write(rank_, from, recorder_)) return times;
    times.written_ns = now_ns();
    if (place.syncs()) timed(2, [&] { place.sync(rank_); });
    timed(3, [&] { place.publish(rank_); });
    times.durable_ns = now_ns();
    recorder_.extend(times.durable_ns);
    return times;
  }

 private:
  /// Times one step as the latency channel `part`.
  template <class Step>
  void timed(unsigned part, Step step) {
    const std::uint64_t begin = now_ns();
    step();
    const std::uint64_t end = now_ns();
    recorder_.part(part, end - begin);
    recorder_.extend(end);
  }

  Saver& saver_;
  const SaveParams& p_;
  const unsigned rank_;
  Recorder& recorder_;
  Staged* const staged_;
};

Saver::Saver(const SaveParams& params, Node& node, const DataProgress& progress)
    : params_(params), place_(params.objects ? place_of_objects(params, node) : place_of_files(params, node)) {
  if (params.save_within_s > 0) params_.shard_size = shard_within(params, *place_, progress);
  if (params_.shard_size < params.shard_size) {
    const auto text = [](std::uint64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); };
    unproven_ = fmt::format(
        "checkpoint shards of {} instead of {}, as this storage saves no more in {}: effects of larger ones are not "
        "measured",
        text(params_.shard_size), text(params.shard_size), format_quantity(params.save_within_s, Dimension::seconds));
  }
  state_ = std::make_unique<Buffers>(params_.ranks, params_.shard_size, true);
  if (params.async) staging_ = std::make_unique<Buffers>(params_.ranks, params_.shard_size, true);
  if (state_->pages() == Buffers::Pages::ordinary)
    notes_.emplace_back("no huge pages: the state lies in ordinary pages");
  place_->open(params_, params.async ? *staging_ : *state_, node);
  notes_.insert(notes_.end(), place_->notes().begin(), place_->notes().end());
}

Saver::~Saver() = default;

void Saver::fill(std::uint64_t generation) {
  key_ = mix(kKey ^ mix(generation));
  place_->clear();
  for_every_chunk(params_, [&](unsigned rank, std::uint64_t offset, std::uint64_t length) {
    fill_range(key_, rank, offset, (*state_)[rank] + offset, length);
  });
  parallel_for(params_.ranks, std::max(1u, std::thread::hardware_concurrency()), [&](unsigned, std::uint64_t rank) {
    place_->prepare(static_cast<unsigned>(rank), state(static_cast<unsigned>(rank)));
  });
}

SaveTimes Saver::save(unsigned rank, Recorder& recorder, Staged* staged) {
  return Attempt(*this, rank, recorder, staged).run();
}

void Saver::again() noexcept { place_->again(); }

std::vector<WrongBlock> Saver::verify(const DataProgress& progress, std::size_t most) const {
  std::vector<WrongBlock> wrong;
  std::mutex mutex;
  std::atomic<std::uint64_t> done{0};
  const auto look = [&](unsigned rank, std::uint64_t offset, std::uint64_t length) {
    std::vector<unsigned char> found(length);
    const std::uint64_t base = place_->begin_of(rank) + offset, got = place_->read(rank, offset, found);
    done += got;
    const unsigned char* right = state(rank) + offset;
    if (got == length && std::memcmp(found.data(), right, length) == 0) return;
    // Block by block, so that every wrong one is named.
    for (std::uint64_t at = 0; at < length; at += kPage) {
      const std::uint64_t all = std::min(kPage, length - at), part = std::min(all, got - at);
      if (part == all && std::memcmp(found.data() + at, right + at, all) == 0) continue;
      std::string why = differs(found.data() + at, part, {key_, rank, (offset + at) / kPage});
      const std::lock_guard lock(mutex);
      if (wrong.size() < most) wrong.push_back({place_->shown(rank), base + at, std::move(why)});
      if (part < all) return;
    }
  };
  for_every_chunk(params_, look, [&] {
    if (progress) progress(done, params_.total_bytes(), "reading the checkpoint back");
  });
  return wrong;
}

}  // namespace headrace::checkpoint
