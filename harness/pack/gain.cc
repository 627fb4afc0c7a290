#include "harness/pack/gain.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/random.h"
#include "harness/base/start_thread.h"
#include "harness/base/system/open_quiet.h"
#include "harness/base/units.h"
#include "harness/judge/statistics/summary.h"
#include "harness/pack/encoder.h"
#include "harness/workload/data/cache_control.h"

namespace headrace::pack {
namespace {

constexpr std::uint64_t kOrderSeed = 2;
constexpr std::size_t kWholeFile = 1 << 20, kTarRead = 10 << 10, kRecordRead = 256 << 10;  // bytes of a read

/// The sample's shards, and the mark in their folder. Changed files stay. Returns what stays; "" = nothing.
std::string take_away(const Plan& sample) {
  const auto folder = MarkedFolder::find(sample.options.target);
  if (!folder || folder->kind() != kRehearsalKind) return "";
  const files::Folder& there = folder->folder();
  for (const std::string& name : there.entries()) {
    const auto status = there.look(name);
    if (status && S_ISREG(status->st_mode) && (known_shard(*folder, name, *status) || files::bears_mark(*status)) &&
        name != MarkedFolder::kMark && !files::is_kept_open(name) && (!name.ends_with(".json") || name == "index.json"))
      there.remove(name, *status);
  }
  return join(folder->remove().left);
}

/// Removes the sample when it is destroyed. One that stays is marked, for the next rehearsal.
class Away {
 public:
  Away(const Plan& sample, const GainOptions& options) : sample_(sample), options_(options) {}
  ~Away() {
    std::string stays;
    try {
      stays = take_away(sample_);
    } catch (const std::exception& e) {
      stays = e.what();
    }
    if (!stays.empty() && options_.stays) options_.stays(sample_.options.target + ": " + stays);
  }

 private:
  const Plan& sample_;
  const GainOptions& options_;
};

Plan sample_of(Plan plan, const GainOptions& options) {
  Random random(kOrderSeed);
  shuffle(std::span(plan.order), random);
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (; count < plan.order.size() && (bytes < options.bytes || count < options.workers); ++count)
    bytes += encoded_bytes(plan.from, plan.from.samples[plan.order[count]], plan.as);
  plan.order.resize(count);
  plan.options.target += ".rehearsal";
  plan.options.kind = kRehearsalKind;
  // Each worker has a shard of its own, as a loader's has.
  plan.options.shard_size = bytes / options.workers + 1;
  cut_into_shards(plan);
  return plan;
}

FileTable table_of(const FileTable& all, const std::vector<std::string>& names) {
  FileTable some(::fcntl(all.root_fd(), F_DUPFD_CLOEXEC, 0), all.root());
  for (const std::string& name : names) {
    struct stat status;
    if (::fstatat(all.root_fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      throw system_error("look at", all.root() + "/" + name, errno);
    some.add(name, static_cast<std::uint64_t>(status.st_size));
  }
  return some;
}

void read_through(const FileTable& files, std::uint32_t file, std::vector<unsigned char>& buffer) {
  const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file), O_NOFOLLOW);
  if (!fd) throw system_error("open", files.full_path(file), errno);
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("read", files.full_path(file), errno);
    if (got == 0) return;
  }
}

/// Seconds that `workers` threads take to read every file once, `at_once` bytes at a time.
double read_all(const FileTable& files, const std::vector<std::uint32_t>& order, unsigned workers,
                std::size_t at_once) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failed;
  std::mutex mutex;
  const auto begin = std::chrono::steady_clock::now();
  {
    const auto fail = [&] {
      const std::lock_guard lock(mutex);
      failed = std::current_exception();
      next = order.size();
    };
    std::vector<std::jthread> threads;
    const auto read = [&] {
      try {
        std::vector<unsigned char> buffer(at_once);
        for (std::size_t at; (at = next++) < order.size();) read_through(files, order[at], buffer);
      } catch (...) {
        fail();
      }
    };
    try {
      while (threads.size() < workers) threads.push_back(start_thread(read));
    } catch (const RunError&) {  // a rate of fewer workers would be another
      fail();
    }
  }
  if (failed) std::rethrow_exception(failed);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void put_out_of_memory(const FileTable& files, Gain& gain) {
  CacheProof proof;
  establish(CacheState::cold, files, {}, proof);
  if (proof.resident_before > CacheProof::kMostOfOther)
    gain.in_memory = fmt::format("{:.0f} % of the bytes stayed in the page cache{}{}", 100 * proof.resident_before,
                                 proof.obstacle.empty() ? "" : ": ", proof.obstacle);
  else if (!proof.obstacle.empty())
    gain.not_seen = proof.obstacle;
  else if (static_cast<double>(proof.second_cache_bytes) >
           CacheProof::kMostOfOther * static_cast<double>(files.total_bytes()))
    gain.not_seen = proof.second_cache;
  else if (proof.resident_before < 0)
    gain.not_seen = "the kernel does not report which files it caches";
}

std::string rate(double value) { return format_quantity(value, Dimension::per_second); }

}  // namespace

