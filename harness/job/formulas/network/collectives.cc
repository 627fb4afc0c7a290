// Collectives: bus bandwidth and times of rings and trees (F1-F5).
#include <cmath>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, reduce, send_recv };

Input collective() {
  return Input("collective", "op")
      .one_of({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "send_recv"});
}

/// F1: f(op): 2 * (n - 1) / n all_reduce; (n - 1) / n all_gather, reduce_scatter, all_to_all; 1 otherwise [ratio].
/// busbw = algbw * f compares with the rate of one link for any n.
double busbw_factor(Collective op, double ranks) {
  switch (op) {
    case Collective::all_reduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
      return (ranks - 1) / ranks;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
      return 1;
  }
  return 1;
}
const Define<busbw_factor> f1{{
    .id = "F1",
    .name = "busbw_factor",
    .title = "Bus-bandwidth factor",
    .equation = "f(op): 2 * (n - 1) / n all_reduce; (n - 1) / n all_gather, reduce_scatter, "
                "all_to_all; 1 otherwise",
    .unit = "ratio",
    .validity = "For the full buffer: the output of all_gather, the input of reduce_scatter. busbw "
                "= algbw * f.",
    .source = "NCCL-T",
    .inputs = {collective(), Input("ranks_count", "n").whole()},
    .example = "collective=all_reduce ranks_count=8",
}};

/// F2: t = S * f(op, n) / busbw [s]. Time of a collective whose size makes it bandwidth-bound.
double collective_time(Collective op, double message, double ranks, double busbw) {
  return message * busbw_factor(op, ranks) / busbw;
}
const Define<collective_time> f2{{
    .id = "F2",
    .name = "collective_time",
    .title = "Collective time",
    .equation = "S * f(op, n) / busbw",
    .unit = "s",
    .validity = "Sizes bound by bandwidth; f from F1.",
    .source = "NCCL-T",
    .inputs = {collective(),
               {"message_bytes", "S"},
               Input("ranks_count", "n").whole(),
               Input("busbw_bytes_per_s", "busbw").above(0)},
    .example = "collective=all_reduce message_bytes=14GB ranks_count=64 busbw_bytes_per_s=50GB/s",
}};

/// F3: t = 2 * (n - 1) * alpha + 2 * (n - 1) / n * S / B [s]. Ring all-reduce; alpha per hop, B per
/// rank.
double allreduce_ring_time(double message, double ranks, double hop_latency, double link) {
  return 2 * (ranks - 1) * hop_latency + 2 * (ranks - 1) / ranks * message / link;
}
const Define<allreduce_ring_time> f3{{
    .id = "F3",
    .name = "allreduce_ring_time",
    .title = "Ring all-reduce",
    .equation = "2 * (n - 1) * alpha + 2 * (n - 1) / n * S / B",
    .unit = "s",
    .validity = "Latency and bandwidth model with measured alpha.",
    .source = "THAKUR; NCCL",
    .inputs = {{"message_bytes", "S"},
               Input("ranks_count", "n").whole(),
               {"hop_latency_s", "alpha"},
               Input("link_bytes_per_s", "B").above(0)},
    .example = "message_bytes=1MiB ranks_count=64 hop_latency_s=5us link_bytes_per_s=50GB/s",
}};

/// F4: t = 2 * log2(n) * alpha + 2 * S / B [s]. Double-tree all-reduce, pipelined.
double allreduce_tree_time(double message, double ranks, double hop_latency, double link) {
  return 2 * std::log2(ranks) * hop_latency + 2 * message / link;
}
const Define<allreduce_tree_time> f4{{
    .id = "F4",
    .name = "allreduce_tree_time",
    .title = "Double-tree all-reduce",
    .equation = "2 * log2(n) * alpha + 2 * S / B",
    .unit = "s",
    .validity = "Pipelined tree; NCCL's own model takes a bandwidth 8 to 15 % lower.",
    .source = "NCCL",
    .inputs = {{"message_bytes", "S"},
               Input("ranks_count", "n").whole(),
               {"hop_latency_s", "alpha"},
               Input("link_bytes_per_s", "B").above(0)},
    .example = "message_bytes=1MiB ranks_count=64 hop_latency_s=5us link_bytes_per_s=50GB/s",
}};

/// F5: S* = n * (n - 1 - log2(n)) * alpha * B [B]. Above it the ring is faster than the tree.
double ring_tree_crossover(double ranks, double hop_latency, double link) {
  return ranks * (ranks - 1 - std::log2(ranks)) * hop_latency * link;
}
const Define<ring_tree_crossover> f5{{
    .id = "F5",
    .name = "ring_tree_crossover",
    .title = "Ring-tree crossover",
    .equation = "n * (n - 1 - log2(n)) * alpha * B",
    .unit = "B",
    .validity = "The same B for both.",
    .source = "derived from F3 and F4",
    .inputs = {Input("ranks_count", "n").whole(), {"hop_latency_s", "alpha"}, Input("link_bytes_per_s", "B").above(0)},
    .example = "ranks_count=64 hop_latency_s=5us link_bytes_per_s=50GB/s",
}};

}  // namespace
}  // namespace headrace::job
