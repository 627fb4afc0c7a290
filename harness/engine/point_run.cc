// The life of one point.
#include "harness/engine/point_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <thread>

#include "harness/base/deadline.h"
#include "harness/engine/driver.h"
#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/measured_point.h"
#include "harness/engine/explain/rank_findings.h"
#include "harness/engine/limits.h"
#include "harness/engine/look_by_look.h"
#include "harness/engine/preparation.h"
#include "harness/engine/watched.h"
#include "harness/judge/statistics/summary.h"
#include "harness/machine/network_links.h"
#include "harness/record/ranks/rank_groups.h"
#include "harness/workload/data/data_set/sample.h"
#include "harness/workload/workload.h"

namespace headrace::engine {
namespace {

// Reading a point's data again after its last repetition, when no cache state is touched any more.

/// This rank's share: every byte where the point asks for it, else a sample of the generated data. Data that several
/// ranks share is checked once for each node. `result` gets the errors.
StageEnd check_data(const Point& point, Node& node, std::uint64_t seed, const EngineLimits& limits,
                    const DataProgress& progress, PointResult& result) {
  const Ranks& ranks = node.ranks();
  if (node.team_index() >= node.team().size()) return {};
  const DataSet* data = as<ReadsFiles>(*point.workload).data();
  if (data != nullptr && ranks.places()[ranks.rank()].local_rank > 0) return {};
  if (data != nullptr && !data->generated()) {
    if (point.verify) add_note(result, "not verified: what files of yours must hold is not known");
    return {};
  }
  try {
    const auto wrong = std::make_shared<std::vector<WrongBlock>>();
    const WatchedEnd end = run_watched(
        "verifying", limits, progress,
        [workload = point.workload, wrong, all = point.verify, seed](const DataProgress& reported) {
          *wrong = all ? workload->verify(reported) : wrong_in_sample(*as<ReadsFiles>(*workload).data(), seed);
        });
    if (end.hung) return {PointStatus::error, end.why, true};
    result.wrong_blocks = std::move(*wrong);
    result.verified = point.verify;
  } catch (const Interrupted&) {
    return {PointStatus::interrupted, ""};
  } catch (const std::exception& e) {
    return {PointStatus::error, fmt::format("verify: {}", e.what())};
  }
  if (result.wrong_blocks.empty()) return {};
  const WrongBlock& first = result.wrong_blocks.front();
  const std::size_t more = result.wrong_blocks.size() - 1;
  return {PointStatus::error,
          fmt::format("{} found wrong data: {} at offset {}: {}{}",
                      point.verify ? "verify" : "a sample that is always read", first.file, first.offset, first.why,
                      more > 0 ? fmt::format(" (and {} more)", more) : "")};
}

constexpr unsigned kFailuresToGiveUp = 2;  // in a row
constexpr unsigned kAtOnce = 100;          // repetitions handed to the driver: it goes through all of them

using Clock = std::chrono::steady_clock;

}  // namespace

void rest(double seconds) {
  const Clock::time_point start = Clock::now();
  while (stop_signal.load() == 0 && seconds_since(start) < seconds) {
    const double left = seconds - seconds_since(start);
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(left, 0.0, 0.05)));
  }
}

/// A prepared point: from prepare() to cleanup().
class PointRunner::Session {
 public:
  Session(PointRunner& owner, PointResult& result)
      : owner_(owner), point_(owner.point_), workload_(*point_.workload), result_(result) {}

  /// False when it cannot continue; the result has the reason. With several ranks: all call it together.
  bool open() {
    try {
      rank_sync().say(
          {.kind = Step::Kind::open, .point = static_cast<std::uint64_t>(&point_ - owner_.plan_.points.data())});
      const Ranks& ranks = owner_.node_.ranks();
      const std::vector<unsigned> team = team_of(ranks, point_.one_per_node, point_.clients);
      if (team.empty()) {
        result_.status = PointStatus::skipped;
        result_.reason = fmt::format("clients: {} are more than the {} that there are", point_.clients,
                                     point_.one_per_node ? ranks.nodes() : ranks.size());
        return false;
      }
      result_.nodes = nodes_of(team, ranks.places());
      result_.processes = static_cast<unsigned>(team.size());
      owner_.node_.set_team(team);
      bool ready = in_turn();
      if (ready)
        ready = goes_on(
            touch_for_reading(point_, owner_.node_, owner_.plan_.budget_s, owner_.limits_, progress(), result_));
      return agreed(ready) && connected();
    } catch (const RanksError& e) {
      return hang(e.what());
    }
  }

