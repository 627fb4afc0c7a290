#include "harness/engine/explain/loader_tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "harness/base/units.h"
#include "harness/job/formula.h"

namespace headrace {
namespace {

using job::apply;
using job::Job;
using job::LoaderKind;

constexpr double kGains = 1.05;  // times the rate of fewer workers: less is nothing gained

std::vector<TriedLoader> rising(const LoaderTrials& trials, double TriedLoader::*same, double value,
                                double TriedLoader::*by) {
  std::vector<TriedLoader> all;
  if ((*trials.own).*same == value) all.push_back(*trials.own);
  for (const TriedLoader& one : trials.others)
    if (one.*same == value) all.push_back(one);
  std::ranges::sort(all, {}, by);
  return all;
}

/// With the job's prefetch_factor, by workers.
std::vector<TriedLoader> by_workers(const LoaderTrials& trials) {
  return rising(trials, &TriedLoader::prefetch_factor, trials.own->prefetch_factor, &TriedLoader::workers);
}

/// With that many workers, by prefetch_factor.
std::vector<TriedLoader> by_prefetch(const LoaderTrials& trials, double workers) {
  return rising(trials, &TriedLoader::workers, workers, &TriedLoader::prefetch_factor);
}

bool reaches(const TriedLoader& one, double target) { return one.utilization.low >= target; }

/// The least of a rising series that is enough, and the greatest below it, or of all, that is not.
struct Bracket {
  const TriedLoader* enough = nullptr;
  const TriedLoader* too_few = nullptr;
};

Bracket bracket(std::vector<TriedLoader>&&, double) = delete;  // it points into the series
Bracket bracket(const std::vector<TriedLoader>& rising, double target) {
  Bracket found;
  for (const TriedLoader& one : rising) {
    if (reaches(one, target)) {
      found.enough = &one;
      return found;
    }
    found.too_few = &one;
  }
  return found;
}

/// The first of `candidates` strictly between that is `least` or more; else the last one between.
std::optional<double> between(const std::vector<double>& candidates, double low, double high, double least) {
  std::optional<double> last;
  for (const double one : candidates) {
    if (one <= low || one >= high) continue;
    last = one;
    if (one >= least) break;
  }
  return last;
}

/// Did the last workers that were added give nothing more?
bool gains_nothing(const std::vector<TriedLoader>& rising) {
  if (rising.size() < 2) return false;
  const TriedLoader& more = rising.back();
  double best = 0;
  for (const TriedLoader& one : rising)
    if (&one != &more) best = std::max(best, one.rate);
  return more.rate < kGains * best;
}

/// Do that many workers give what the GPUs need, on average?
bool fast_enough(const LoaderTrials& trials, double workers, double target) {
  return trials.alone * std::min(1.0, workers / trials.own->workers) >= trials.taken * target;
}

/// The next larger prefetch_factor with that many workers, which miss the target with those that were tried.
std::optional<double> more_ahead(const LoaderTrials& trials, double workers, double target) {
  const std::vector<TriedLoader> all = by_prefetch(trials, workers);
  const auto [enough, too_few] = bracket(all, target);
  const double most = too_few == nullptr ? trials.own->prefetch_factor : too_few->prefetch_factor;
  return enough == nullptr ? between(trials.prefetch, most, INFINITY, most) : std::nullopt;
}

/// Is it not the loader's rate that is missing, and does another prefetch_factor mend that, or may one?
bool prefetch_helps(const LoaderTrials& trials, double target) {
  const std::vector<TriedLoader> all = by_prefetch(trials, trials.own->workers);
  return fast_enough(trials, trials.own->workers, target) &&
         (bracket(all, target).enough != nullptr || more_ahead(trials, trials.own->workers, target));
}

/// As the framework of the job's loader has it.
std::string setting(const Job& job, const TriedLoader& one) {
  const double batch = job.step.micro_batch;
  if (job.loader.kind == LoaderKind::in_flight)
    return fmt::format("{:.0f} reading thread{} for each GPU, with as many requests in flight as were rehearsed",
                       one.workers, one.workers > 1 ? "s" : "");
  if (job.loader.kind == LoaderKind::tfdata)
    return fmt::format("dataset.map(decode, num_parallel_calls={:.0f}).batch({:.0f}).prefetch({:.0f})", one.workers,
                       batch, one.prefetch_factor);
  return fmt::format(
      "DataLoader(dataset, batch_size={:.0f}, num_workers={:.0f}, prefetch_factor={:.0f}, persistent_workers=True)",
      batch, one.workers, one.prefetch_factor);
}

const char* workers_word(const Job& job) {
  return job.loader.kind == LoaderKind::tfdata      ? "num_parallel_calls"
         : job.loader.kind == LoaderKind::in_flight ? "threads"
                                                    : "num_workers";
}

/// Not rounded up: a missed target must not look reached.
std::string ratio(double value) { return fmt::format("{:.2f}", std::floor(100 * value) / 100); }

std::string utilization(const TriedLoader& one) { return "AU " + ratio(one.utilization.value); }

std::string workers(double count) { return fmt::format("{:.0f} worker{}", count, count == 1 ? "" : "s"); }

std::string per_second(double value) {
  const std::string text = format_quantity(value, Dimension::per_second);
  return text.substr(0, text.find("/s"));
}

/// The advice, and its rate compared with the job's setting.
std::string answer(const Job& job, const TriedLoader& own, const TriedLoader& use, double target) {
  const std::string gain = fmt::format("{} -> {} samples/s, {} -> {}", per_second(own.rate), per_second(use.rate),
                                       utilization(own), ratio(use.utilization.value));
  const std::string with = use.prefetch_factor == own.prefetch_factor
                               ? std::string()
                               : fmt::format(" and prefetch_factor={:.0f}", use.prefetch_factor);
  const bool alone = job.loader.workers_per_gpu == 0.0;  // no worker: the training process reads itself
  if (use.workers > own.workers)
    return fmt::format("{} {} too few: use {}={:.0f}{} ({})", alone ? "no worker process" : workers(own.workers),
                       own.workers == 1 ? "is" : "are", workers_word(job), use.workers, with, gain);
  if (alone && use.prefetch_factor > own.prefetch_factor)
    return fmt::format("no worker process is too few: use {}=1{} ({})", workers_word(job), with, gain);
  if (use.workers == own.workers && use.prefetch_factor > own.prefetch_factor)
    return fmt::format("{} read fast enough, but {:.0f} batches ahead are too few: use prefetch_factor={:.0f} ({})",
                       workers(own.workers), own.prefetch_factor, use.prefetch_factor, gain);
  if (use.workers < own.workers)
    return fmt::format("{} are more than it takes: {}={:.0f}{} reaches {} of {:.2f} asked for", workers(own.workers),
                       workers_word(job), use.workers, with, utilization(use), target);
  if (use.prefetch_factor < own.prefetch_factor)
    return fmt::format("{} are as many as it takes, and prefetch_factor={:.0f} reaches {} of {:.2f} asked for",
                       workers(own.workers), use.prefetch_factor, utilization(use), target);
  if (alone) return fmt::format("no worker process is enough: {} of {:.2f} asked for", utilization(own), target);
  return fmt::format("{} with {:.0f} batches ahead reach {} of {:.2f} asked for", workers(own.workers),
                     own.prefetch_factor, utilization(own), target);
}

std::string no_answer(const std::vector<TriedLoader>& tried, double target, bool gained_nothing) {
  const auto best = std::ranges::max_element(tried, {}, [](const TriedLoader& one) { return one.utilization.low; });
  std::vector<std::string> numbers;
  for (const TriedLoader& one : tried)
    if (const std::string text = fmt::format("{:.0f}", one.workers); numbers.empty() || numbers.back() != text)
      numbers.push_back(text);
  return fmt::format(
      "no number of workers that was tried ({}) reaches AU {:.2f}: {} with {:.0f} batches ahead reach {} ({} "
      "samples/s){}",
      fmt::join(numbers, ", "), target, workers(best->workers), best->prefetch_factor, utilization(*best),
      per_second(best->rate), gained_nothing ? "; more workers gain nothing" : "");
}

/// With fewer workers: their rates, where they were tried, and the untried ones.
std::string fewer(const TriedLoader* too_few, double advised) {
  std::string text;
  const double most = too_few == nullptr ? 0 : too_few->workers;
  if (too_few != nullptr) {
    const std::string low = ratio(too_few->utilization.low), high = ratio(too_few->utilization.high);
    text = fmt::format("{} {} AU {}{}", workers(most), most == 1 ? "reaches" : "reach", low,
                       low == high ? "" : " to " + high);
  }
  if (advised - most <= 1) return text;
  if (!text.empty()) text += "; ";
  return text + (most == 0             ? fmt::format("fewer than {:.0f} were not tried", advised)
                 : advised - most == 2 ? fmt::format("{:.0f} were not tried", most + 1)
                                       : fmt::format("{:.0f} to {:.0f} were not tried", most + 1, advised - 1));
}

/// The cost of the advice, and its open questions.
std::string not_tried(const LoaderTrials& trials, const LoaderTuning& t) {
  const std::vector<TriedLoader> all = by_workers(trials);
  const double used = t.advised ? t.advised->workers : all.back().workers;
  std::vector<std::string> open;
  if (t.advised)
    open.push_back(fewer(bracket(all, t.target).too_few, used));
  else if (!gains_nothing(all))
    open.push_back(fmt::format("more than {} were not tried", workers(used)));
  if (by_prefetch(trials, used).size() < 2)
    open.push_back(fmt::format("other prefetch_factors than {:.0f} were not tried", trials.own->prefetch_factor));
  if (t.advised)
    open.push_back(
        fmt::format("it takes up to {} of prefetched batches{}", format_quantity(t.memory, Dimension::bytes),
                    t.cores > 0 ? fmt::format(", and {:.0f} core{} to decode", t.cores, t.cores > 1 ? "s" : "") : ""));
  if (trials.client_cache_unseen) open.emplace_back("that all data came from storage cannot be proven here");
  std::erase(open, "");
  return fmt::format("{}", fmt::join(open, "; "));
}

}  // namespace

std::optional<double> next_workers(const LoaderTrials& trials, double target) {
  if (!trials.own) return std::nullopt;
  const std::vector<TriedLoader> all = by_workers(trials);
  const auto [enough, too_few] = bracket(all, target);
  // That many at least, as no worker does more together with others than alone.
  const double by_rate =
      too_few == nullptr ? 0 : std::ceil(too_few->workers * target / too_few->utilization.high - 0.01);
  if (enough == nullptr) {
    if (gains_nothing(all) || prefetch_helps(trials, target)) return std::nullopt;
    return between(trials.workers, too_few->workers, INFINITY, by_rate);
  }
  const double low = too_few == nullptr ? 0 : too_few->workers;
  const double by_time = std::ceil(trials.own->workers * trials.busy_share * target - 0.01);
  const auto untried = between(trials.workers, low, enough->workers, std::max(by_rate, by_time));
  // Fewer than can be enough by their rate need no try.
  return untried && *untried >= by_rate ? untried : std::nullopt;
}

std::optional<LoaderSetting> next_prefetch(const LoaderTrials& trials, double target) {
  if (!trials.own) return std::nullopt;
  const auto with = [](double workers, std::optional<double> ahead) {
    return ahead ? std::optional(LoaderSetting{workers, *ahead}) : std::nullopt;
  };
  const std::vector<TriedLoader> all = by_workers(trials);
  const TriedLoader* const reaching = bracket(all, target).enough;
  if (reaching == nullptr) {
    const double own = trials.own->workers;
    if (!fast_enough(trials, own, target)) return std::nullopt;
    if (const auto more = with(own, more_ahead(trials, own, target))) return more;
  }
  double used = reaching == nullptr ? trials.own->workers : reaching->workers;
  const double fewer = used - 1;
  if (reaching != nullptr && fast_enough(trials, fewer, target)) {
    if (const auto more = with(fewer, more_ahead(trials, fewer, target))) return more;
    const std::vector<TriedLoader> of_fewer = by_prefetch(trials, fewer);
    if (bracket(of_fewer, target).enough != nullptr) used = fewer;
  }
  const std::vector<TriedLoader> tried = by_prefetch(trials, used);
  const auto [enough, too_few] = bracket(tried, target);
  if (enough == nullptr) return std::nullopt;
  return with(used, between(trials.prefetch, too_few == nullptr ? 0 : too_few->prefetch_factor, enough->prefetch_factor,
                            INFINITY));
}

LoaderTuning tune_loader(const Job& job, const LoaderTrials& trials) {
  LoaderTuning t;
  t.target = job.step.target_utilization;
  if (!trials.own) {
    t.reported.emplace_back(
        "no loader setting is advised: the job's own was not measured on data that came from storage");
    return t;
  }
  t.tried = trials.others;
  t.tried.push_back(*trials.own);
  std::ranges::sort(t.tried, {}, [](const TriedLoader& one) { return std::tuple(one.workers, one.prefetch_factor); });
  const auto found = std::ranges::find_if(t.tried, [&](const TriedLoader& one) { return reaches(one, t.target); });
  if (found == t.tried.end()) {
    t.reported = {no_answer(t.tried, t.target, gains_nothing(by_workers(trials))), not_tried(trials, t)};
    return t;
  }
  t.advised = *found;
  t.memory = apply("B4", {{"ranks_count", trials.gpus},
                          {"workers_count", found->workers},
                          {"prefetch_factor_count", found->prefetch_factor},
                          {"batch_samples_count", job.step.micro_batch},
                          {"decoded_sample_bytes", job.dataset.decoded_size.value_or(job.dataset.sample_size)}})
                 .value();
  const double cpu_time_s = trials.cpu_time_s != 0 ? trials.cpu_time_s : job.dataset.cpu_time_per_sample.value_or(0);
  if (cpu_time_s != 0)
    t.cores = apply("B2", {{"node_sample_rate_per_s", trials.taken * t.target},
                           {"cpu_time_per_sample_s", cpu_time_s},
                           {"target_utilization_ratio", 1}})
                  .value();
  t.reported = {answer(job, *trials.own, *t.advised, t.target), setting(job, *t.advised), not_tried(trials, t)};
  return t;
}

}  // namespace headrace