Gain rehearse_gain(Plan whole, const GainOptions& options, const DataProgress& progress) {
  Gain gain;
  gain.of = whole.order.size();
  gain.workers = options.workers;
  const Plan sample = sample_of(std::move(whole), options);
  take_away(sample);  // of a rehearsal that was stopped
  const Away away(sample, options);
  pack(sample, progress);
  gain.samples = sample.order.size();
  gain.shards = sample.shards.size();

  std::vector<std::string> files, shards;
  for (const std::uint32_t number : sample.order) {
    const Sample& one = sample.from.samples[number];
    gain.bytes += sample.from.bytes(one);
    for (std::uint32_t i = 0; i < one.count; ++i)
      files.emplace_back(sample.from.files.path(sample.from.order[one.first + i]));
  }
  for (std::size_t i = 0; i < sample.shards.size(); ++i) shards.push_back(sample.name(i));
  const FileTable as_files = table_of(sample.from.files, files);
  const auto folder = MarkedFolder::find(sample.options.target);
  if (!folder) throw RunError(sample.options.target + ": was removed during the run");
  const FileTable as_shards =
      table_of(FileTable(::fcntl(folder->folder().fd(), F_DUPFD_CLOEXEC, 0), folder->path()), shards);

  const std::size_t shard_read = sample.options.format == formats::Format::tar ? kTarRead : kRecordRead;
  const auto turn = [&](const FileTable& table, std::size_t at_once, std::uint64_t seed, std::vector<double>& rates) {
    std::vector<std::uint32_t> order(table.count());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    Random random(seed);
    shuffle(std::span(order), random);
    put_out_of_memory(table, gain);
    rates.push_back(static_cast<double>(gain.samples) / read_all(table, order, options.workers, at_once));
  };
  for (unsigned i = 0; i < options.turns; ++i) {
    if (progress) progress(i, options.turns, "reading by turns");
    // Each other turn the other way round, so that storage that becomes slower favours neither.
    for (const bool packed : {i % 2 == 1, i % 2 == 0})
      packed ? turn(as_shards, shard_read, i, gain.as_shards) : turn(as_files, kWholeFile, i, gain.as_files);
  }
  return gain;
}

std::vector<std::string> describe(const Gain& gain) {
  const auto ratio = statistics::compare_blocks(gain.as_files, gain.as_shards);
  std::vector<std::string> all{fmt::format(
      "rehearsed on {} of {} samples ({}), {} workers, {} turns: as files {}, as {} shards {}{}", gain.samples, gain.of,
      format_quantity(static_cast<double>(gain.bytes), Dimension::bytes), gain.workers, gain.as_files.size(),
      gain.as_files.empty() ? "-" : rate(statistics::median(gain.as_files)), gain.shards,
      gain.as_shards.empty() ? "-" : rate(statistics::median(gain.as_shards)),
      ratio ? fmt::format(": {:.3g} times as many samples [{:.3g}, {:.3g}]", ratio->ratio, ratio->low, ratio->high)
            : "")};
  if (!gain.in_memory.empty()) {
    all.push_back(fmt::format("whether packing gains is not known: memory gave some of it ({})", gain.in_memory));
    return all;
  }
  if (!gain.not_seen.empty()) {
    all.push_back(
        fmt::format("whether packing gains is not known: memory may have given some of it ({})", gain.not_seen));
    return all;
  }
  const auto change =
      ratio ? statistics::classify(*ratio, statistics::kDeltaRate, Better::higher) : statistics::Change::inconclusive;
  switch (change) {
    case statistics::Change::better:
      all.push_back("packing gains: reading alone becomes as much faster, where reading is what limits");
      break;
    case statistics::Change::worse:
      all.push_back("packing loses: leave the files as they are");
      break;
    case statistics::Change::same:
    case statistics::Change::small:
      all.push_back(fmt::format("packing gains nothing: less than {:.0f} % either way", 100 * statistics::kDeltaRate));
      break;
    default:
      all.push_back(
          "whether packing gains is not known: the bounds leave it open (rehearse again on a quieter machine)");
  }
  return all;
}

}  // namespace headrace::pack
