#include "harness/observe/replay/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "harness/base/clock.h"
#include "harness/base/error.h"
#include "harness/base/start_thread.h"
#include "harness/base/system/unique_fd.h"
#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace::observe::replay {
namespace {

using system::UniqueFd;

constexpr std::chrono::seconds kPatience{2};
constexpr double kShortestPause = 2e-6;  // [s]: shorter ones are taken together

/// Shared by all threads.
struct Stage {
  const Plan& plan;
  const std::vector<std::string>& paths;
  const checkpoint::Folder* saves;
  std::uint64_t begin_ns = 0;
  std::uint64_t read_ns = 0;  // when the last thread that reads had ended
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> ended;
  std::string failed;  // the first that went wrong
  std::atomic<bool> over = false;
};

/// Or until it is over.
void wait_until(Stage& stage, std::uint64_t at_ns) {
  const std::uint64_t now = now_ns();
  if (at_ns <= now) return;
  std::unique_lock lock(stage.mutex);
  stage.changed.wait_for(lock, std::chrono::nanoseconds(at_ns - now), [&] { return stage.over.load(); });
}

class Player {
 public:
  Player(Stage& stage, std::size_t thread) : stage_(stage), planned_(stage.plan.threads[thread]) {
    std::uint64_t most = 0;
    for (const Step& step : planned_.steps) most = std::max(most, step.bytes);
    buffer_.resize(std::min<std::uint64_t>(most, std::uint64_t{64} << 20));
    // A written file proves its owner.
    if (planned_.writes)
      fill_range(data_set_key("replay"), thread, 0, reinterpret_cast<unsigned char*>(buffer_.data()), buffer_.size());
  }

  void play() {
    double owed = 0;  // computing that was not done yet
    for (const Step& step : planned_.steps) {
      if (stage_.over.load(std::memory_order_relaxed)) return;
      if (planned_.writes && step.at_s > 0) {
        wait_until(stage_, stage_.begin_ns + static_cast<std::uint64_t>(step.at_s * 1e9));
        if (stage_.over.load(std::memory_order_relaxed)) return;
      }
      owed += step.think_s;
      if (owed > kShortestPause) {
        const std::uint64_t begin = now_ns();
        sleep_until(begin + static_cast<std::uint64_t>(owed * 1e9));
        done_.think_s += static_cast<double>(now_ns() - begin) * 1e-9;
        owed = 0;
      }
      const std::uint64_t begin = now_ns();
      take(step);
      const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
      OpTimes& times = done_.ops[static_cast<std::size_t>(step.op)];
      ++times.count;
      times.seconds += seconds;
      if (!planned_.writes) done_.storage_s += seconds;
    }
  }
  const Replayed& done() const { return done_; }
  bool writes() const { return planned_.writes; }

 private:
  [[noreturn]] void fail(const char* what, const Step& step) const {
    throw system_error(what, planned_.writes ? stage_.saves->full_path(step.file) : stage_.paths[step.file], errno);
  }

  /// One that other threads of the trace wrote, too, is opened by each of them.
  UniqueFd& written(const Step& step) {
    UniqueFd& fd = open_[step.file];
    if (!fd) fd = stage_.saves->create(step.file, 0, true);
    return fd;
  }

