#include "harness/judge/expectations/collectives.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/job/all_reduce_interval.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::expectations {
namespace {

/// A generation of NVLink, its GPUs in F28's names, and NCCL's rate of a link (src/graph/topo.h). The rates are 20.0 of
/// 25, 20.6 of 25, 40.1 of 50 GB/s.
struct Generation {
  std::string_view model;
  double gpu_generation, share;
};
/// The share of a NIC's line rate that large messages reach (F22).
constexpr double kLineShare = 0.96;
constexpr Generation kGenerations[] = {
    {"NVLink 3", 0, 20.0 / 25}, {"NVLink 4", 1, 20.6 / 25}, {"NVLink 5", 2, 40.1 / 50}};

const Generation* generation_of(const Part& part) {
  const auto* const at = std::ranges::find(kGenerations, std::string_view(part.model), &Generation::model);
  return at == std::end(kGenerations) ? nullptr : at;
}

/// GPUs that have NVLinks; none where these are not alike.
std::vector<const Part*> nvlinks_of(std::span<const Part> parts) {
  std::vector<const Part*> gpus;
  for (const Part& part : parts)
    if (part.kind == "nvlink") gpus.push_back(&part);
  const auto differs = [&](const Part* p) { return p->model != gpus.front()->model || p->rate != gpus.front()->rate; };
  if (std::ranges::any_of(gpus, differs)) gpus.clear();
  return gpus;
}

}  // namespace

std::optional<AllReduceTime> all_reduce_time(const Part& nvlink, const Together& together, double bytes) {
  const Generation* generation = generation_of(nvlink);
  if (generation == nullptr || nvlink.rate == 0 || together.gpus < 2) return std::nullopt;
  if (together.nodes < 1 || together.gpus % together.nodes != 0) return std::nullopt;
  if (together.nodes > 1 && together.node_network == 0) return std::nullopt;
  const job::AllReduceInterval interval = job::all_reduce_interval({.ranks = static_cast<double>(together.gpus),
                                                                    .nodes = static_cast<double>(together.nodes),
                                                                    .generation = generation->gpu_generation,
                                                                    .intra = nvlink.rate * generation->share,
                                                                    .network = kLineShare * together.node_network},
                                                                   bytes);
  AllReduceTime one{.bytes = bytes, .fastest_s = interval.fastest.value(), .slowest_s = interval.slowest.value()};
  one.factor = job::apply("F1", {{"collective", 0}, {"ranks_count", static_cast<double>(together.gpus)}}).value();
  return one;
}

std::optional<AllReduceProspect> all_reduce_prospect(std::span<const Part> parts) {
  const std::vector<const Part*> gpus = nvlinks_of(parts);
  if (gpus.size() < 2) return std::nullopt;
  AllReduceProspect prospect{.gpus = static_cast<unsigned>(gpus.size()), .links = gpus.front()->how, .sizes = {}};
  for (double bytes = 1 << 10; bytes <= 0x1p33; bytes *= 8)
    if (const auto one = all_reduce_time(*gpus.front(), {.gpus = prospect.gpus}, bytes)) prospect.sizes.push_back(*one);
  if (prospect.sizes.empty()) return std::nullopt;
  return prospect;
}

namespace {

struct Ports {
  unsigned count = 0;
  double rate = 0;
  std::string text(std::string_view kind) const {
    return fmt::format("{} {} port{}, {:.4g} Gbit/s", count, kind, count == 1 ? "" : "s", rate * 8e-9);
  }
};

Ports ports_of(std::span<const Part> parts, std::string_view kind) {
  Ports ports;
  for (const Part& part : parts)
    if (part.kind == kind && part.up && part.rate != 0) {
      ++ports.count;
      ports.rate += part.rate;
    }
  return ports;
}

/// Time over several nodes. A rank uses the NICs next to it: few of a node's GPUs use few of its NICs.
std::optional<MeasuredAllReduce> over_nodes(std::span<const Part> parts, std::span<const Part* const> gpus,
                                            Together together, double bytes, double time_s) {
  const double used = std::min(1.0, static_cast<double>(together.gpus) / together.nodes / gpus.size());
  const Ports rdma = ports_of(parts, "rdma_port"), ethernet = ports_of(parts, "ethernet_port");
  const bool has_rdma = rdma.count != 0;
  const auto over = [&](const Ports& ports) {
    together.node_network = used * ports.rate;
    return all_reduce_time(*gpus.front(), together, bytes);
  };
  const auto expected = over(has_rdma ? rdma : ethernet);
  if (!expected) return std::nullopt;
  MeasuredAllReduce one{.time_s = time_s,
                        .expected = *expected,
                        .links = (has_rdma ? rdma : ethernet).text(has_rdma ? "RDMA" : "Ethernet")};
  const auto tcp = over(ethernet);
  // Only where the two can be distinguished.
  if (tcp && one.standing() == "slower" && tcp->fastest_s > expected->slowest_s)
    one.transport = time_s >= tcp->fastest_s
                        ? fmt::format("no faster than TCP over {} can be: NCCL may have fallen back from RDMA to TCP",
                                      ethernet.text("Ethernet"))
                        : fmt::format("faster than TCP over {} can be: RDMA is in use", ethernet.text("Ethernet"));
  return one;
}

}  // namespace

std::vector<MeasuredAllReduce> measured_all_reduces(std::span<const Part> parts,
                                                    std::span<const judging::RecordedPoint> points) {
  const std::vector<const Part*> gpus = nvlinks_of(parts);
  std::vector<MeasuredAllReduce> all;
  if (gpus.size() < 2) return all;
  for (const judging::RecordedPoint& point : points) {
    const auto size = point.params.find("message_size");
    const auto* bytes = size == point.params.end() ? nullptr : std::get_if<std::uint64_t>(&size->second);
    const std::vector<double> times = point.values("time_s");
    if (point.workload != "nccl_all_reduce" || bytes == nullptr || times.empty() || !point.group ||
        point.group->groups != 1)
      continue;
    const Together together{.gpus = point.group->ranks, .nodes = point.group->nodes};
    const double size_bytes = static_cast<double>(*bytes), time_s = statistics::median(times);
    std::optional<MeasuredAllReduce> one;
    if (together.nodes > 1)
      one = over_nodes(parts, gpus, together, size_bytes, time_s);
    else if (const auto expected = all_reduce_time(*gpus.front(), together, size_bytes))
      one = {.time_s = time_s, .expected = *expected};
    if (!one) continue;
    one->point = point.id;
    all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace headrace::expectations
