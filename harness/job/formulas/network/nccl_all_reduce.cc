// All-reduce as NCCL runs it: protocols LL, LL128 and Simple, algorithms ring, tree and NVLS (F25-F28). Times of
// latency and bandwidth with the constants of NCCL's own model, github.com/NVIDIA/nccl (v2.30), src/graph/tuning.cc.
// Sizes of chunks from src/enqueue.cc and src/transport/nvls.cc, bandwidths of channels from src/graph/search.cc. No
// constant is fitted to a measurement.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

constexpr double kMicro = 1e-6, kGiga = 1e9;

enum class Protocol { ll, ll128, simple };
enum class Generation { ampere, hopper, blackwell };
enum class Algorithm { any, ring, tree, nvls };
/// The kind of a time: NCCL's own estimate. The least, where trees reach all of their bandwidth and no chunk waits for
/// another. The most, where a hop over the network takes as long as Simple's, by any protocol.
enum class Estimate { nccl, least, most };

/// By protocol [us]: the fixed time of an operation, and of one hop over NVLink or the network.
struct Latencies {
  std::array<double, 3> base, nvlink, network;
};
constexpr Latencies kRing{{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {2.7, 4.0, 14.0}};
constexpr Latencies kTree{{6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {5.0, 8.5, 14.0}};
constexpr double kNvlsLatency = 25, kNvlsTreeHop = 20.9;
/// Posting to the network costs a ring's steps as much; three times for Simple.
constexpr double kPost = 1;
/// Ring and Simple over nodes: the plateau before bandwidth counts.
constexpr double kPlateau = 1.4;
/// LL moves a flag of 4 B with each 4 B. The upper bound [GB/s] by generation within a node. Over two nodes and over
/// more, the bound is the same for all GPUs. With processors of AMD it is 22.5 and 19.0.
constexpr std::array<double, 3> kMostByLl{87.7, 141, 282};
constexpr std::array<double, 2> kMostByLlBetween{39.0, 20.4};
constexpr double kLl128Ring = 0.92, kTreeShare = 0.92;
/// Share of the links that the switch's reductions reach; 0: there is no NVLS.
constexpr std::array<double, 3> kNvlsShare{0, 0.85, 0.74};
/// The share of their bandwidth that trees reach at 64 B, 128 B ... 512 MiB.
constexpr std::array<std::array<double, 24>, 3> kTreeReaches{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};
/// NVLS: the GPUs that reduce for all, and the channels of each within a node and over nodes. Ampere has none.
constexpr double kMostHeads = 32;
constexpr std::array<std::array<double, 2>, 3> kNvlsChannels{{{}, {16, 16}, {24, 32}}};
/// What NCCL counts of a GPU's NVLinks (src/graph/topo.h), and the bandwidths of a channel that it tries [GB/s].
constexpr std::array<double, 3> kLinks{240, 18 * 20.6, 18 * 40.1};
constexpr std::array<std::array<double, 12>, 3> kChannelRates{
    {{}, {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}, {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}}};
/// The host launches a kernel in 5 to 20 us [s]: HolisticTraceAnalysis (github.com/facebookresearch),
/// docs/source/features/cuda_kernel_launch_stats.rst.
constexpr double kLaunch = 5e-6;

struct Topology {
  double ranks, nodes, intra, network;
  Estimate estimate = Estimate::nccl;
  double per_node() const { return ranks / nodes; }
  double tree_depth() const { return std::floor(std::log2(nodes)); }
  double network_hop(const Latencies& of, std::size_t protocol) const {
    return estimate == Estimate::most ? of.network.back() : of.network[protocol];
  }
  double heads() const { return std::min(per_node(), kMostHeads); }
};

Topology checked(const char* name, double ranks, double nodes, double intra, double network, Estimate estimate) {
  if (std::fmod(ranks, nodes) != 0)
    throw DomainError(std::string(name) + ": ranks_count must be a multiple of nodes_count");
  if (nodes > 1 && network <= 0)
    throw DomainError(std::string(name) + ": several nodes need node_network_bytes_per_s above 0");
  return {ranks, nodes, intra, network, estimate};
}

/// What LL carries at most [B/s].
double most_by_ll(const Topology& t, Generation generation) {
  if (t.nodes == 1) return kMostByLl[static_cast<std::size_t>(generation)] * kGiga;
  return kMostByLlBetween[t.nodes <= 2 ? 0 : 1] * kGiga;
}

double ring(double message, const Topology& t, Protocol protocol, Generation generation, double scale) {
  const auto p = static_cast<std::size_t>(protocol);
  double busbw = t.nodes > 1 ? std::min(t.intra, t.network) : t.intra;
  if (protocol == Protocol::ll) busbw = std::min(busbw / 2, most_by_ll(t, generation));
  if (protocol == Protocol::ll128) busbw *= kLl128Ring;
  const double steps = 2 * (t.ranks - 1), between = t.nodes > 1 ? 2 * (t.nodes - 1) : 0;
  const double post = t.nodes > 1 ? kPost * (protocol == Protocol::simple ? 3 : 1) : 0;
  const double outside = t.network_hop(t.per_node() == 1 ? kTree : kRing, p);
  double latency = kRing.base[p] + (steps - between) * std::max(kRing.nvlink[p], post) + between * outside;
  if (protocol == Protocol::simple && t.nodes > 1) latency *= kPlateau;
  return scale * latency * kMicro + 2 * (t.ranks - 1) / t.ranks * message / busbw;
}

double tree(double message, const Topology& t, Protocol protocol, Generation generation, double scale) {
  const auto p = static_cast<std::size_t>(protocol);
  // Two nodes exchange a message once; an inner node of more sends it up, and down to two.
  const double outside = t.network * (t.nodes <= 2 ? 2 : 1);
  double busbw = kTreeShare * (t.nodes > 1 ? std::min(t.intra, outside) : t.intra);
  if (protocol == Protocol::ll) busbw = std::min(busbw / 3.8, most_by_ll(t, generation));
  if (protocol == Protocol::ll128) busbw *= t.nodes > 1 ? 120.0 / 128 : 7.0 / 9;
  const double doublings = std::clamp(std::floor(std::log2(std::max(message, 64.0) / 64)), 0.0, 23.0);
  if (t.estimate != Estimate::least) busbw *= kTreeReaches[p][static_cast<std::size_t>(doublings)];
  const double latency =
      kTree.base[p] + 2 * ((t.per_node() - 1) * kTree.nvlink[p] + t.tree_depth() * t.network_hop(kTree, p));
  return scale * latency * kMicro + 2 * message / busbw;
}

/// Bytes of all ranks that are under way at once: the larger the message, the larger a chunk.
double nvls_loop(double message, const Topology& t, Generation generation) {
  const bool one_node = t.nodes == 1;
  const double operations = kNvlsChannels[static_cast<std::size_t>(generation)][one_node ? 0 : 1] * t.heads();
  double chunk = t.nodes >= 4 ? 64 << 10 : 128 << 10;
  const auto shrink = [&](double loops, double to) {
    if (message < loops * operations * chunk) chunk = std::min(chunk, to);
  };
  if (one_node) {
    shrink(64, 64 << 10);
    shrink(8, 32 << 10);
    shrink(2, 16 << 10);
  } else {
    shrink(4, 64 << 10);
    shrink(1, 32 << 10);
  }
  return operations * chunk;
}

/// The share of the links that NVLS plans with. A channel takes its bandwidth from all GPUs, and twice from its head.
/// A head's links therefore carry heads + 1. NCCL leaves one head out of its bandwidth.
double nvls_planned(const Topology& t, Generation generation) {
  const auto gen = static_cast<std::size_t>(generation);
  const auto fits = [&](double rate) { return rate * (t.heads() + 1) <= kLinks[gen]; };
  const double rate = *std::ranges::find_if(kChannelRates[gen], fits);  // one fits the most heads
  return rate / kLinks[gen] * (t.heads() - 1) * t.ranks / (t.ranks - 1);
}

double nvls(double message, const Topology& t, Generation generation, double scale) {
  // A GPU sends its message to be reduced, and its part of the result to all.
  const double all = t.per_node() / (t.per_node() + 1);
  const double share = t.estimate == Estimate::least ? all : nvls_planned(t, generation);
  double rate = t.intra * kNvlsShare[static_cast<std::size_t>(generation)] * share;
  if (t.nodes > 1) rate = std::min(rate, t.nodes <= 2 ? t.network : t.network / 2);
  const double stages = t.nodes > 1 ? 5 : 3;  // scatter, reduce, [up, down,] gather
  const double waiting = (stages - 1) * std::min(nvls_loop(message, t, generation), message / (stages - 1)) / rate;
  const double fill = t.estimate == Estimate::least ? 0 : waiting;
  const double latency = kNvlsLatency + (t.nodes > 1 ? 2 * t.tree_depth() * kNvlsTreeHop : 0);
  return scale * latency * kMicro + message / rate + fill;
}

bool has_nvls(const Topology& t, Generation generation) {
  return t.per_node() > 2 && kNvlsShare[static_cast<std::size_t>(generation)] > 0;
}

Input protocol_input() { return Input("protocol", "p").one_of({"LL", "LL128", "Simple"}); }
Input estimate_input() { return Input("estimate", "e").one_of({"nccl", "least", "most"}).otherwise(0); }
Input generation_input() { return Input("gpu_generation", "gen").one_of({"ampere", "hopper", "blackwell"}); }
std::vector<Input> topology_inputs(std::vector<Input> first) {
  first.insert(
      first.begin(),
      {{"message_bytes", "S"}, Input("ranks_count", "n").whole().at_least(2), Input("nodes_count", "N").whole()});
  first.push_back(generation_input());
  first.push_back(Input("intra_bytes_per_s", "B_nv").above(0));
  first.push_back(Input("node_network_bytes_per_s", "B_net").otherwise(0));
  first.push_back(Input("latency_scale_ratio", "k").above(0).otherwise(1));
  first.push_back(Input("launch_time_s", "t_0").otherwise(kLaunch));
  first.push_back(estimate_input());
  return first;
}
constexpr std::string_view kValidity =
    "B_nv: what NVLink carries of one GPU's data, one way (240, 371 and 722 GB/s of A100, H100 and B200, as NCCL "
    "counts); B_net: of all NICs of a node. k: latencies measured here over NCCL's, as of a slow plug-in. t_0: "
    "launching the kernel; 0 in a CUDA graph. e: least if trees reach all of their bandwidth and no chunk waits for "
    "another; most if each hop over the network takes as long as Simple's.";

/// F25: t = t_0 + k * (alpha_0(p) + 2 * (n - N) * alpha_nv(p) + 2 * (N - 1) * alpha_net(p)) + 2 * (n - 1) / n * S /
/// B(p, min(B_nv, B_net)) [s]. Rings, by protocol p.
double nccl_ring_time(double message, double ranks, double nodes, Protocol protocol, Generation generation,
                      double intra, double network, double scale, double launch, Estimate estimate) {
  return launch +
         ring(message, checked("nccl_ring_time", ranks, nodes, intra, network, estimate), protocol, generation, scale);
}
const Define<nccl_ring_time> f25{{
    .id = "F25",
    .name = "nccl_ring_time",
    .title = "All-reduce by NCCL's ring",
    .equation = "t_0 + k * (alpha_0(p) + 2 * (n - N) * alpha_nv(p) + 2 * (N - 1) * alpha_net(p)) + "
                "2 * (n - 1) / n * S / B(p, min(B_nv, B_net))",
    .unit = "s",
    .validity = kValidity,
    .source = "NCCL",
    .inputs = topology_inputs({protocol_input()}),
    .example = "message_bytes=1GiB ranks_count=8 nodes_count=1 protocol=Simple gpu_generation=ampere "
               "intra_bytes_per_s=240GB/s",
}};

/// F26: t = t_0 + k * (alpha_0(p) + 2 * (n / N - 1) * alpha_nv(p) + 2 * log2(N) * alpha_net(p)) + 2 * S / B(p, S,
/// min(B_nv, B_net)) [s]. Double trees.
double nccl_tree_time(double message, double ranks, double nodes, Protocol protocol, Generation generation,
                      double intra, double network, double scale, double launch, Estimate estimate) {
  return launch +
         tree(message, checked("nccl_tree_time", ranks, nodes, intra, network, estimate), protocol, generation, scale);
}
const Define<nccl_tree_time> f26{{
    .id = "F26",
    .name = "nccl_tree_time",
    .title = "All-reduce by NCCL's double tree",
    .equation = "t_0 + k * (alpha_0(p) + 2 * (n / N - 1) * alpha_nv(p) + 2 * log2(N) * alpha_net(p)) + "
                "2 * S / B(p, S, min(B_nv, B_net))",
    .unit = "s",
    .validity = kValidity,
    .source = "NCCL",
    .inputs = topology_inputs({protocol_input()}),
    .example = "message_bytes=64KiB ranks_count=16 nodes_count=2 protocol=LL gpu_generation=hopper "
               "intra_bytes_per_s=370.8GB/s node_network_bytes_per_s=384GB/s",
}};

/// F27: t = t_0 + k * alpha + S / W + (stages - 1) * min(loop, S / (stages - 1)) / W, W = min(eta * B_nv * c * (h - 1) *
/// n / (n - 1), B_net / max(1, min(N - 1, 2))), h = min(n / N, 32) [s]. Switches reduce. c: the bandwidth of one channel
/// over that of the links, as NCCL finds it.
double nccl_nvls_time(double message, double ranks, double nodes, Generation generation, double intra, double network,
                      double scale, double launch, Estimate estimate) {
  const Topology t = checked("nccl_nvls_time", ranks, nodes, intra, network, estimate);
  if (!has_nvls(t, generation))
    throw DomainError("nccl_nvls_time: NVLS needs a hopper or blackwell and 3 ranks or more in a node");
  return launch + nvls(message, t, generation, scale);
}
const Define<nccl_nvls_time> f27{{
    .id = "F27",
    .name = "nccl_nvls_time",
    .title = "All-reduce by NVLink SHARP (NVLS, NVLS tree)",
    .equation = "t_0 + k * alpha + S / W + (stages - 1) * min(loop, S / (stages - 1)) / W, "
                "W = min(eta * B_nv * c * (h - 1) * n / (n - 1), B_net / max(1, min(N - 1, 2))), h = min(n / N, 32)",
    .unit = "s",
    .validity = kValidity,
    .source = "derived; NCCL",
    .inputs = topology_inputs({}),
    .example = "message_bytes=1GiB ranks_count=8 nodes_count=1 gpu_generation=hopper intra_bytes_per_s=370.8GB/s",
}};

/// F28: t = min over algorithms and protocols of F25, F26, F27 [s]. As NCCL chooses.
double nccl_all_reduce_time(double message, double ranks, double nodes, Algorithm algorithm, Generation generation,
                            double intra, double network, double scale, double launch, Estimate estimate) {
  const Topology t = checked("nccl_all_reduce_time", ranks, nodes, intra, network, estimate);
  double best = std::numeric_limits<double>::infinity();
  const auto may = [algorithm](Algorithm a) { return algorithm == Algorithm::any || algorithm == a; };
  for (const Protocol p : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    if (may(Algorithm::ring)) best = std::min(best, ring(message, t, p, generation, scale));
    if (may(Algorithm::tree)) best = std::min(best, tree(message, t, p, generation, scale));
  }
  if (may(Algorithm::nvls) && has_nvls(t, generation)) best = std::min(best, nvls(message, t, generation, scale));
  if (std::isinf(best)) throw DomainError("nccl_all_reduce_time: there is no NVLS here");
  return launch + best;
}
const Define<nccl_all_reduce_time> f28{{
    .id = "F28",
    .name = "nccl_all_reduce_time",
    .title = "All-reduce by NCCL",
    .equation = "min over algorithms and protocols of F25, F26, F27",
    .unit = "s",
    .validity = kValidity,
    .source = "NCCL",
    .inputs = topology_inputs({Input("algorithm", "algo").one_of({"any", "ring", "tree", "nvls"}).otherwise(0)}),
    .example = "message_bytes=16MiB ranks_count=16 nodes_count=2 gpu_generation=hopper intra_bytes_per_s=370.8GB/s "
               "node_network_bytes_per_s=384GB/s",
}};

}  // namespace
}  // namespace headrace::job
