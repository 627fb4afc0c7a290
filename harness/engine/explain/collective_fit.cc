#include "harness/engine/explain/collective_fit.h"

#include <algorithm>
#include <cmath>

#include "harness/base/quantiles.h"
#include "harness/job/formula.h"

namespace headrace {
namespace {

/// value +- spread, of something that is never negative.
Fitted around(double value, double spread) { return {value, std::max(0.0, value - spread), value + spread}; }

/// 1 / slope, whose interval may reach 0.
Fitted inverse(double slope, double spread) {
  Fitted rate{1 / slope, 1 / (slope + spread), std::nullopt};
  if (slope > spread) rate.high = 1 / (slope - spread);
  return rate;
}

double value_of(std::string_view formula, std::initializer_list<job::NamedValue> values) {
  return job::apply(formula, values).value();
}

}  // namespace

Fitted Fitted::scaled(double by) const {
  return {value * by, low * by, high ? std::optional(*high * by) : std::nullopt};
}

std::optional<CollectiveFit> fit_collective(const std::vector<std::pair<double, double>>& times) {
  if (times.size() < 3) return std::nullopt;
  // Errors relative to the time, so that small messages count as much as large ones: weights 1/t^2.
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const auto& [bytes, seconds] : times) {
    if (!(seconds > 0)) return std::nullopt;
    const double weight = 1 / (seconds * seconds);
    w += weight;
    wx += weight * bytes;
    wy += weight * seconds;
    wxx += weight * bytes * bytes;
    wxy += weight * bytes * seconds;
  }
  const double determinant = w * wxx - wx * wx;
  const double slope = (w * wxy - wx * wy) / determinant;
  if (!std::isfinite(slope) || slope <= 0) return std::nullopt;
  const double fixed = std::max(0.0, (wy - slope * wx) / w);
  CollectiveFit fit;
  double squares = 0;
  for (const auto& [bytes, seconds] : times) {
    const double error = (seconds - fixed - slope * bytes) / seconds;
    squares += error * error;
    fit.worst_error = std::max(fit.worst_error, std::abs(error));
  }
  const auto freedom = static_cast<double>(times.size() - 2);
  const double deviation = std::sqrt(squares / freedom), t = statistics::t_quantile(0.975, freedom);
  fit.fixed_s = around(fixed, t * deviation * std::sqrt(wxx / determinant));
  fit.bytes_per_s = inverse(slope, t * deviation * std::sqrt(w / determinant));
  return fit;
}

double hops(Collective what, double ranks) {
  if (what == Collective::all_reduce) return 2 * (ranks - 1);
  if (what == Collective::send_recv) return 1;
  return ranks - 1;
}

LinkModel link_model(const CollectiveFit& fit, Collective what, unsigned ranks) {
  return {what, static_cast<double>(ranks), fit.fixed_s.scaled(1 / hops(what, ranks)),
          fit.bytes_per_s.scaled(bus_factor(what, ranks))};
}

double ring_time(const LinkModel& model, double ranks, double bytes) {
  if (model.what == Collective::all_reduce)
    return value_of("F3", {{"message_bytes", bytes},
                           {"ranks_count", ranks},
                           {"hop_latency_s", model.alpha_s.value},
                           {"link_bytes_per_s", model.bytes_per_s.value}});
  const double factor = bus_factor(model.what, static_cast<unsigned>(ranks));
  return hops(model.what, ranks) * model.alpha_s.value + factor * bytes / model.bytes_per_s.value;
}

std::optional<JobPrediction> predict(const LinkModel& model, const job::Need& need) {
  const job::JobCollective& c = *need.collective;
  if (c.ranks < 2) return std::nullopt;
  JobPrediction p;
  p.need = need.id;
  p.message_bytes = static_cast<double>(c.message_size());
  p.ranks = c.ranks;
  const double each = bus_factor(model.what, static_cast<unsigned>(c.ranks)) * p.message_bytes;
  const double calls = std::max(1.0, std::ceil(c.wire / each - 1e-9));  // within one window
  p.calls = calls * c.times;
  p.ring_s = ring_time(model, c.ranks, p.message_bytes);
  if (model.what == Collective::all_reduce) {
    p.tree_s = value_of("F4", {{"message_bytes", p.message_bytes},
                               {"ranks_count", c.ranks},
                               {"hop_latency_s", model.alpha_s.value},
                               {"link_bytes_per_s", model.bytes_per_s.value}});
    p.crossover_bytes = value_of("F5", {{"ranks_count", c.ranks},
                                        {"hop_latency_s", model.alpha_s.value},
                                        {"link_bytes_per_s", model.bytes_per_s.value}});
  }
  const double window_s = calls * p.ring_s;
  p.step_s = window_s * c.times;
  p.hidden_s = std::min(window_s, c.hidden_s) * c.times;
  p.exposed_s = std::max(0.0, p.step_s - p.hidden_s);
  p.busbw = each / p.ring_s;
  p.busbw_required = need.required;
  return p;
}

std::optional<FabricPrediction> predict_fabric(const LinkModel& intra, const LinkModel& inter, const job::Job& job,
                                               std::span<const job::Need> needs) {
  const auto find = [&](std::string_view id) {
    return std::find_if(needs.begin(), needs.end(), [&](const auto& n) { return n.id == id; });
  };
  const auto gradients = find("network.gradient_busbw");
  if (gradients == needs.end() || gradients->collective->nodes < 2) return std::nullopt;
  const job::JobCollective& c = *gradients->collective;
  const job::Job::Fabric fabric = job.fabric.value_or(job::Job::Fabric{});
  FabricPrediction p;
  p.message_bytes = static_cast<double>(c.message_size());
  p.intra_bytes_per_s = intra.bytes_per_s.value;
  p.nic_bytes_per_s = inter.bytes_per_s.value;
  p.nic_under_load = value_of("F21", {{"nic_bytes_per_s", p.nic_bytes_per_s},
                                      {"cross_spine_ratio", fabric.crossing},
                                      {"oversubscription_ratio", fabric.oversubscription}});
  const double in_node = std::max(1.0, std::round(c.ranks / c.nodes));
  p.two_level_s = value_of("F19", {{"message_bytes", p.message_bytes},
                                   {"gpus_per_node_count", in_node},
                                   {"nodes_count", c.nodes},
                                   {"intra_busbw_bytes_per_s", p.intra_bytes_per_s},
                                   {"nic_per_gpu_bytes_per_s", p.nic_under_load}});
  p.multirail_s = value_of("F20", {{"message_bytes", p.message_bytes},
                                   {"ranks_count", c.ranks},
                                   {"nics_per_node_count", job.cluster.nics_per_node.value_or(1)},
                                   {"intra_busbw_bytes_per_s", p.intra_bytes_per_s},
                                   {"nic_bytes_per_s", p.nic_under_load}});
  const auto node = find("network.node_bandwidth");
  if (job.cluster.nic_rate && node != needs.end()) {
    p.nic_efficiency = std::min(1.0, p.nic_bytes_per_s / *job.cluster.nic_rate);
    p.nics = value_of("F22", {{"node_bytes_per_s", node->required},
                              {"line_rate_bits_per_s", *job.cluster.nic_rate * 8},
                              {"efficiency_ratio", *p.nic_efficiency}});
  }
  return p;
}

}  // namespace headrace
