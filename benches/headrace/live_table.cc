#include "benches/headrace/live_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

#include "benches/headrace/console.h"
#include "harness/base/data_path.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/escape.h"
#include "harness/base/files/output.h"
#include "harness/base/object_path.h"
#include "harness/base/start_thread.h"
#include "harness/base/utc.h"
#include "harness/engine/worker_threads.h"

namespace headrace::cli {
namespace {

constexpr std::string_view kHeader = "time,point,repetition,state,seconds,bytes_per_s,operations_per_s\n";
constexpr std::chrono::seconds kLastLines{5};  // for storage to take them

/// Writes on a thread of its own: storage that hangs must not hold up the thread that watches for that.
class LineWriter {
 public:
  explicit LineWriter(const std::string& file)
      : shared_(std::make_shared<Queue>(file)), thread_(start_thread<std::thread>(write_all, shared_)) {}
  ~LineWriter() {
    std::unique_lock lock(shared_->mutex);
    shared_->closing = true;
    shared_->changed.notify_all();
    const bool written = shared_->changed.wait_for(lock, kLastLines, [&] { return shared_->done; });
    lock.unlock();
    written ? thread_.join() : engine::leave_behind(thread_);
  }
  void add(std::string_view line) {
    const std::lock_guard lock(shared_->mutex);
    shared_->lines += line;
    shared_->changed.notify_all();
  }

 private:
  struct Queue {
    explicit Queue(const std::string& file) : table(file, kHeader) {}
    files::GrowingOutput table;
    std::mutex mutex;
    std::condition_variable changed;
    std::string lines;
    bool closing = false, done = false;
  };

  static void write_all(const std::shared_ptr<Queue>& queue) {
    std::unique_lock lock(queue->mutex);
    try {
      while (!queue->closing || !queue->lines.empty()) {
        queue->changed.wait(lock, [&] { return queue->closing || !queue->lines.empty(); });
        const std::string lines = std::exchange(queue->lines, "");
        lock.unlock();
        queue->table.add(lines);
        lock.lock();
      }
    } catch (const RunError& e) {  // the results matter more
      print_stderr_line(Text::format("headrace: --live ends here: {}", e.what()));
      lock.lock();
    }
    queue->done = true;
    queue->changed.notify_all();
  }

  std::shared_ptr<Queue> shared_;
  std::thread thread_;
};

std::string_view state_of(const Repetition& repetition) {
  if (repetition.status == RepetitionStatus::interrupted) return "interrupted";
  if (!repetition.error.empty()) return "failed";
  return repetition.disturbance.disturbed ? "disturbed" : "done";
}

class LiveTable final : public RunObserver {
 public:
  LiveTable(std::unique_ptr<RunObserver> shown, const std::string& file) : shown_(std::move(shown)), writer_(file) {}

  void point_started(const Point& point, std::size_t n, std::size_t of) override {
    shown_->point_started(point, n, of);
  }
  void data_progress(std::uint64_t done, std::uint64_t total, std::string_view what) override {
    shown_->data_progress(done, total, what);
  }
  void repetition_started(const Point& point, unsigned index, unsigned next_look) override {
    shown_->repetition_started(point, index, next_look);
    index_ = index;
    row_ = {};
  }
  void live(const Point& point, const LiveRate& rate, double elapsed_s) override {
    shown_->live(point, rate, elapsed_s);
    if (elapsed_s < row_.until_s) row_ = {};  // the next phase
    const double step_s = elapsed_s - std::exchange(row_.until_s, elapsed_s);
    row_.bytes += rate.bytes_per_s * step_s;
    row_.operations += rate.operations_per_s * step_s;
    if (elapsed_s - row_.from_s < 1) return;
    add(point, index_, "running", row_);
    row_ = {.from_s = elapsed_s, .until_s = elapsed_s};
  }
  void repetition_done(const Point& point, const Repetition& repetition) override {
    shown_->repetition_done(point, repetition);
    Row all;
    for (const PhaseResult& phase : repetition.phases) {
      all.bytes += static_cast<double>(phase.bytes);
      all.operations += static_cast<double>(phase.operations);
      all.until_s += phase.elapsed_s;
    }
    add(point, repetition.index, state_of(repetition), all);
  }
  void point_done(const PointResult& result) override { shown_->point_done(result); }
  void message(std::string_view text) override { shown_->message(text); }

 private:
  struct Row {
    double from_s = 0, until_s = 0, bytes = 0, operations = 0;
  };

  void add(const Point& point, unsigned index, std::string_view state, const Row& row) {
    const double time_s = row.until_s - row.from_s;
    const auto rate = [&](double amount) { return time_s > 0 ? amount / time_s : 0; };
    writer_.add(fmt::format("{},{},{},{},{:.3f},{:.9g},{:.9g}\n", utc_text(wall_clock_s()), csv_field(point.id), index,
                            state, row.until_s, rate(row.bytes), rate(row.operations)));
  }

  std::unique_ptr<RunObserver> shown_;
  LineWriter writer_;
  unsigned index_ = 0;
  Row row_;
};

}  // namespace

void check_live_table(const std::string& file, const Plan& plan) {
  if (file.empty()) return;
  files::check_output(file, "", kHeader);
  std::error_code none;
  if (std::filesystem::exists(file, none) ? !std::filesystem::is_regular_file(file, none)
                                          : std::filesystem::is_symlink(file, none))
    throw UsageError(fmt::format("--live: {} is no regular file, and cannot grow: name another one", file));
  if (!std::filesystem::is_directory(place_of(file).parent_path(), none))
    throw UsageError(fmt::format("--live: {}: no such folder", place_of(file).parent_path().string()));
  for (const Point& point : plan.points) {
    const auto path = point.params.find("path");
    const std::string* data = path == point.params.end() ? nullptr : std::get_if<std::string>(&path->second);
    if (data == nullptr || data->empty() || is_object_path(*data)) continue;
    if (std::ranges::any_of(places_of_data(*data), [&](const auto& place) { return lies_in(place_of(file), place); }))
      throw UsageError(fmt::format("--live: {} lies in the data {}: name a file elsewhere", file, *data));
  }
}

std::unique_ptr<RunObserver> with_live_table(std::unique_ptr<RunObserver> shown, const std::string& file) {
  if (file.empty()) return shown;
  return std::make_unique<LiveTable>(std::move(shown), file);
}

}  // namespace headrace::cli