  /// Another rank than the first: follows rank 0.
  void follow(const Step& step) {
    if (step.kind == Step::Kind::verify) {
      verify_here();
      return agree_on_data();
    }
    Repetition r = runner_->run(step.index, step.look);
    owner_.hung_ = runner_->hung();
    result_.repetitions.push_back(std::move(r));
    if (owner_.hung_) fail(result_.repetitions.back().error);
  }

  /// This rank's own preparation.
  bool prepare_here() {
    prepared_ = true;
    links_ = system::network_links();
    Preparation preparation = prepare(point_, owner_.node_, owner_.limits_, progress(), rank_sync().alone());
    if (preparation.refused) prepared_ = false;
    if (preparation.end.status == PointStatus::error && !preparation.end.hung)
      result_.faults = as<UsesDevices>(workload_).faults();
    return goes_on(std::move(preparation.end));
  }

  /// Ranks that read the same files make them one after the other. The first comes first, then one of each other node,
  /// in case the storage is local, then the rest.
  bool in_turn() {
    const Ranks& ranks = owner_.node_.ranks();
    const bool takes_part = owner_.node_.team_index() < owner_.node_.team().size();
    if (rank_sync().alone() || workload_.footprint().data_id.empty()) return !takes_part || prepare_here();
    const RankPlace& place = ranks.places()[ranks.rank()];
    const unsigned turn = ranks.rank() == owner_.node_.team().front() ? 0 : place.local_rank == 0 ? 1 : 2;
    bool ready = true;
    for (unsigned now = 0; now < 3; ++now) {
      if (now == turn && takes_part) ready = prepare_here();
      rank_sync().wait("preparing data");
    }
    return ready;
  }

  /// All are ready, or none continues.
  bool agreed(bool ready) {
    Word own;
    if (!ready) {
      own = {owner_.hung_                                 ? Word::Kind::hung
             : result_.status == PointStatus::skipped     ? Word::Kind::skipped
             : result_.status == PointStatus::interrupted ? Word::Kind::interrupted
                                                          : Word::Kind::failed,
             result_.reason};
    }
    const Word all = rank_sync().agree("preparing", own);
    if (all.kind != Word::Kind::ok) {
      if (ready) {
        result_.reason = all.why;
        result_.status = all.kind == Word::Kind::skipped       ? PointStatus::skipped
                         : all.kind == Word::Kind::interrupted ? PointStatus::interrupted
                                                               : PointStatus::error;
        owner_.hung_ = owner_.hung_ || all.kind == Word::Kind::hung;
      }
      return false;
    }
    runner_.emplace(owner_.plan_, point_, owner_.node_, owner_.observer_, owner_.limits_);
    if (const DataSet* data = as<ReadsFiles>(workload_).data()) {
      result_.left_out = data->left_out();
      if (data->missing() > 0)
        result_.unproven.push_back(fmt::format(
            "{} of {} files were made, as this storage makes no more in the {:.0f} s that the budget has for "
            "it: what more files or longer reading cost is not shown",
            data->files().count(), data->files().count() + data->missing(), *point_.making_s));
    }
    if (std::string unproven = as<SavesCheckpoints>(workload_).unproven(); !unproven.empty())
      result_.unproven.push_back(std::move(unproven));
    take_notes();
    started_ = Clock::now();
    return true;
  }

  /// All participants are connected with each other, or none continues.
  bool connected() {
    if (rank_sync().alone()) return true;
    Word own;
    if (owner_.node_.team_index() < owner_.node_.team().size()) {
      try {
        const WatchedEnd end = run_watched("connecting the ranks", owner_.limits_, {},
                                           [workload = point_.workload, node = &owner_.node_](const DataProgress&) {
                                             as<JoinsRanks>(*workload).connect(*node);
                                           });
        if (end.hung) hang(end.why);
      } catch (const std::exception& e) {
        fail(e.what());
      }
      if (result_.status == PointStatus::error)
        own = {owner_.hung_ ? Word::Kind::hung : Word::Kind::failed, result_.reason};
    }
    const Word all = rank_sync().agree("connecting the ranks", own);
    if (all.kind == Word::Kind::ok) return true;
    if (own.kind == Word::Kind::ok) fail(all.why);
    owner_.hung_ = owner_.hung_ || all.kind == Word::Kind::hung;
    return false;
  }

  /// All looks. Sets status and reason.
  void measure() {
    const Measuring measuring{
        .take = [this](unsigned count, unsigned look, unsigned target) { take(count, look, target); },
        .must_stop = [this] { return must_stop(); },
        .summarize = [this] { summarize_metrics(runner_->catalogue(), result_); }};
    decided_ =
        measure_look_by_look(result_, owner_.questions_, result_.deterministic ? 0 : owner_.limits_.retakes, measuring);
    conclude();
  }

