// The run as a whole: points in order, needs answered, missed ones measured again, the summary.
#include "harness/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>

#include "harness/backends/loader.h"
#include "harness/base/utc.h"
#include "harness/engine/explain/evidence.h"
#include "harness/engine/explain/fits.h"
#include "harness/engine/explain/questions.h"
#include "harness/engine/explain/rehearsal.h"
#include "harness/engine/explain/rules_kept.h"
#include "harness/engine/explain/scaling_curves.h"
#include "harness/engine/point_order.h"
#include "harness/engine/point_run.h"
#include "harness/engine/rank_sync.h"
#include "harness/judge/verdict/slow_parts.h"

namespace headrace {
namespace {

using engine::PointRunner;

PointResult not_reached(const Point& point, const std::string& why) {
  PointResult result = engine::unmeasured(point);
  result.reason = why;
  return result;
}

class Run {
 public:
  Run(const Plan& plan, Node& node, RunObserver& observer, const EngineLimits& limits)
      : plan_(plan),
        node_(node),
        observer_(observer),
        limits_(limits),
        rank_sync_(node.ranks()),
        questions_(engine::questions(plan, node.ranks().nodes())) {
    for (judging::Question& question : questions_) question.never_passes = limits_.never_passes;
    if (!rank_sync_.alone()) limits_.lost = [&node] { return node.ranks().lost(); };
  }

  RunResult operator()() {
    result_.plan = &plan_;
    result_.questions = questions_;
    node_.limit_writes(plan_.max_write);
    node_.backends().stop_with(stop_signal);
    result_.started_utc = utc_text(wall_clock_s());
    if (!rank_sync_.leads()) {
      follow();
      return std::move(result_);
    }
    measure_points();
    judge_all();
    confirm_failures();
    result_.collectives = engine::fit_curves(plan_, result_.points);
    result_.scaling = engine::scaling_curves(result_.points);
    result_.rehearsal = engine::rehearsal_of(plan_, result_.points);
    result_.rules = engine::rules_held(plan_, result_.points);
    end_together();
    if (result_.lost.empty()) result_.signal = stop_signal.load();  // else a launcher ended us for that
    result_.summary = judging::summarize_run(result_.judgements, engine::recorded(result_.points), result_.signal);
    result_.elapsed_s = elapsed_s();
    return std::move(result_);
  }

 private:
  /// Follows rank 0 until the run is over, or rank 0 is lost.
  void follow() {
    try {
      for (engine::Step step = rank_sync_.hear(); step.kind == engine::Step::Kind::open; step = rank_sync_.hear()) {
        if (!runner(plan_.points.at(step.point)).follow()) return;
      }
    } catch (const RanksError& e) {
      result_.lost = e.what();
    }
  }
  void end_together() {
    try {
      rank_sync_.say({.kind = engine::Step::Kind::end});
    } catch (const RanksError&) {  // the points report it
    }
    result_.lost = node_.ranks().lost();
  }

  /// Only by the values that the run's file will have.
  void judge_all() { result_.judgements = judging::judge_run(questions_, engine::recorded(result_.points)); }

  double elapsed_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  bool is_over_budget() const { return plan_.budget_s > 0 && elapsed_s() > plan_.budget_s; }

  PointRunner runner(const Point& point, std::optional<double> budget_s = std::nullopt) {
    EngineLimits limits = limits_;
    limits.budget_s = budget_s;
    return {plan_, point, questions_, node_, observer_, limits};
  }

  void measure_points() {
    for (const Point& point : plan_.points) result_.points.push_back(not_reached(point, "the run was killed before"));
    for (std::size_t begun = 1; !hung_ && stop_signal.load() == 0 && !is_over_budget(); ++begun) {
      const auto next = engine::next_point(plan_, result_.points);
      if (!next) break;
      const Point& point = plan_.points[next->index];
      observer_.point_started(point, begun, plan_.points.size());
      PointRunner one = runner(point, budget_of(*next));
      result_.points[next->index] = one.measure();
      hung_ = one.hung();
      observer_.point_done(result_.points[next->index]);
      if (limits_.after_point && !hung_ && engine::next_point(plan_, result_.points))
        limits_.after_point([&] { return so_far(); });
    }
    leave_out_the_rest();
  }

