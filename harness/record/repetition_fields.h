// The members of a repetition's result: under which names run.json has them, and how those of several ranks become one.
#pragma once

#include "harness/record/fields.h"
#include "harness/record/repetition.h"

namespace headrace {

template <>
struct Fields<SeriesPoint> {
  using S = SeriesPoint;
  static constexpr auto all =
      std::tuple(field("time_s", &S::time_s), field("bytes_per_s", &S::bytes_per_s),
                 field("operations_per_s", &S::operations_per_s), field("latency_p99_ns", &S::latency_p99_ns));
};
static_assert(is_complete<SeriesPoint>());

template <>
struct Fields<BackgroundResult> {
  using S = BackgroundResult;
  static constexpr auto all =
      std::tuple(field("begin_s", &S::begin_s).merged(Merge::least), field("end_s", &S::end_s).merged(Merge::most),
                 field("bytes", &S::bytes).merged(Merge::sum), field("operations", &S::operations).merged(Merge::sum),
                 field("errors", &S::errors).merged(Merge::sum), field("latency", &S::latency).merged(Merge::sum),
                 field("series", &S::series).merged(Merge::sum));
};
static_assert(is_complete<BackgroundResult>());

template <>
struct Fields<RankPhase> {
  using S = RankPhase;
  static constexpr auto all = std::tuple(field("rank", &S::rank), field("elapsed_s", &S::elapsed_s),
                                         field("first_finish_s", &S::first_finish_s), field("bytes", &S::bytes),
                                         field("operations", &S::operations), field("errors", &S::errors));
};
static_assert(is_complete<RankPhase>());

template <>
struct Fields<PhaseResult> {
  using S = PhaseResult;
  static constexpr bool of_ranks(const S& p) { return !p.ranks.empty(); }
  static constexpr bool has_slowest(const S& p) { return of_ranks(p) && p.slowest_rank >= 0; }
  // No warm-up is cut of several ranks: each would cut another.
  // clang-format off
  static constexpr auto all = std::tuple(
      field("name", &S::name),
      field("elapsed_s", &S::elapsed_s).required().merged(Merge::most),
      field("first_finish_s", &S::first_finish_s).merged(Merge::least),
      field("cpu_s", &S::cpu_s).merged(Merge::sum),
      field("bytes", &S::bytes).merged(Merge::sum),
      field("operations", &S::operations).merged(Merge::sum),
      field("errors", &S::errors).merged(Merge::sum),
      field("storage_bytes", &S::storage_bytes).merged(Merge::sum),
      field("device_bytes", &S::device_bytes).merged(Merge::sum),
      field("steady_from_s", &S::steady_from_s).merged(Merge::none),
      field("latency", &S::latency).merged(Merge::sum),
      field("parts", &S::parts).merged(Merge::sum),
      field("worker_finish_s", &S::worker_finish_s).merged(Merge::list),
      field("worker_bytes", &S::worker_bytes).merged(Merge::list),
      field("series", &S::series).merged(Merge::sum),
      field("background", &S::background).merged(Merge::sum),
      field("ranks", &S::ranks).merged(Merge::none).where(of_ranks),
      field("slowest_rank", &S::slowest_rank).merged(Merge::none).where(has_slowest),
      field("slowest_series", &S::slowest_series).merged(Merge::none).where(of_ranks),
      unstored(&S::cut_bytes).merged(Merge::none),
      unstored(&S::cut_operations).merged(Merge::none),
      unstored(&S::must_be),
      unstored(&S::not_steady).merged(Merge::none));
  // clang-format on
};
static_assert(is_complete<PhaseResult>());

template <>
struct Fields<CacheUse> {
  using S = CacheUse;
  static constexpr auto all = std::tuple(unstored(&S::names_only), unstored(&S::whole_files), unstored(&S::readers));
};
static_assert(is_complete<CacheUse>());

template <>
struct Fields<CacheProof> {
  using S = CacheProof;
  static constexpr auto all = std::tuple(
      field("declared", &S::declared), field("required", &S::required), field("proven", &S::proven),
      field("why", &S::why), field("resident_before", &S::resident_before), field("resident_after", &S::resident_after),
      field("delivered_bytes", &S::delivered_bytes), field("storage_bytes", &S::storage_bytes),
      field("device_bytes", &S::device_bytes), field("counter", &S::counter), field("method", &S::method),
      field("warm_names", &S::warm_names).if_set(), unstored(&S::use), unstored(&S::operations), unstored(&S::requests),
      unstored(&S::rounding), unstored(&S::obstacle), unstored(&S::second_cache), unstored(&S::second_cache_bytes),
      unstored(&S::compression), unstored(&S::caveat));
};
static_assert(is_complete<CacheProof>());

template <>
struct Fields<ClientOperation> {
  using S = ClientOperation;
  static constexpr auto all =
      std::tuple(field("operation", &S::operation).required(), field("requests", &S::requests),
                 field("repeats", &S::repeats), field("errors", &S::errors), field("queue_s", &S::queue_s),
                 field("round_trip_s", &S::round_trip_s), field("execution_s", &S::execution_s));
};
static_assert(is_complete<ClientOperation>());

template <>
struct Fields<ClientCalls> {
  using S = ClientCalls;
  static constexpr auto all =
      std::tuple(field("counter", &S::counter), field("connections", &S::connections),
                 field("most_slots", &S::most_slots), field("sent", &S::sent), field("in_flight", &S::in_flight),
                 field("waiting", &S::waiting), field("operations", &S::operations));
};
static_assert(is_complete<ClientCalls>());

template <>
struct Fields<Disturbance> {
  using S = Disturbance;
  static constexpr auto all =
      std::tuple(field("disturbed", &S::disturbed), field("why", &S::why), field("foreign_bytes", &S::foreign_bytes),
                 field("cpu_steal", &S::cpu_steal), field("io_pressure", &S::io_pressure),
                 field("cpu_pressure", &S::cpu_pressure), field("memory_pressure", &S::memory_pressure),
                 field("throttled_s", &S::throttled_s), field("foreign_cpu", &S::foreign_cpu),
                 field("probe_before_ns", &S::probe_before_ns), field("probe_after_ns", &S::probe_after_ns));
};
static_assert(is_complete<Disturbance>());

template <>
struct Fields<MetricValue> {  // files have them as two objects by name: repetition_json.cc
  using S = MetricValue;
  static constexpr auto all = std::tuple(unstored(&S::name), unstored(&S::value), unstored(&S::seconds));
};
static_assert(is_complete<MetricValue>());

template <>
struct Fields<UnreachedPair> {
  using S = UnreachedPair;
  static constexpr auto all =
      std::tuple(field("a", &S::a).required(), field("b", &S::b).required(), field("why", &S::why));
};
static_assert(is_complete<UnreachedPair>());

template <>
struct Fields<PairMatrix> {
  using S = PairMatrix;
  static constexpr bool has_unreached(const S& m) { return !m.unreached.empty(); }
  static constexpr bool of_rails(const S& m) { return !m.rails.empty(); }
  static constexpr auto all =
      std::tuple(field("names", &S::names).required(), field("rate", &S::rate).required(),
                 field("rails", &S::rails).where(of_rails), field("unreached", &S::unreached).where(has_unreached));
};

template <>
struct Fields<PartFault> {
  using S = PartFault;
  static constexpr auto all = std::tuple(field("part", &S::part).required(), field("count", &S::count).required(),
                                         field("times", &S::times), field("text", &S::text));
};
static_assert(is_complete<PartFault>());

template <>
struct Fields<Repetition> {
  using S = Repetition;
  static constexpr bool has_client(const S& r) { return !r.client.operations.empty(); }
  static constexpr auto all = std::tuple(
      field("index", &S::index), field("look", &S::look), field("counted", &S::counted), field("status", &S::status),
      field("error", &S::error), field("steady", &S::steady), field("steady_why", &S::steady_why),
      field("metrics", &S::metrics), field("cache", &S::cache), field("client", &S::client).where(has_client),
      field("disturbance", &S::disturbance), field("phases", &S::phases),
      // Files have the times as text, and the pairs and the metrics' seconds behind them: repetition_json.cc
      unstored(&S::began_unix_s), unstored(&S::ended_unix_s), unstored(&S::pairs),
      unstored(&S::faults));  // files have them of the point
};
static_assert(is_complete<Repetition>());

}  // namespace headrace
