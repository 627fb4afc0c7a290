// Progress lines and the ETA behind them.
#include "benches/headrace/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>

#include "benches/headrace/console.h"
#include "benches/headrace/terminal.h"
#include "harness/base/units.h"
#include "harness/engine/limits.h"
#include "harness/record/recorder.h"

namespace headrace::cli {
namespace {

constexpr double kPlainEvery_s = 30;

/// The upper limit of the work left: all repetitions until the last look of each point. A disturbed or failed one is
/// repeated, so it leaves the work as it was. The time of one comes from those of this run.
class Eta {
 public:
  explicit Eta(const Plan& plan) : start_ns_(now_ns()) {
    for (const Point& point : plan.points) later_ += point.repeat.looks.back();
  }
  void point_started(const Point& point) {
    const std::vector<unsigned>& looks = point.repeat.looks;
    here_ = looks.back();
    later_ -= std::min(later_, here_);
    retakes_ = EngineLimits{}.retakes * static_cast<unsigned>(looks.size());
  }
  void repetition_done(bool sound) {
    ++done_;
    if (!sound && retakes_ > 0)
      --retakes_;
    else
      here_ -= std::min(here_, 1u);
  }
  void point_done() { here_ = 0; }  // work that it did not need is not left any more
  double elapsed_s() const { return static_cast<double>(now_ns() - start_ns_) * 1e-9; }
  std::string text() const {
    if (done_ == 0) return "ETA ?";
    return "ETA at most " + format_duration(elapsed_s() / done_ * (here_ + later_));
  }

 private:
  std::uint64_t start_ns_;
  unsigned here_ = 0, later_ = 0, retakes_ = 0, done_ = 0;
};

/// Common state; only the display of a line differs.
class Progress : public RunObserver {
 public:
  Progress(const Shared& shared, const Plan& plan)
      : terminal_(stderr, shared), verbosity_(shared.verbosity), eta_(plan) {}

  void point_started(const Point& point, std::size_t number, std::size_t total) override {
    const std::lock_guard lock(mutex_);
    head_ = Text::format("[{}/{}] {}", number, total, point.id);
    repetition_ = disturbed_ = 0;
    next_look_ = point.repeat.looks.front();
    rates_.clear();
    eta_.point_started(point);
    started(point);
  }
  void data_progress(std::uint64_t done, std::uint64_t total, std::string_view what) override {
    const std::lock_guard lock(mutex_);
    const Text part = total > 0
                          ? Text::format("{:.0f} %", 100.0 * static_cast<double>(done) / static_cast<double>(total))
                          : Text::format("{}", done);
    update(Text::format("{}  {} {}", head_, what, part), false);
  }
  void repetition_started(const Point&, unsigned index, unsigned next_look) override {
    const std::lock_guard lock(mutex_);
    repetition_ = index + 1;
    next_look_ = next_look;
    update(Text::format("{}  rep {}/{}  {}  {}", head_, repetition_, next_look_, spark(), eta_.text()), false);
  }
  void live(const Point&, const LiveRate& rate, double elapsed_s) override {
    const std::lock_guard lock(mutex_);
    const std::string shown =
        rate.bytes_per_s > 0 ? format_quantity(rate.bytes_per_s, Dimension::bytes_per_second) : "";
    update(Text::format("{}  rep {}/{}  {} {}  {}  {}", head_, repetition_, next_look_, shown, spark(),
                        format_duration(elapsed_s), eta_.text()),
           false);
  }
  void repetition_done(const Point&, const Repetition& repetition) override {
    const std::lock_guard lock(mutex_);
    eta_.repetition_done(repetition.error.empty() && !repetition.disturbance.disturbed);
    double bytes = 0, operations = 0, seconds = 0;
    for (const PhaseResult& phase : repetition.phases) {
      bytes += static_cast<double>(phase.bytes);
      operations += static_cast<double>(phase.operations);
      seconds += phase.elapsed_s;
    }
    const double done = bytes > 0 ? bytes : operations;
    if (seconds > 0 && done > 0) rates_.push_back(done / seconds);
    if (!repetition.error.empty()) say(terminal_.paint("  ! ", Ink::bad) + repetition.error);
    if (!repetition.disturbance.disturbed) return;
    // The first one is reported, the others are counted: on a busy machine it is every one.
    if (++disturbed_ == 1 ? verbosity_ >= 0 : verbosity_ > 0) {
      say(Text::format("  rep {} disturbed: {}", repetition.index + 1, repetition.disturbance.why));
    }
  }
  void point_done(const PointResult& result) override {
    const std::lock_guard lock(mutex_);
    const std::size_t taken = result.repetitions.size();
    eta_.point_done();
    if (verbosity_ < 0) return;
    if (result.status == PointStatus::skipped) {
      say(Text::format("{}  {}", head_, terminal_.paint("skipped: " + result.reason, Ink::faint)));
    } else if (result.status == PointStatus::error) {
      say(Text::format("{}  {}", head_, terminal_.paint("error: " + result.reason, Ink::bad)));
    } else {
      say(Text::format("{}  {} rep{} in {}{}  {}", head_, taken, taken == 1 ? "" : "s",
                       format_duration(result.elapsed_s), disturbed(), spark()));
    }
  }
  void message(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    say(Text::format("  {}", text));
  }

