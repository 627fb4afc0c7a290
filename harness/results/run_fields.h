// The members of run.json about points and questions, apart from repetitions.
#pragma once

#include "harness/job/needs.h"
#include "harness/job/way.h"
#include "harness/judge/statistics/steady.h"
#include "harness/judge/verdict/answers.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/record/fields.h"
#include "harness/record/metric_summary.h"
#include "harness/record/noise_floor.h"
#include "harness/record/ranks/rank_groups.h"

namespace headrace {

template <>
struct Fields<statistics::SingleRun> {
  using S = statistics::SingleRun;
  static constexpr auto all =
      std::tuple(field("usable", &S::usable).required(), field("mean", &S::mean).required(),
                 field("low", &S::low).required(), field("high", &S::high).required(), field("batches", &S::batches),
                 field("correlation_time", &S::correlation_time));
};
static_assert(is_complete<statistics::SingleRun>());

template <>
struct Fields<GroupShape> {
  using S = GroupShape;
  static constexpr auto all = std::tuple(field("ranks", &S::ranks).required(), field("nodes", &S::nodes).required(),
                                         field("groups", &S::groups));
};
static_assert(is_complete<GroupShape>());

template <>
struct Fields<NoiseFloor> {
  using S = NoiseFloor;
  static constexpr auto all = std::tuple(field("source", &S::source).required(), field("median", &S::median).required(),
                                         field("false_alarm_rate", &S::false_alarm_rate).required());
};
static_assert(is_complete<NoiseFloor>());

template <>
struct Fields<job::JobCollective> {
  using S = job::JobCollective;
  static constexpr auto all = std::tuple(field("message", &S::message).required(), field("ranks", &S::ranks).required(),
                                         field("stride", &S::stride).required(), field("nodes", &S::nodes).required(),
                                         field("wire", &S::wire).required(), field("hidden_s", &S::hidden_s).required(),
                                         field("times", &S::times).required());
};

template <>
struct Fields<job::JobParameter> {
  using S = job::JobParameter;
  static constexpr auto all = std::tuple(field("name", &S::name).required(), field("key", &S::key).required(),
                                         field("value", &S::value).required());
};

template <>
struct Fields<job::Way> {
  using S = job::Way;
  static constexpr auto all =
      std::tuple(field("layout", &S::layout).required(), field("loader", &S::loader).required(),
                 field("read_profile", &S::read_profile).required(), field("file_size", &S::file_size).required(),
                 field("sample_size", &S::sample_size).required(), field("request_size", &S::request_size).required(),
                 field("workers", &S::workers).required(), field("savers", &S::savers).required(),
                 field("async", &S::async).required(), field("data", &S::data));
};
static_assert(is_complete<job::Way>());

template <>
struct Fields<MetricSummary> {
  using S = MetricSummary;
  static constexpr auto all =
      std::tuple(field("name", &S::name).required(), field("unit", &S::unit).required(), field("better", &S::better),
                 field("description", &S::description), field("median", &S::median), field("low", &S::low),
                 field("high", &S::high), field("is_range", &S::is_range), field("values", &S::values).required(),
                 field("too_few_operations", &S::too_few_operations), field("mean_over_time", &S::mean_over_time));
};
static_assert(is_complete<MetricSummary>());

/// Its question to a judgement is next to its own members.
template <>
struct Fields<judging::Question> {
  using S = judging::Question;
  using J = Judgement;
  static constexpr auto all = std::tuple(
      field("id", &S::blank, &J::id).required(), field("scope", &S::blank, &J::scope).required(),
      field("direction", &S::blank, &J::higher_is_better).said("at_least", "at_most").required(),
      field("required", &S::blank, &J::required).required(), field("need", &S::blank, &J::need).required(),
      field("unit", &S::blank, &J::unit).required(), field("formula", &S::blank, &J::formula),
      field("equation", &S::blank, &J::equation), field("substituted", &S::blank, &J::substituted),
      field("measured_by", &S::measured_by).required(), field("workload", &S::workload),
      field("with", &S::with).required(), field("parts", &S::parts).required(),
      field("per_node", &S::per_node).required(), field("per_process", &S::per_process),
      field("lower_bounds", &S::lower_bounds), field("worst_over", &S::worst_over), field("choices", &S::choices),
      field("cannot", &S::cannot), field("never_passes", &S::never_passes), field("optional", &S::optional),
      field("cache", &S::cache), field("way", &S::way), field("collective", &S::collective));
};

template <>
struct Fields<Judgement> {
  using S = Judgement;
  static constexpr auto all = std::tuple(
      field("id", &S::id).required(), field("scope", &S::scope), field("outcome", &S::outcome).required(),
      field("reason", &S::reason), field("explanation", &S::explanation), field("next_step", &S::next_step),
      field("thin", &S::thin), field("direction", &S::higher_is_better).said("at_least", "at_most"),
      field("required", &S::required), field("need", &S::need), field("unit", &S::unit),
      field("measured", &S::measured), field("typical", &S::typical), field("lost_to_stalls", &S::lost_to_stalls),
      field("low", &S::low), field("high", &S::high), field("headroom", &S::headroom),
      field("repetitions", &S::repetitions), unstored(&S::disturbed), field("point", &S::point),
      field("metric", &S::metric), field("way", &S::way).where([](const S& j) { return !j.way.empty(); }),
      field("unproven", &S::unproven).where([](const S& j) { return !j.unproven.empty(); }),
      field("formula", &S::formula), field("equation", &S::equation), field("substituted", &S::substituted));
};
static_assert(is_complete<Judgement>());

}  // namespace headrace
