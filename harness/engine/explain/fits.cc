#include "harness/engine/explain/fits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/base/units.h"
#include "harness/engine/explain/collective_fit.h"
#include "harness/job/needs.h"

namespace headrace::engine {
namespace {

std::string kind_of(const Point& point) {
  const auto group = point.params.find("group");
  return group == point.params.end() ? "all" : std::get<std::string>(group->second);
}

/// Measurements at several sizes, all else being equal.
using Sizes = std::vector<PointResult*>;

std::vector<Sizes> by_size(std::vector<PointResult>& points) {
  std::map<std::string, Sizes> all;
  for (PointResult& p : points) {
    const auto size = p.point->params.find("message_size");
    if (p.status != PointStatus::ok || size == p.point->params.end() || median_of(p, "time_s") <= 0) continue;
    std::string key(p.point->info->name);
    for (const auto& [name, value] : p.point->params) {
      if (name == "message_size" || name == "calls") continue;
      key += "/" + name + std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
    }
    all[key].push_back(&p);
  }
  std::vector<Sizes> sorted;
  for (auto& [key, sizes] : all) {
    std::sort(sizes.begin(), sizes.end(), [](const PointResult* a, const PointResult* b) {
      return std::get<std::uint64_t>(a->point->params.at("message_size")) <
             std::get<std::uint64_t>(b->point->params.at("message_size"));
    });
    sorted.push_back(std::move(sizes));
  }
  return sorted;
}

/// By its name's ending: "rdma_all_reduce".
std::optional<Collective> collective_of(std::string_view workload) {
  for (const auto& [what, name] : kCollectiveNames)
    if (workload.ends_with(name)) return what;
  return std::nullopt;
}

/// The members of one call: a collective's group; without one, a message from one rank to another.
struct Call {
  Collective what;
  unsigned ranks;
};
std::optional<Call> call_of(const PointResult& point) {
  const auto what = collective_of(point.point->info->name);
  if (!what) return Call{Collective::send_recv, 2};
  if (what == Collective::all_to_all_v) return std::nullopt;  // what its busiest link carries depends on its parts
  if (!point.group || point.group->ranks < 2) return std::nullopt;
  return Call{*what, point.group->ranks};
}

/// Bytes of one call as they went: whole parts.
double bytes_of(const PointResult& point) {
  const double moved = median_of(point, "algbw") * median_of(point, "time_s");
  return moved > 0 ? moved : static_cast<double>(std::get<std::uint64_t>(point.point->params.at("message_size")));
}

std::string in_seconds(double s) { return format_quantity(s, Dimension::seconds); }
std::string in_bytes_per_second(double r) { return format_quantity(r, Dimension::bytes_per_second); }
std::string size(double b) { return format_quantity(b, Dimension::bytes, true); }
std::string within(const Fitted& f, std::string (*words)(double)) {
  return f.high ? fmt::format("{} ({} to {})", words(f.value), words(f.low), words(*f.high))
                : fmt::format("{} (at least {})", words(f.value), words(f.low));
}

std::string describe(const CollectiveCurve& curve) {
  std::string text = fmt::format("fitted over {} sizes: {} + size / {}, within {:.0f} %", curve.points.size(),
                                 within(curve.fit.fixed_s, in_seconds),
                                 within(curve.fit.bytes_per_s, in_bytes_per_second), 100 * curve.fit.worst_error);
  if (hops(curve.link.what, curve.ranks) > 1)
    text += fmt::format("; a ring of {} ranks{}: {} a hop, {} a link", curve.ranks,
                        curve.link.what == Collective::all_reduce ? " (F3)" : "", in_seconds(curve.link.alpha_s.value),
                        in_bytes_per_second(curve.link.bytes_per_s.value));
  for (const JobPrediction& p : curve.job) {
    text += fmt::format("; {}: {:.0f} calls of {} among {:.0f} ranks, {} each", p.need, p.calls, size(p.message_bytes),
                        p.ranks, in_seconds(p.ring_s));
    if (p.tree_s) text += fmt::format(" (as a tree {}, F4", in_seconds(*p.tree_s));
    if (p.tree_s)
      text += *p.crossover_bytes > 0 ? fmt::format("; the ring wins from {}, F5)", size(*p.crossover_bytes)) : ")";
    text += fmt::format(": {} a step, of which {} are exposed (F18)", in_seconds(p.step_s), in_seconds(p.exposed_s));
  }
  return text;
}

std::string describe(const FabricPrediction& f) {
  std::string text = fmt::format(
      "{} of gradients over {} within nodes and {} between them: {} in two levels (F19), {} as "
      "a ring over all NICs (F20)",
      size(f.message_bytes), in_bytes_per_second(f.intra_bytes_per_s), in_bytes_per_second(f.nic_under_load),
      in_seconds(f.two_level_s), in_seconds(f.multirail_s));
  if (f.nics)
    text += fmt::format("; {:.0f} NICs a node at {:.0f} % of their line rate (F22)", *f.nics, 100 * *f.nic_efficiency);
  return text;
}

/// The curve of the same library ("nccl_") with such groups.
const CollectiveCurve* find(const std::vector<CollectiveCurve>& curves, const std::vector<std::string>& kinds,
                            const CollectiveCurve& like, std::initializer_list<std::string_view> wanted) {
  for (const std::string_view kind : wanted)
    for (std::size_t i = 0; i < curves.size(); ++i)
      if (kinds[i] == kind && curves[i].workload == like.workload) return &curves[i];
  return nullptr;
}

}  // namespace

std::vector<CollectiveCurve> fit_curves(const Plan& plan, std::vector<PointResult>& points) {
  std::optional<std::vector<job::Need>> needs;
  std::vector<CollectiveCurve> curves;
  std::vector<std::string> kinds;
  std::vector<PointResult*> largest;
  for (const Sizes& sizes : by_size(points)) {
    CollectiveCurve curve;
    curve.workload = sizes.front()->point->info->name;
    const auto call = call_of(*sizes.front());
    if (!call) continue;
    curve.ranks = call->ranks;
    for (const PointResult* p : sizes) {
      curve.points.push_back(p->point->id);
      curve.times.emplace_back(bytes_of(*p), median_of(*p, "time_s"));
    }
    const auto fit = fit_collective(curve.times);
    if (!fit) continue;
    curve.fit = *fit;
    curve.link = link_model(*fit, call->what, curve.ranks);
    if (!needs) needs = plan.job ? job::derive_needs(*plan.job) : std::vector<job::Need>{};
    for (const job::Need& need : *needs) {
      const bool measures = std::find(need.measured_by.begin(), need.measured_by.end(), curve.workload + ".busbw") !=
                            need.measured_by.end();
      if (!need.collective || !measures) continue;
      if (auto p = predict(curve.link, need)) curve.job.push_back(std::move(*p));
    }
    kinds.push_back(kind_of(*sizes.front()->point));
    largest.push_back(sizes.back());
    curves.push_back(std::move(curve));
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    largest[i]->notes.push_back(describe(curves[i]));
    if (!plan.job || kinds[i] != "intra_node" || curves[i].link.what != Collective::all_reduce) continue;
    const CollectiveCurve* inter = find(curves, kinds, curves[i], {"per_rail", "inter_node"});
    if (inter == nullptr) continue;
    curves[i].fabric = predict_fabric(curves[i].link, inter->link, *plan.job, *needs);
    if (curves[i].fabric) largest[i]->notes.push_back(describe(*curves[i].fabric));
  }
  return curves;
}

}  // namespace headrace::engine
