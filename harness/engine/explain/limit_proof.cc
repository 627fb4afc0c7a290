#include "harness/engine/explain/limit_proof.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/base/units.h"

namespace headrace {
namespace {

constexpr double kWorthReporting = 1.1;
constexpr double kBusy = 0.9;  // of the time of the GPUs' processes: others wait for them

std::string rate(double value) {
  const std::string text = format_quantity(value, Dimension::per_second);
  return text.substr(0, text.find("/s"));
}
std::string rate(const Estimate& b) { return rate(b.value); }

bool helps(const std::optional<Estimate>& changed, const Estimate& loader) {
  return changed && gives_more(*changed, loader);
}

/// Storage limits: its rate, the GPUs' rate, and the rate with the data in memory.
std::string storage_sentence(const LoaderRates& r) {
  std::string text =
      fmt::format("storage is the limit: it gives {} samples/s", rate(r.no_decode ? *r.no_decode : *r.loader));
  text += fmt::format(", where the GPUs would take {}", rate(r.taken));
  return text + fmt::format("; with the data in memory the same loader reaches {}", rate(*r.in_memory));
}

std::string decoding_sentence(const LoaderRates& r) {
  std::string text = fmt::format("decoding is the limit: the loader gives {} samples/s, where the GPUs would take {}",
                                 rate(*r.loader), rate(r.taken));
  text += fmt::format("; without decoding it reaches {}", rate(*r.no_decode));
  if (r.in_memory) text += fmt::format(", with the data in memory {}", rate(*r.in_memory));
  return text;
}

std::string processes_sentence(const LoaderRates& r) {
  return fmt::format(
      "taking batches is the limit: the GPUs' own processes can pass on {} samples/s at most, and pass on {}, where "
      "the GPUs "
      "would take {}. Larger or cheaper batches (loader.cpu_time_per_batch) would help",
      rate(r.handed), rate(*r.loader), rate(r.taken));
}

std::string workers_sentence(const LoaderRates& r) {
  return fmt::format(
      "too few workers are the limit: they give {} samples/s, where the GPUs would take {}; twice as many reach {}: "
      "neither "
      "storage nor processors are used up",
      rate(*r.loader), rate(r.taken), rate(*r.more_workers));
}

std::string unproven_sentence(const LoaderRates& r) {
  return fmt::format("not proven: {} may have read from memory, and without {} no limit can be named",
                     fmt::join(r.unproven, " and "), r.unproven.size() > 1 ? "them" : "it");
}

}  // namespace

bool gives_more(const Estimate& more, const Estimate& less) {
  return more.low > less.high && more.value > kWorthReporting * less.value;
}

LimitProof prove_limit(const LoaderRates& r) {
  if (!r.loader)
    return {Limit::unknown,
            r.unproven.empty() ? "not proven: the loader alone was not measured" : unproven_sentence(r)};
  const Estimate& loader = *r.loader;
  // GPUs that waited are not fed, whatever short repetitions without them give: those include data that was read ahead.
  if (loader.low >= kFed * r.taken && !r.starved)
    return {Limit::gpus,
            fmt::format("the GPUs are the limit: they take {} samples/s, and the loader alone reaches {}; faster "
                        "storage or more workers would gain nothing",
                        rate(r.taken), rate(loader))};
  if (loader.high >= kFed * r.taken && !r.starved)
    return {Limit::unknown, fmt::format("not proven: the loader alone gives {} to {} samples/s, about what the GPUs "
                                        "take, {}",
                                        rate(loader.low), rate(loader.high), rate(r.taken))};
  // Not by their output: where others want the processors, they are as busy and hand on less.
  if (r.handed != 0 && r.taking_share >= kBusy) return {Limit::processes, processes_sentence(r)};
  if (helps(r.more_workers, loader)) return {Limit::workers, workers_sentence(r)};
  // More workers might help more than anything else: that has to be ruled out first.
  if (!r.more_workers && !r.unproven.empty()) return {Limit::unknown, unproven_sentence(r)};
  const bool memory = helps(r.in_memory, loader), no_decode = helps(r.no_decode, loader);
  if (memory && no_decode) {
    const bool storage = r.in_memory->value >= r.no_decode->value;
    LimitProof both{storage ? Limit::storage : Limit::decoding, storage ? storage_sentence(r) : decoding_sentence(r)};
    both.sentence += storage ? "; decoding takes its part, too" : "; reading takes its part, too";
    return both;
  }
  if (memory) return {Limit::storage, storage_sentence(r)};
  if (no_decode) return {Limit::decoding, decoding_sentence(r)};
  if (loader.value >= kFed * r.taken)
    return {Limit::unknown,
            fmt::format("not proven: the loader alone gives {} samples/s, which is what the GPUs take, {}, and "
                        "they wait all the same: batches come unevenly, and more of them ahead may help",
                        rate(loader), rate(r.taken))};
  const bool tried = r.no_decode || r.in_memory || r.more_workers;
  return {Limit::unknown,
          fmt::format("not proven: the loader alone gives {} samples/s, where the GPUs would take {}, "
                      "and no counter-experiment {}",
                      rate(loader), rate(r.taken), tried ? "gave more than that beyond its bounds" : "was measured")};
}

}  // namespace headrace