  UniqueFd& descriptor(const Step& step) {
    UniqueFd& fd = open_[step.file];
    if (!fd) fd = UniqueFd(::open(stage_.paths[step.file].c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) fail("open", step);
    return fd;
  }

  void take(const Step& step) {
    switch (step.op) {
      case Op::open:
        open_[step.file] = UniqueFd();
        descriptor(step);
        return;
      case Op::read:
        read(step);
        return;
      case Op::seek:
        if (step.offset >= 0 && ::lseek(descriptor(step).get(), step.offset, SEEK_SET) < 0) fail("lseek", step);
        return;
      case Op::stat: {
        struct stat status {};
        const auto fd = open_.find(step.file);
        const bool open = fd != open_.end() && fd->second;
        if ((open ? ::fstat(fd->second.get(), &status) : ::stat(stage_.paths[step.file].c_str(), &status)) != 0)
          fail("stat", step);
        return;
      }
      case Op::close:
        open_.erase(step.file);
        return;
      case Op::create:
        open_[step.file] = UniqueFd();
        stage_.saves->remove_temporary(step.file);
        written(step);
        return;
      case Op::write:
        write(step);
        return;
      case Op::sync:
        if (::fsync(written(step).get()) != 0) fail("fsync", step);
        return;
      case Op::publish:
        written(step);  // of a rename whose writes are not in the trace there is none
        stage_.saves->publish(step.file);
        open_.erase(step.file);
        return;
    }
  }

  void read(const Step& step) {
    const int fd = descriptor(step).get();
    std::uint64_t done = 0;
    while (done < step.bytes) {  // a step larger than the buffer goes through it piece by piece
      const std::size_t size = std::min<std::uint64_t>(step.bytes - done, buffer_.size());
      const ssize_t got = step.offset >= 0
                              ? ::pread(fd, buffer_.data(), size, step.offset + static_cast<std::int64_t>(done))
                              : ::read(fd, buffer_.data(), size);
      if (got < 0) fail("read", step);
      done += static_cast<std::uint64_t>(got);
      if (static_cast<std::size_t>(got) < size || stage_.over.load(std::memory_order_relaxed)) break;
    }
    done_.read_bytes += done;
    done_.short_reads += done < step.bytes;
  }

  void write(const Step& step) {
    const int fd = written(step).get();
    for (std::uint64_t done = 0; done < step.bytes;) {
      const std::size_t size = std::min<std::uint64_t>(step.bytes - done, buffer_.size());
      const ssize_t put = step.offset >= 0
                              ? ::pwrite(fd, buffer_.data(), size, step.offset + static_cast<std::int64_t>(done))
                              : ::write(fd, buffer_.data(), size);
      if (put <= 0) fail("write", step);
      done += static_cast<std::uint64_t>(put);
    }
    done_.written_bytes += step.bytes;
  }

  Stage& stage_;
  const PlannedThread& planned_;
  Replayed done_;
  std::unordered_map<std::uint32_t, UniqueFd> open_;
  std::vector<char> buffer_;
};

/// Until those have ended that had ended before it began.
void wait_for_earlier(Stage& stage, std::size_t thread) {
  if (stage.plan.threads[thread].writes) return;
  std::unique_lock lock(stage.mutex);
  stage.changed.wait(lock, [&] {
    if (stage.over) return true;
    for (std::size_t t = 0; t < stage.plan.threads.size(); ++t)
      if (!stage.plan.threads[t].writes && stage.plan.threads[t].last_s <= stage.plan.threads[thread].first_s &&
          t != thread && !stage.ended[t])
        return false;
    return true;
  });
}

void forget(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw system_error("open", path, errno);
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace

Replayed run(const Plan& plan, const std::vector<std::string>& paths, const checkpoint::Folder* saves,
             const std::function<bool()>& stop, const std::function<void()>& let_go) {
  for (const std::string& path : paths) forget(path);
  Stage stage{.plan = plan,
              .paths = paths,
              .saves = saves,
              .mutex = {},
              .changed = {},
              .ended = std::vector<bool>(plan.threads.size()),
              .failed = {}};
  std::vector<Player> players;
  players.reserve(plan.threads.size());
  for (std::size_t t = 0; t < plan.threads.size(); ++t) players.emplace_back(stage, t);
  stage.begin_ns = now_ns();
  std::vector<std::jthread> threads;
  const auto act = [&stage, &players](std::size_t t) {
    wait_for_earlier(stage, t);
    std::string wrong;
    try {
      players[t].play();
    } catch (const std::exception& e) {
      wrong = e.what();
    }
    const std::lock_guard lock(stage.mutex);
    stage.ended[t] = true;
    if (!players[t].writes()) stage.read_ns = now_ns();
    if (!wrong.empty() && stage.failed.empty()) stage.failed = wrong;
    if (!wrong.empty()) stage.over = true;
    stage.changed.notify_all();
  };
  try {
    for (std::size_t t = 0; t < players.size(); ++t) threads.push_back(start_thread(act, t));
  } catch (const RunError& e) {
    const std::lock_guard lock(stage.mutex);
    stage.failed = e.what();
    stage.over = true;
    std::fill(stage.ended.begin() + static_cast<std::ptrdiff_t>(threads.size()), stage.ended.end(), true);
    stage.changed.notify_all();
  }
  {
    std::unique_lock lock(stage.mutex);
    const auto all = [&] { return std::find(stage.ended.begin(), stage.ended.end(), false) == stage.ended.end(); };
    while (!stage.changed.wait_for(lock, std::chrono::milliseconds(50), all))
      if (stop()) {
        if (!stage.over) stage.failed = "stopped";  // else one has failed, and another one may hang
        stage.over = true;
        stage.changed.notify_all();
        if (!stage.changed.wait_for(lock, kPatience, all)) let_go();
      }
  }
  threads.clear();
  if (!stage.failed.empty()) throw RunError("replay: " + stage.failed);
  Replayed sum;
  sum.seconds = static_cast<double>(stage.read_ns - stage.begin_ns) * 1e-9;
  for (const Player& player : players) {
    const Replayed& one = player.done();
    for (std::size_t o = 0; o < kOps; ++o) {
      sum.ops[o].count += one.ops[o].count;
      sum.ops[o].seconds += one.ops[o].seconds;
    }
    sum.think_s += one.think_s;
    sum.storage_s += one.storage_s;
    sum.read_bytes += one.read_bytes;
    sum.written_bytes += one.written_bytes;
    sum.short_reads += one.short_reads;
  }
  return sum;
}

}  // namespace headrace::observe::replay
