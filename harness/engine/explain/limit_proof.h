// Which stage of an input pipeline limits it, proven by counter-experiments: the rate of the same loader without one
// stage.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A measured value and its bounds.
struct Estimate {
  double value = 0, low = 0, high = 0;
};

/// " [0.8, 0.9]" in the words of `shown`; "" where there are no bounds, as of one repetition.
template <typename Shown>
std::string in_bounds(const Estimate& e, Shown shown) {
  return e.low == e.high ? "" : " [" + shown(e.low) + ", " + shown(e.high) + "]";
}

/// Samples per second of one loader. Unmeasured ones are empty.
struct LoaderRates {
  double taken = 0;                      // by GPUs that never wait
  double handed = 0;                     // at most, by the GPUs' own processes, which take batches; 0 = not known
  bool starved = false;                  // they waited in the job's own pipeline, beyond its bounds
  double taking_share = 0;               // the rest of those processes' time, in which they take batches
  std::optional<Estimate> loader;        // as it is, GPUs taking batches as fast as they come
  std::optional<Estimate> no_decode;     // reads alone; empty also where nothing is decoded
  std::optional<Estimate> in_memory;     // storage is not waited for
  std::optional<Estimate> more_workers;  // twice the workers
  std::vector<std::string>
      unproven;  // of the first and the last: points that were measured and prove nothing, as their
                 // cache state was not proven
};

enum class Limit {
  unknown,      // nothing that was taken away changed anything beyond its bounds
  gpus,         // the loader's rate equals theirs: nothing is gained there
  storage,      // without waiting for it the loader gives more
  decoding,     // without it the loader gives more
  checkpoints,  // without them the GPUs compute more, and nothing else limits
  copies,       // to the GPUs: they were timed, and nothing else limits
  processes,    // of the GPUs: taking batches keeps them busy
  workers,      // neither storage nor processors are used up: each worker does one thing after the other
};
constexpr std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::unknown:
      return "unknown";
    case Limit::gpus:
      return "gpus";
    case Limit::storage:
      return "storage";
    case Limit::decoding:
      return "decoding";
    case Limit::checkpoints:
      return "checkpoints";
    case Limit::copies:
      return "copies";
    case Limit::processes:
      return "processes";
    case Limit::workers:
      return "workers";
  }
  return "";
}

/// The limit for fed GPUs: they wait for less than that they could gain.
inline constexpr double kFed = 0.95;

/// Does `more` give more than `less`, beyond the bounds of both and by more than is worth significant?
bool gives_more(const Estimate& more, const Estimate& less);

/// The limit that the rates prove, and a sentence with the proof.
struct LimitProof {
  Limit limit = Limit::unknown;
  std::string sentence;
};
LimitProof prove_limit(const LoaderRates& rates);

}  // namespace headrace