  /// The point's share of the rest of the plan's budget, without the time of making the point's data. A point that
  /// shares none gets at most all of it. On a busy machine it would be measured again and again.
  std::optional<double> budget_of(const engine::NextPoint& next) const {
    if (plan_.budget_s <= 0) return std::nullopt;
    if (!next.share) return std::min(plan_.budget_s, plan_.points[next.index].repeat.budget_s);
    const double making_s = plan_.points[next.index].making_s.value_or(0);
    return *next.share * std::max(0.0, plan_.budget_s - elapsed_s() - making_s);
  }

  /// Gives each point that was not begun the reason.
  void leave_out_the_rest() {
    std::erase_if(result_.points, [](const PointResult& p) {
      return p.status == PointStatus::not_reached && engine::is_tried_on_demand(*p.point);
    });
    const std::vector<PointResult> known = result_.points;
    for (PointResult& p : result_.points) {
      if (p.status != PointStatus::not_reached) continue;
      const bool stopped = hung_ || stop_signal.load() != 0;
      const std::string needless = engine::why_not_needed(plan_, known, *p.point);
      p.reason = hung_                     ? "the run ended: an earlier point hung, or lost a rank"
                 : stop_signal.load() != 0 ? "interrupted before"
                 : !needless.empty()       ? needless
                                           : fmt::format("{}{:.0f} s is exhausted: a longer one measures it",
                                                         judging::kBudgetSpent, plan_.budget_s);
      if (!stopped) p.status = PointStatus::skipped;
    }
  }

  /// As if the run was killed now.
  RunResult so_far() const {
    RunResult known = result_;
    const std::vector<judging::RecordedPoint> recorded = engine::recorded(known.points);
    known.judgements = judging::judge_run(questions_, recorded);
    known.signal = SIGKILL;
    known.summary = judging::summarize_run(known.judgements, recorded, known.signal);
    known.elapsed_s = elapsed_s();
    return known;
  }

  /// A FAIL is measured once more after a rest before it is final. Facts are not: they do not change. Nor are counts of
  /// which one occurrence is a fault. Also beyond the budget: a FAIL by a single bad moment is worth more time than it
  /// costs.
  void confirm_failures() {
    std::vector<PointResult*> again;
    for (const Judgement& j : result_.judgements) {
      if (j.outcome != Outcome::fail || judging::is_count(j)) continue;
      const auto at = std::find_if(result_.points.begin(), result_.points.end(),
                                   [&](const PointResult& p) { return p.point->id == j.point; });
      if (at->deterministic || std::count(again.begin(), again.end(), &*at) != 0) continue;
      again.push_back(&*at);
    }
    if (again.empty() || hung_ || stop_signal.load() != 0) return;
    const Judgement& worst =
        *std::find_if(result_.judgements.begin(), result_.judgements.end(),
                      [&](const Judgement& j) { return j.point == again.front()->point->id && !judging::is_count(j); });
    observer_.message(fmt::format("{}: measuring {} again after a rest, to be sure",
                                  judging::of_a_part(worst) ? worst.scope + " seems bad" : "A need was missed",
                                  again.front()->point->id));
    engine::rest(limits_.confirm_rest_s);
    for (PointResult* point : again) {
      if (hung_ || stop_signal.load() != 0) break;
      PointRunner one = runner(*point->point);
      one.measure_again(*point);
      hung_ = one.hung();
    }
    judge_all();
  }

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Plan& plan_;
  Node& node_;
  RunObserver& observer_;
  EngineLimits limits_;
  engine::RankSync rank_sync_;
  std::vector<judging::Question> questions_;
  RunResult result_;
  bool hung_ = false;
};

}  // namespace

RunResult run_plan(const Plan& plan, Node& node, RunObserver& observer, const EngineLimits& limits) {
  return Run(plan, node, observer, limits)();
}

}  // namespace headrace
