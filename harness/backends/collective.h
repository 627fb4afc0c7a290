// Collective operations of a group of ranks: MPI in host memory, NCCL in GPU memory. No vendor's header is here.
// Header-only, so that plugins can use it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace {

enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  all_to_all,
  send_recv,
  reduce,
  gather,
  scatter,
  all_to_all_v
};

/// A name that another one ends with is behind it.
inline constexpr std::array<std::pair<Collective, std::string_view>, 10> kCollectiveNames{{
    {Collective::all_reduce, "all_reduce"},
    {Collective::all_gather, "all_gather"},
    {Collective::reduce_scatter, "reduce_scatter"},
    {Collective::broadcast, "broadcast"},
    {Collective::all_to_all, "all_to_all"},
    {Collective::send_recv, "send_recv"},
    {Collective::reduce, "reduce"},
    {Collective::gather, "gather"},
    {Collective::scatter, "scatter"},
    {Collective::all_to_all_v, "all_to_all_v"},
}};

/// Does the size count the whole buffer of n parts? Each rank brings one (all_gather, gather) or gets one
/// (reduce_scatter, scatter). Then a message must be a multiple of n elements.
constexpr bool has_parts(Collective c) {
  return c == Collective::all_gather || c == Collective::reduce_scatter || c == Collective::all_to_all ||
         c == Collective::gather || c == Collective::scatter || c == Collective::all_to_all_v;
}
/// Elements of all_to_all_v: where the part for each of `n` ranks begins, and the end. Like tokens to experts: sizes of
/// parts fall geometrically, the largest is `imbalance` times the mean (1 to n). Large ones are spread over the ranks.
inline std::vector<std::uint64_t> uneven_parts(std::uint64_t count, unsigned n, double imbalance) {
  double low = 0, high = 1;  // what each part is of the one before
  const auto largest = [n](double ratio) { return n * (1 - ratio) / (1 - std::pow(ratio, n)); };
  for (unsigned i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (middle < 1 && largest(middle) > imbalance ? low : high) = middle;
  }
  unsigned step = std::max(1u, static_cast<unsigned>(0.618 * n));
  while (std::gcd(step, n) != 1) ++step;
  std::vector<double> shares(n);
  double sum = 0;
  for (unsigned i = 0; i < n; ++i) sum += shares[std::uint64_t{i} * step % n] = imbalance > 1 ? std::pow(high, i) : 1;
  std::vector<std::uint64_t> begins{0};
  double before = 0;
  for (unsigned i = 0; i + 1 < n; ++i)
    begins.push_back(static_cast<std::uint64_t>((before += shares[i]) / sum * static_cast<double>(count)));
  begins.push_back(count);
  return begins;
}
/// Elements of the largest of them.
inline std::uint64_t largest_part(const std::vector<std::uint64_t>& begins) {
  std::uint64_t most = 0;
  for (std::size_t i = 1; i < begins.size(); ++i) most = std::max(most, begins[i] - begins[i - 1]);
  return most;
}
/// Are numbers of several ranks made one?
constexpr bool reduces(Collective c) {
  return c == Collective::all_reduce || c == Collective::reduce_scatter || c == Collective::reduce;
}

/// busbw / algbw of `n` ranks (formula F1: nccl-tests, PERFORMANCE.md): bytes on each link per byte of the operation's
/// size.
constexpr double bus_factor(Collective c, unsigned n) {
  const double share = n > 1 ? (n - 1.0) / n : 0;
  if (c == Collective::all_reduce) return 2 * share;
  return has_parts(c) ? share : 1;
}

/// A group of ranks of one MPI library. Calls are made by all members in the same order.
class MpiGroup {
 public:
  virtual ~MpiGroup() = default;
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  virtual void barrier() = 0;
  /// Sums of float. `count` elements: of the message, or of the whole buffer of n parts (has_parts). `in` and `out`
  /// hold that many each, or are the same memory: in place. send_recv sends to the next rank and receives from the one
  /// before. Broadcast is from rank 0, which sends out of `in` and leaves its `out` as it is. Reduce and gather are to
  /// rank 0, scatter is from it. In place a rank's own part lies where it is in the whole. Blocks. Throws RunError that
  /// says what MPI says.
  virtual void run(Collective what, const float* in, float* out, std::uint64_t count) = 0;
};

/// An MPI library that launched this process with others.
class MessagePassing {
 public:
  virtual ~MessagePassing() = default;
  /// MPI_Init_thread: once, in the process that measures. Waits for the other processes, for ever
  /// if need be: call it where a deadline is kept. Throws RunError.
  virtual void start() = 0;
  /// MPI_Finalize; waits as start() does.
  virtual void stop() = 0;
  virtual unsigned rank() const = 0;
  virtual unsigned size() const = 0;
  /// What each rank says. Waits as start() does.
  virtual std::vector<std::string> all_gather(const std::string& own) = 0;
  /// The ranks named, in this order. Called by them alone.
  virtual std::unique_ptr<MpiGroup> group(const std::vector<unsigned>& ranks) = 0;
  /// Version and settings in force: for the run file. Before start(), too.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
};

}  // namespace headrace