 protected:
  virtual void started(const Point& point) = 0;
  /// A line that replaces the one before; `keep` when it should stay.
  virtual void update(const Text& line, bool keep) = 0;
  /// A line that stays.
  virtual void say(const Text& line) = 0;

  /// ", 3 disturbed" or "".
  Text disturbed() const { return disturbed_ > 0 ? Text::format(", {} disturbed", disturbed_) : ""; }

  /// The rates of this point's repetitions as a row of blocks, lowest to highest.
  std::string spark() const {
    if (rates_.size() < 2 || terminal_.ascii()) return "";
    static const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const double high = *std::max_element(rates_.begin(), rates_.end());
    std::string text;
    if (high <= 0) return text;
    for (const double rate : rates_) text += kBlocks[static_cast<int>(std::clamp(rate / high * 7.0, 0.0, 7.0))];
    return text;
  }

  Terminal terminal_;
  int verbosity_;
  Eta eta_;
  std::mutex mutex_;
  Text head_;
  unsigned repetition_ = 0, next_look_ = 0, disturbed_ = 0;
  std::vector<double> rates_;
};

/// A status line at the bottom of the terminal, rewritten in place.
class LiveProgress final : public Progress {
 public:
  using Progress::Progress;
  ~LiveProgress() override { clear(); }

 private:
  void started(const Point&) override { update(head_ + "  preparing", true); }
  void update(const Text& line, bool) override {
    if (verbosity_ < 0) return;
    clear();
    print_stderr(cut(line, static_cast<std::size_t>(terminal_.width() - 1)));
    dirty_ = true;
  }
  void say(const Text& line) override {
    clear();
    print_stderr_line(line);
  }
  void clear() {
    if (dirty_) print_stderr("\r\033[K");
    dirty_ = false;
  }
  bool dirty_ = false;
};

/// One line when a point starts and ends, and one every 30 s between.
class PlainProgress final : public Progress {
 public:
  using Progress::Progress;

 private:
  void started(const Point&) override {
    if (verbosity_ >= 0) say(head_ + "  started");
    last_ns_ = now_ns();
  }
  void update(const Text& line, bool) override {
    const std::uint64_t now = now_ns();
    if (verbosity_ < 0 || static_cast<double>(now - last_ns_) * 1e-9 < kPlainEvery_s) return;
    last_ns_ = now;
    say(line);
  }
  void say(const Text& line) override { print_stderr_line(line); }
  std::uint64_t last_ns_ = 0;
};

/// One JSON object per line, for programs that watch.
class JsonProgress final : public RunObserver {
 public:
  void point_started(const Point& point, std::size_t number, std::size_t total) override {
    write({{"event", "point_started"}, {"point", point.id}, {"number", number}, {"total", total}});
  }
  void live(const Point& point, const LiveRate& rate, double elapsed_s) override {
    write({{"event", "live"},
           {"point", point.id},
           {"bytes_per_s", rate.bytes_per_s},
           {"operations_per_s", rate.operations_per_s},
           {"elapsed_s", elapsed_s}});
  }
  void repetition_done(const Point& point, const Repetition& repetition) override {
    nlohmann::json metrics = nlohmann::json::object();
    for (const MetricValue& m : repetition.metrics) metrics[m.name] = m.value;
    write({{"event", "repetition_done"},
           {"point", point.id},
           {"index", repetition.index},
           {"error", repetition.error},
           {"disturbed", repetition.disturbance.disturbed},
           {"metrics", metrics}});
  }
  void point_done(const PointResult& result) override {
    write({{"event", "point_done"},
           {"point", result.point->id},
           {"reason", result.reason},
           {"repetitions", result.repetitions.size()},
           {"elapsed_s", result.elapsed_s}});
  }
  void message(std::string_view text) override { write({{"event", "message"}, {"text", text}}); }

 private:
  void write(const nlohmann::json& object) {
    const std::lock_guard lock(mutex_);
    print_json_line(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  std::mutex mutex_;
};

}  // namespace

std::unique_ptr<RunObserver> make_progress(const Shared& shared, const Plan& plan) {
  if (shared.progress == "none") return std::make_unique<RunObserver>();
  if (shared.progress == "json") return std::make_unique<JsonProgress>();
  if (shared.progress == "auto" && Terminal(stderr, shared).interactive())
    return std::make_unique<LiveProgress>(shared, plan);
  return std::make_unique<PlainProgress>(shared, plan);
}

}  // namespace headrace::cli