  /// `count` fresh repetitions that are not counted.
  void take_fresh(unsigned count) {
    const auto look = static_cast<unsigned>(result_.looks.looks.size());
    drive(point_.id, count, [this, look, count] { return sample(look, count); });
    for (Repetition& r : result_.repetitions) r.counted = r.counted && r.look < look;
  }

  /// After the last repetition, so that no cache state is touched.
  void verify() {
    if (result_.status != PointStatus::ok) return;
    if (!point_.verify && as<ReadsFiles>(workload_).data() == nullptr) return;
    try {
      rank_sync().say({.kind = Step::Kind::verify});
      verify_here();
      agree_on_data();
    } catch (const RanksError& e) {
      hang(e.what());
    }
  }

  void verify_here() {
    goes_on(check_data(point_, owner_.node_, owner_.plan_.seed, owner_.limits_, progress(), result_));
  }

  void close() {
    if (owner_.hung_) return;
    try {
      rank_sync().say({.kind = Step::Kind::close});
    } catch (const RanksError& e) {
      return add_note(result_, e.what());
    }
    if (!prepared_) return;
    for (const auto& [link, errors] : system::risen_errors(links_, system::network_links()))
      add_note(result_, fmt::format("network errors rose during the test: {}: {}", link, errors));
    try {
      take_notes();
      const WatchedEnd end = run_watched(
          "cleaning up", owner_.limits_, {},
          [workload = point_.workload, node = &owner_.node_](const DataProgress&) { workload->cleanup(*node); });
      if (end.hung) hang(end.why);
    } catch (const std::exception& e) {
      add_note(result_, fmt::format("cleaning up failed: {}", e.what()));
    }
  }

 private:
  const RankSync& rank_sync() const { return owner_.rank_sync_; }

  void agree_on_data() {
    const bool wrong = result_.status == PointStatus::error;
    const Word all = rank_sync().agree("verifying", wrong ? Word{Word::Kind::failed, result_.reason} : Word{});
    if (all.kind != Word::Kind::ok && !wrong) fail(all.why);
  }

  DataProgress progress() { return stoppable(owner_.observer_); }

  /// False where the point ends with the stage.
  bool goes_on(StageEnd end) {
    if (end.ok()) return true;
    owner_.hung_ = owner_.hung_ || end.hung;
    result_.status = end.status;
    result_.reason = std::move(end.reason);
    return false;
  }

  void fail(std::string why) {
    result_.status = PointStatus::error;
    result_.reason = std::move(why);
  }
  /// A thread was left behind: nothing of this point may be touched any more.
  bool hang(std::string why) {
    owner_.hung_ = true;
    fail(std::move(why));
    return false;
  }

  bool must_stop() const {
    return stop_signal.load() != 0 || owner_.hung_ || failed_in_a_row_ >= kFailuresToGiveUp ||
           seconds_since(started_) > owner_.limits_.budget_s.value_or(point_.repeat.budget_s);
  }

  void take(unsigned count, unsigned look, unsigned target) {
    while (count > 0 && !must_stop()) {
      const unsigned now = std::min(count, kAtOnce);
      drive(point_.id, now, [this, look, target] { return sample(look, target); });
      count -= now;
    }
  }

  Sample sample(unsigned look, unsigned target) {
    if (must_stop()) return {.elapsed_s = 0, .values = {}, .error = "not started"};
    const auto index = static_cast<unsigned>(result_.repetitions.size());
    if (index > 0) rest(point_.rest_s);
    owner_.observer_.repetition_started(point_, index, std::max(target, index + 1));
    Repetition r;
    try {
      rank_sync().say({.kind = Step::Kind::repeat, .index = index, .look = look});
      r = runner_->run(index, look);
      owner_.hung_ = runner_->hung();
    } catch (const RanksError& e) {
      r.status = RepetitionStatus::error;
      r.error = e.what();
      owner_.hung_ = true;
    }
    if (r.status == RepetitionStatus::interrupted && stop_signal.load() == 0)
      stop_signal = SIGTERM;  // another rank was asked to stop
    r.counted = r.status == RepetitionStatus::ok;
    failed_in_a_row_ = r.status == RepetitionStatus::error ? failed_in_a_row_ + 1 : 0;
    if (!r.cache.caveat.empty()) add_note(result_, fmt::format("{}: {}", to_string(point_.cache), r.cache.caveat));
    if (!runner_->note().empty()) add_note(result_, runner_->note());
    if (r.counted) {
      result_.stages = as<TracesItems>(workload_).stages();
      result_.trace = as<TracesItems>(workload_).trace();
    }
    owner_.observer_.repetition_done(point_, r);
    Sample s{.elapsed_s = elapsed_of(r.phases), .values = r.metrics, .error = r.error};
    if (r.status == RepetitionStatus::interrupted) s.error = "interrupted";
    result_.repetitions.push_back(std::move(r));
    return s;
  }

