// Collective operations of a group of ranks, as libraries for them do them: MPI in host memory,
// NCCL in GPU memory. No vendor's header is here. Header-only, so that plugins can use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
  scatter
};

/// A name that another one ends with is behind it.
inline constexpr std::array<std::pair<Collective, std::string_view>, 9> kCollectiveNames{{
    {Collective::all_reduce, "all_reduce"},
    {Collective::all_gather, "all_gather"},
    {Collective::reduce_scatter, "reduce_scatter"},
    {Collective::broadcast, "broadcast"},
    {Collective::all_to_all, "all_to_all"},
    {Collective::send_recv, "send_recv"},
    {Collective::reduce, "reduce"},
    {Collective::gather, "gather"},
    {Collective::scatter, "scatter"},
}};

/// Does the operation's size count the whole buffer of n parts, of which each rank brings
/// (all_gather, gather) or gets (reduce_scatter, scatter) one? Then a message must be a multiple of n elements.
constexpr bool has_parts(Collective c) {
  return c == Collective::all_gather || c == Collective::reduce_scatter || c == Collective::all_to_all ||
         c == Collective::gather || c == Collective::scatter;
}
/// Are numbers of several ranks made one?
constexpr bool reduces(Collective c) {
  return c == Collective::all_reduce || c == Collective::reduce_scatter || c == Collective::reduce;
}

/// busbw / algbw of `n` ranks (formula F1: nccl-tests, PERFORMANCE.md): what each link must carry
/// for each byte of the operation's size.
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
  /// Sums of float. `count` elements: of the message, or of the whole buffer of n parts
  /// (has_parts). `in` and `out` hold that many each, or are the same memory: in place. send_recv
  /// sends to the next rank and receives from the one before; broadcast is from rank 0, which sends
  /// out of `in` and leaves its `out` as it is; reduce and gather are to rank 0, scatter is from it, and in
  /// place a rank's own part lies where it is in the whole. Blocks.
  /// Throws RunError that says what MPI says.
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
