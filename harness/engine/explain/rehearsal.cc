#include "harness/engine/explain/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/units.h"
#include "harness/engine/explain/epoch_rate.h"
#include "harness/engine/explain/loader_trials.h"
#include "harness/engine/explain/measured_point.h"
#include "harness/engine/explain/rules_kept.h"
#include "harness/engine/plan/rehearsal.h"
#include "harness/job/formula.h"
#include "harness/judge/statistics/summary.h"
#include "harness/judge/verdict/answers.h"
#include "harness/workload/data/pipeline/limiting_stage.h"

namespace headrace::engine {
namespace {

using rehearsal::kPipeline;

/// A prediction this close is right; numbers that decide about GPUs are no finer.
constexpr double kClose = 0.03;
/// Real loaders differ by this share of a value (docs/explanation/rehearsal-accuracy.md): no bounds are closer to it.
constexpr double kOfLoaders = 0.03;

void widen(Estimate& utilization) {
  utilization.low = std::min(utilization.low, (1 - kOfLoaders) * utilization.value);
  utilization.high = std::max(utilization.high, std::min(1.0, (1 + kOfLoaders) * utilization.value));
}

/// From proven repetitions, where there are any; else from all, to be reported and to decide nothing.
std::optional<Estimate> measured(const PointResult* point, std::string_view name) {
  if (const auto of_proven = proven(point, name); of_proven || point == nullptr) return of_proven;
  for (const MetricSummary& m : point->metrics)
    if (m.name == name) return Estimate{m.median, m.low, m.high};
  return std::nullopt;
}

double value(const PointResult* point, std::string_view name) {
  return measured(point, name).value_or(Estimate{}).value;
}

/// The point that measured storage alone, as the job's loader reads.
const PointResult* storage_alone(const std::vector<PointResult>& points) {
  for (const char* workload : {"small_file_read", "shard_stream", "random_read"})
    if (const PointResult* p = measured_point(points, workload, rehearsal::kJob)) return p;
  return nullptr;
}

/// Samples/s of an epoch, from the repetitions that are evidence: they are shorter. What the point puts into the page
/// cache is its data set. Where it goes around that, an epoch is not known to be longer.
std::optional<Estimate> storage_in_epoch(const PointResult* point) {
  std::vector<double> values, lows, highs;
  if (point != nullptr)
    for (const Repetition& r : point->repetitions)
      for (const MetricValue& m : r.metrics) {
        if (!r.counted || !r.cache.is_evidence() || m.name != "sample_rate") continue;
        const Estimate one = r.phases.empty() ? Estimate{m.value, m.value, m.value}
                                              : epoch_rate(r.phases.front(), m.value,
                                                           static_cast<double>(point->first_touch.needed_bytes));
        values.push_back(one.value);
        lows.push_back(one.low);
        highs.push_back(one.high);
      }
  if (values.empty()) return std::nullopt;
  return Estimate{statistics::median(values), statistics::median_interval(lows).low,
                  statistics::median_interval(highs).high};
}

/// Nodes that step together get the slowest one's rate. The share of all nodes' samples that is that many times the
/// slowest one's. The median of the repetitions that count.
double share_in_step(const PointResult& point) {
  std::vector<double> shares;
  for (const Repetition& r : point.repetitions) {
    if (!r.counted || !r.cache.is_evidence() || r.phases.empty()) continue;
    double sum = 0, least = INFINITY;
    for (const RankPhase& rank : r.phases.front().ranks) {
      const double rate = rank.elapsed_s != 0 ? static_cast<double>(rank.operations) / rank.elapsed_s : 0;
      sum += rate;
      least = std::min(least, rate);
    }
    if (sum != 0) shares.push_back(least * static_cast<double>(r.phases.front().ranks.size()) / sum);
  }
  return shares.empty() ? 1 : statistics::median(shares);
}

/// Are images decoded, by headrace's own decoder?
bool has_images(const Point& point) {
  const auto codec = point.params.find("codec");
  return codec != point.params.end() &&
         (codec->second == ParamValue{std::string("jpeg")} || codec->second == ParamValue{std::string("png")});
}

void predict(const std::vector<PointResult>& points, const Point& whole, Rehearsal& r) {
  const PointResult* alone = storage_alone(points);
  auto storage = storage_in_epoch(alone);
  const double nodes = r.nodes ? r.nodes->count : 1;
  if (storage) {
    const double share = share_in_step(*alone);
    *storage = {share * storage->value, share * storage->low, share * storage->high};
  }
  if (!storage || storage->low == 0) return;
  // Samples that are decoded for real take the measured time of decoding alone.
  const PointResult* decoding = measured_point(points, "decode", rehearsal::kJob);
  const auto codec = whole.params.find("codec");
  const bool decodes = codec != whole.params.end() && codec->second != ParamValue{std::string("none")};
  if (decodes && decoding == nullptr) return;
  // Making arrays of row groups was not measured alone.
  if (const auto table = whole.params.find("table");
      table != whole.params.end() && table->second == ParamValue{std::string("parquet")})
    return;
  r.predicted_from = alone->point->id;
  r.storage_alone = *storage;
  r.predicted =
      predict_utilization({.storage = *storage,
                           .memory = r.rates.in_memory,
                           .cpu_time_s = value(decoding, "cpu_time_per_sample") + param(whole, "cpu_time_per_sample"),
                           .cores = nodes * value(measured_point(points, "host_facts", ""), "cpu_cores"),
                           .workers = nodes * param(whole, "workers"),
                           .taking_s = param(whole, "cpu_time_per_batch") / param(whole, "batch_size"),
                           .handed = r.rates.handed,
                           .taken = r.rates.taken});
  // Storage alone predicts neither checkpoints nor copies to GPUs.
  Estimate rehearsed = r.saves ? r.saves->without : r.utilization;
  const double rest = 1 - std::min(r.copies.value_or(0), 0.99);
  for (double* one : {&rehearsed.value, &rehearsed.low, &rehearsed.high}) *one = std::min(1.0, *one / rest);
  r.error = r.predicted->utilization.value - rehearsed.value;
  const bool within = r.predicted->utilization.low <= rehearsed.high + kClose &&
                      r.predicted->utilization.high >= rehearsed.low - kClose;
  r.grade = std::abs(*r.error) <= kClose ? "close" : within ? "within its interval" : "off";
  const auto compare = [&r](const char* stage, double predicted, const std::optional<Estimate>& rehearsed) {
    if (rehearsed && rehearsed->value != 0)
      r.stage_errors.push_back({stage, predicted, rehearsed->value, predicted / rehearsed->value - 1});
  };
  compare("storage", storage->value, r.rates.no_decode ? r.rates.no_decode : r.rates.loader);
  compare("loader", r.predicted->rate.value, r.rates.loader);
}

std::string per_second(double rate) {
  const std::string text = format_quantity(rate, Dimension::per_second);
  return text.substr(0, text.find("/s"));
}

std::string reported_for(const RehearsedSaves& s, const Estimate& with) {
  std::string text = s.async ? "asynchronous checkpoints" : "synchronous checkpoints";
  text += s.count != 0 ? fmt::format(", {:.3g} in a repetition, each durable after {}", s.count,
                                     format_quantity(s.durable_s, Dimension::seconds))
                       : std::string(", none of which became durable within a repetition");
  text += fmt::format(": the GPUs compute {} of the time with them, {} without, and pause for them {}",
                      format_percent(with.value), format_percent(s.without.value), format_percent(s.standing));
  if (s.decides) return text + ": without them the job's utilization would be reached, with them it is not";
  const bool costs = with.high < s.without.low;
  return text + (costs ? fmt::format(": they cost {:.1f} points", 100 * (s.without.value - with.value))
                       : std::string(": no loss beyond the bounds of both"));
}

/// Removed like every other stage: the rate of the pipeline without saves.
void look_at_saves(const std::vector<PointResult>& points, const PointResult& whole, double target, Rehearsal& r) {
  const auto without = proven(measured_point(points, kPipeline, rehearsal::kNoCheckpoint), "utilization_without_saves");
  if (!without) return;
  RehearsedSaves saves{.without = *without,
                       .async = whole.point->params.contains("checkpoint_mode") &&
                                std::get<std::string>(whole.point->params.at("checkpoint_mode")) == "async",
                       .count = value(&whole, "saves"),
                       .standing = value(&whole, "save_fraction"),
                       .durable_s = value(&whole, "time_to_durable_s")};
  saves.decides = r.utilization.high < target && without->low >= target;
  if (saves.standing >= pipeline::kNoStall && saves.standing > std::max(r.stall, r.host)) r.by_times = "checkpoints";
  // Where the loader gives too little, that is reported; saves then take their part in addition.
  if (gives_more(*without, r.utilization) && (r.proof.limit == Limit::gpus || r.proof.limit == Limit::unknown))
    r.proof = {Limit::checkpoints,
               fmt::format("checkpoints are the limit: the GPUs compute {} of the time with them, {} without",
                           format_percent(r.utilization.value), format_percent(without->value))};
  r.saves = saves;
}

std::string reported_for(const RehearsedNodes& n) {
  std::string text = fmt::format("{} nodes step together", n.count);
  if (n.of_job != n.count) text += fmt::format(" (the job has {:.0f})", n.of_job);
  const std::string others = n.count == 2 ? "the other waits" : fmt::format("the other {} wait", n.count - 1);
  if (n.holds_back)
    return text + fmt::format(
                      ": rank {} ({}) holds them back: at the end of steps {} {} of the time, it {}; the shares of "
                      "waiting, reading and decoding are this rank's",
                      n.slowest->rank, n.slowest->host, others, format_percent(n.others), format_percent(n.least));
  return text +
         fmt::format(": none holds the others back; they wait for each other {} of the time", format_percent(n.others));
}

std::optional<RehearsedNodes> nodes_of(const PointResult& whole, const Plan& plan) {
  if (whole.processes < 2) return std::nullopt;
  RehearsedNodes nodes{.count = whole.processes,
                       .of_job = plan.job->cluster.nodes,
                       .slowest = whole.slowest,
                       .least = value(&whole, "least_others_fraction"),
                       .others = value(&whole, "others_fraction"),
                       .holds_back = false};
  nodes.holds_back = nodes.slowest && 2 * nodes.slowest->times > nodes.slowest->of &&
                     nodes.others >= pipeline::kNoStall && nodes.least < nodes.others / 2;
  return nodes;
}

/// Epochs of the local cache, where they were measured.
std::optional<RehearsedTier> tier_of(const std::vector<PointResult>& points) {
  const PointResult* point = measured_point(points, "local_cache", rehearsal::kTier);
  const auto cached = proven(point, "cached_sample_rate");
  if (!cached) return std::nullopt;
  const auto known = [&](const char* name) -> std::optional<double> {
    const auto found = proven(point, name);
    return found ? std::optional(found->value) : std::nullopt;
  };
  return RehearsedTier{.storage = value(point, "storage_sample_rate"),
                       .filling = value(point, "fill_sample_rate"),
                       .cached = cached->value,
                       .hits = known("hit_ratio"),
                       .hits_predicted = known("hit_ratio_predicted_c5"),
                       .pays_after = known("break_even_epochs"),
                       .staged_pays_after = known("break_even_predicted_c11")};
}

std::optional<DecodingOnGpus> decoding_on_gpus(const std::vector<PointResult>& points) {
  const PointResult* point = measured_point(points, "gpu_decode", rehearsal::kGpuDecode);
  const auto rate = proven(point, "node_image_rate");
  if (!rate) return std::nullopt;
  return DecodingOnGpus{.image_rate = rate->value, .cpu_time_s = value(point, "cpu_time_per_image")};
}

std::string reported_for(const DecodingOnGpus& on_gpus, double taken) {
  return fmt::format(
      "the GPUs of this node, with nothing else to do, decode {} images/s (nvJPEG), {} of what they take, for {} of a "
      "processor each",
      per_second(on_gpus.image_rate), format_percent(std::min(1.0, on_gpus.image_rate / taken)),
      format_quantity(on_gpus.cpu_time_s, Dimension::seconds));
}

std::string reported_for(const RehearsedTier& t, double taken) {
  const auto enough = [&](double rate) {
    return fmt::format("{} samples/s, {} of what the GPUs take", per_second(rate),
                       format_percent(std::min(1.0, rate / taken)));
  };
  std::string text =
      fmt::format("local cache: epochs straight from storage give {}; the first one, which fills it, {}; later ones {}",
                  enough(t.storage), enough(t.filling), enough(t.cached));
  if (!t.hits) return text + " (cut off by the time: whole epochs were not seen)";
  text += fmt::format(", {} of their bytes out of it (C5: {})", format_percent(*t.hits),
                      format_percent(t.hits_predicted.value_or(0)));
  if (!t.pays_after)
    return text + (t.cached > t.storage ? ": it holds nothing" : ": they take no less time, and it never pays");
  // The median over repetitions may be between two numbers of epochs.
  const double after = std::ceil(*t.pays_after), staged = std::ceil(t.staged_pays_after.value_or(0));
  return text +
         (after == 0 ? std::string(": filling it took no time besides reading")
                     : fmt::format(": filling it has paid after {:.0f} later epoch{}", after, after == 1 ? "" : "s")) +
         fmt::format(", staging it before the run after {:.0f}", staged);
}

bool other_decoder_could_limit(const Rehearsal& r) {
  return r.decode_headroom && *r.decode_headroom < judging::kSlowestDecoder;
}

/// The limit by the counter-experiments. Where the bytes of the whole pipeline are proven, the waiting time of the GPUs
/// counts, too.
LimitProof limit_of(const Rehearsal& r, bool whole_is_proven) {
  const LimitProof by_rates = prove_limit(r.rates);
  if (other_decoder_could_limit(r) && (by_rates.limit == Limit::gpus || r.by_times == "gpus"))
    return {
        Limit::unknown,
        fmt::format("not proven: headrace's own decoder feeds the GPUs, and one that takes {:.1f} times as long would "
                    "use up the workers or the processors",
                    std::max(1.0, *r.decode_headroom))};
  if (!whole_is_proven) return by_rates;
  // GPUs that never waited are not limited by their loader, regardless of its rate without them.
  if (r.by_times == "gpus" && by_rates.limit != Limit::gpus)
    return {r.utilization.low >= 1 - pipeline::kNoStall ? Limit::gpus : Limit::unknown,
            fmt::format("the GPUs waited for {} of the time only: what feeds them does not limit",
                        format_percent(r.stall))};
  if (r.by_times == to_string(Limit::copies) && by_rates.limit == Limit::gpus)
    return {Limit::copies,
            fmt::format("copies to the GPUs are the limit: they take {} of the time, and the loader is fast "
                        "enough; copying the next batch on a stream of its own hides them",
                        format_percent(*r.copies))};
  return by_rates;
}

}  // namespace

double taken_by(const Point& whole, double nodes) {
  return job::apply("A1", {{"global_batch_samples_count", nodes * param(whole, "batch_size") * param(whole, "gpus") *
                                                              param(whole, "batches_per_step")},
                           {"step_time_s", param(whole, "step_time")}})
      .value();
}

LoaderRates loader_rates(const std::vector<PointResult>& points, const PointResult& whole) {
  const auto rate = [&](const char* label) { return proven(measured_point(points, kPipeline, label), "sample_rate"); };
  LoaderRates rates;
  rates.taken = taken_by(*whole.point, whole.processes);
  const auto utilization = proven(&whole, "accelerator_utilization");
  rates.starved = utilization && utilization->high < kFed && value(&whole, "stall_fraction") >= pipeline::kNoStall;
  rates.loader = rate(rehearsal::kNoStep);
  rates.no_decode = rate(rehearsal::kNoDecode);
  rates.in_memory = rate(rehearsal::kInMemory);
  rates.more_workers = rate(rehearsal::kDoubleWorkers);
  for (const char* label : {rehearsal::kNoStep, rehearsal::kDoubleWorkers})
    if (const PointResult* p = measured_point(points, kPipeline, label); p != nullptr && !proven(p, "sample_rate"))
      rates.unproven.push_back(p->point->id);
  if (const double taking = param(*whole.point, "cpu_time_per_batch"); taking > 0)
    rates.handed = whole.processes * param(*whole.point, "gpus") * param(*whole.point, "batch_size") / taking;
  if (const auto busy = proven(measured_point(points, kPipeline, rehearsal::kNoStep), "taking_share"))
    rates.taking_share = busy->value;
  return rates;
}

std::optional<Rehearsal> rehearsal_of(const Plan& plan, const std::vector<PointResult>& points) {
  if (!plan.rehearsal) return std::nullopt;
  const PointResult* whole = measured_point(points, kPipeline, rehearsal::kJob);
  const auto utilization = measured(whole, "accelerator_utilization");
  if (!utilization) return std::nullopt;
  const bool whole_is_proven = proven(whole, "accelerator_utilization").has_value();
  Rehearsal r;
  r.point = whole->point->id;
  r.calibration = plan.calibration;
  r.utilization = *utilization;
  r.stall = value(whole, "stall_fraction");
  r.host = value(whole, "host_fraction");
  if (const auto copies = measured(whole, "copy_fraction")) r.copies = copies->value;
  r.ready = value(whole, "queue_occupancy");
  if (has_images(*whole->point)) r.decode_headroom = value(whole, judging::kDecodeHeadroom);
  r.by_times = std::string(pipeline::to_string(pipeline::limiting_stage({.stall = r.stall,
                                                                         .host = r.host,
                                                                         .reading = value(whole, "reading_share"),
                                                                         .decoding = value(whole, "decoding_share")})));
  if (r.copies.value_or(0) >= pipeline::kNoStall && *r.copies > std::max(r.stall, r.host))
    r.by_times = to_string(Limit::copies);
  for (const Repetition& one : whole->repetitions)
    for (const MetricValue& m : one.metrics) {
      if (m.name == "stalled_reads") r.stalled += m.value;
      if (m.name == "longest_read_s") r.longest_s = std::max(r.longest_s, m.value);
    }
  r.nodes = nodes_of(*whole, plan);
  r.rates = loader_rates(points, *whole);
  r.proof = limit_of(r, whole_is_proven);
  r.on_gpus = decoding_on_gpus(points);
  r.tier = tier_of(points);
  if (whole_is_proven) {
    look_at_saves(points, *whole, plan.job->step.target_utilization, r);
    predict(points, *whole->point, r);
  }
  // Few repetitions of one session vary less than a long epoch would: their own windows vary more.
  r.utilization.low = std::min(r.utilization.low, value(whole, "accelerator_utilization_low"));
  r.utilization.high = std::max(r.utilization.high, value(whole, "accelerator_utilization_high"));
  widen(r.utilization);
  if (r.predicted) widen(r.predicted->utilization);
  const auto fill = proven(whole, "first_step_wait_s"), wall = proven(whole, "wall_clock_utilization");
  if (fill && wall)
    r.wall_clock = {.steps = param(*whole->point, "epoch_steps"),
                    .fill_s = fill->value * plan.job->step.micro_batch / param(*whole->point, "batch_size"),
                    .by_rule = r.utilization.value,
                    .utilization = wall->value};
  if (const auto trials = loader_trials(plan, points)) r.tuning = tune_loader(*plan.job, *trials);
  for (const PointResult& p : points)
    if (has_unproven(p)) r.not_cold.push_back(p.point->id);
  return r;
}

std::vector<std::string> describe(const Rehearsal& r) {
  std::vector<std::string> all = r.tuning ? r.tuning->reported : std::vector<std::string>{};  // the answer first
  all.push_back(fmt::format(
      "GPUs compute {} of the time{}, wait for data {}, for the host {}{}; {:.0f} % of the "
      "batches that can be are ready when a step begins",
      format_percent(r.utilization.value), in_bounds(r.utilization, format_percent), format_percent(r.stall),
      format_percent(r.host),
      r.copies ? fmt::format(", for copies to them {}", format_percent(*r.copies)) : std::string(), 100 * r.ready));

  if (r.wall_clock)
    all.push_back(fmt::format(
        "that excludes filling the pipeline, as MLPerf's rule does. An epoch of {:.0f} steps begins with {} of it, so "
        "GPUs compute {} of its wall clock. The verdict uses this share",
        r.wall_clock->steps, format_quantity(r.wall_clock->fill_s, Dimension::seconds),
        format_percent(r.wall_clock->utilization)));
  if (r.nodes) all.push_back(reported_for(*r.nodes));
  if (r.stalled > 0)
    all.push_back(
        fmt::format("storage stalled: {:.0f} sample{} kept a worker for longer than stalled_after, the longest "
                    "for {}; the notes of {} name files and places, and the time is in the utilization",
                    r.stalled, r.stalled == 1 ? "" : "s", format_quantity(r.longest_s, Dimension::seconds), r.point));
  all.push_back(r.proof.sentence);
  if (!r.calibration.empty()) all.push_back(r.calibration);
  if (r.decode_headroom)
    all.push_back(
        fmt::format("decoded by headrace's own decoder: the result holds for decoders that take up to {:.1f} times as "
                    "long; --calibrate pillow measures the job's own",
                    std::max(1.0, *r.decode_headroom)));
  if (r.proof.limit != Limit::unknown && r.proof.limit != Limit::workers && r.by_times != to_string(r.proof.limit))
    all.push_back(fmt::format("where its time went named {}: counter-experiments did not confirm it", r.by_times));
  if (!r.not_cold.empty())
    all.push_back(
        fmt::format("in some repetitions of {} it was not proven that all data came from storage: nothing is concluded "
                    "from those repetitions",
                    fmt::join(r.not_cold, ", ")));
  if (r.predicted)
    all.push_back(
        fmt::format("predicted from {}, which gave {} samples/s: {}{} ({}); rehearsed {}{}: {:+.1f} "
                    "points, {}",
                    r.predicted_from, per_second(r.storage_alone.value), format_percent(r.predicted->utilization.value),
                    in_bounds(r.predicted->utilization, format_percent), r.predicted->formula,
                    format_percent(r.predicted->utilization.value - *r.error),
                    r.saves && r.copies ? " without checkpoints and copies"
                    : r.saves           ? " without checkpoints"
                    : r.copies          ? " without copies"
                                        : "",
                    100 * *r.error, r.grade));
  if (r.saves) all.push_back(reported_for(*r.saves, r.utilization));
  if (r.tier) all.push_back(reported_for(*r.tier, r.rates.taken));
  if (r.on_gpus) all.push_back(reported_for(*r.on_gpus, r.rates.taken / (r.nodes ? r.nodes->count : 1)));
  return all;
}

std::vector<std::string> describe_rehearsal(const RunResult& run) {
  std::vector<std::string> all = run.rehearsal ? describe(*run.rehearsal) : std::vector<std::string>{};
  if (run.rules)
    for (std::string& sentence : describe(*run.rules)) all.push_back(std::move(sentence));
  return all;
}

}  // namespace headrace::engine