  void conclude() {
    const Repetition* failure = nullptr;
    unsigned failures = 0;
    for (const Repetition& r : result_.repetitions) {
      if (r.status != RepetitionStatus::error) continue;
      ++failures;
      failure = &r;
    }
    const auto taken = static_cast<unsigned>(result_.repetitions.size());
    result_.status = PointStatus::ok;
    if (!owner_.hung_) note_missing();
    if (owner_.hung_) return fail(failure->error);  // and its results until then accuse no other part
    for (std::string& note : describe_ranks(result_, rank_sync().ranks())) add_note(result_, std::move(note));
    if (stop_signal.load() != 0 && !decided_ && counted(result_.repetitions) < result_.looks.looks.back()) {
      result_.status = PointStatus::interrupted;
    } else if (failed_in_a_row_ >= kFailuresToGiveUp || (failures > 0 && counted(result_.repetitions) == 0)) {
      return fail(
          fmt::format("{} ({} of {} repetition{} failed)", failure->error, failures, taken, taken == 1 ? "" : "s"));
    }
    if (failure != nullptr) {
      add_note(result_, fmt::format("{} of {} repetitions failed and {} not counted: {}", failures, taken,
                                    failures == 1 ? "is" : "are", failure->error));
    }
  }

  /// Why the catalogue's metrics that have no value have none, as long as the workload can show.
  void note_missing() {
    for (const MetricInfo& info : runner_->catalogue()) {
      const bool there = std::any_of(result_.metrics.begin(), result_.metrics.end(),
                                     [&](const MetricSummary& m) { return m.name == info.name; });
      if (there) continue;
      if (std::string why = workload_.why_missing(info.name); !why.empty()) result_.missing[info.name] = std::move(why);
    }
  }

  void take_notes() {
    result_.workers = workload_.workers();
    for (std::string& note : workload_.notes()) add_note(result_, std::move(note));
    if (Facts facts = as<ReportsFacts>(workload_).facts(); !facts.empty()) result_.facts = std::move(facts);
    if (const auto group = as<JoinsRanks>(workload_).group()) result_.group = group;
  }

  PointRunner& owner_;
  const Point& point_;
  Workload& workload_;
  PointResult& result_;
  std::optional<RepetitionRunner> runner_;
  Clock::time_point started_{};
  std::vector<system::NetworkLink> links_;  // as they were before
  bool prepared_ = false, decided_ = false;
  unsigned failed_in_a_row_ = 0;
};

PointRunner::PointRunner(const Plan& plan, const Point& point, std::span<const judging::Question> questions, Node& node,
                         RunObserver& observer, const EngineLimits& limits)
    : plan_(plan),
      point_(point),
      questions_(questions),
      node_(node),
      observer_(observer),
      limits_(limits),
      rank_sync_(node.ranks()) {
  if (point.timeout_s == 0) return;
  limits_.stall_s = point.timeout_s;
  limits_.grace_s = std::min(limits_.grace_s, point.timeout_s);
}

PointResult PointRunner::measure() {
  const Clock::time_point start = Clock::now();
  PointResult result = unmeasured(point_);
  result.looks = statistics::plan_looks(result.deterministic ? std::vector<unsigned>{1} : point_.repeat.looks);
  node_.limit_making(point_.making_s);
  Session session(*this, result);
  if (session.open()) {
    session.measure();
    session.verify();
  }
  session.close();
  result.elapsed_s = seconds_since(start);
  return result;
}

bool PointRunner::follow() {
  PointResult result = unmeasured(point_);
  node_.limit_making(point_.making_s);
  Session session(*this, result);
  session.open();
  for (;;) {
    const Step step = rank_sync_.hear();
    if (step.kind == Step::Kind::end) return false;
    if (step.kind == Step::Kind::close) {
      session.close();
      return true;
    }
    session.follow(step);
  }
}

void PointRunner::measure_again(PointResult& result) {
  const Clock::time_point start = Clock::now();
  const PointStatus status = result.status;
  const std::string reason = result.reason;
  result.reason.clear();
  result.measured_again = true;
  result.unproven = point_.unproven;
  if (point_.making_s) node_.limit_making(0);  // the same data again
  Session session(*this, result);
  if (session.open()) session.take_fresh(result.looks.looks.front());
  session.close();
  if (!hung_) {  // the first result counts, however the second time went
    result.status = status;
    result.reason = reason;
  } else {
    result.status = PointStatus::error;
    if (result.reason.empty()) result.reason = result.repetitions.back().error;
  }
  result.elapsed_s += seconds_since(start);
}

}  // namespace headrace::engine
