#include "harness/workload/network/paired.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/workload/ranks/team.h"

namespace headrace {

using nlohmann::json;

namespace {
constexpr double kCheck_s = 30;  // drivers may take their time to be loaded
}  // namespace

void Paired::share(const Params& params, std::span<const std::string_view> of_this_end) {
  json all = json::object();
  for (const auto& [name, text] : params.written())
    if (std::find(of_this_end.begin(), of_this_end.end(), name) == of_this_end.end() && !text.empty()) all[name] = text;
  parameters_ = all.dump();
}

void Paired::step(std::string_view what) const {
  if (peer_ && peer_->leads()) peer_->step(json{{"step", what}}.dump());
}

Ranks& Paired::others(Node& node) {
  if (peer_) return *peer_;
  team_ = std::make_unique<ranks::Team>(node.ranks(), node.team());
  return *team_;
}

std::optional<Skip> Paired::check(Node& node) {
  peer_ = node.peer();
  if (!peer_ && node.ranks().size() < 2)
    return Skip{
        "needs a second process: --peer HOST, where `headrace run --serve` waits, or mpirun with two ranks or more"};
  if (peer_) return check_here(node);
  if (node.team().size() < 2) return Skip{"one rank alone takes part (processes, clients): two are needed"};
  try {
    in_concert(others(node), "what each node has", kCheck_s, [&] {
      if (const auto skip = check_here(node)) throw Unsupported(skip->reason);
      return std::string();
    });
  } catch (const Unsupported& e) {
    return Skip{e.what()};
  }
  return std::nullopt;
}

void Paired::prepare(Node& node, const DataProgress& progress) {
  peer_ = node.peer();
  if (peer_ && peer_->leads())
    peer_->step(json{{"step", "prepare"}, {"workload", name_}, {"parameters", parameters_}}.dump(), true);
  prepared_ = true;
  set_up(node, others(node), progress);
}

void Paired::before_phase(unsigned phase, unsigned repetition, std::uint64_t seed) {
  if (peer_ && peer_->leads())
    peer_->step(json{{"step", "ready"}, {"phase", phase}, {"repetition", repetition}, {"seed", seed}}.dump());
  make_ready(phase, seed);
}

void Paired::before_run(Worker& worker) {
  if (worker.index == 0) step("run");
  start(worker);
}

void Paired::report(const Repetition& repetition, MetricSink& sink) const {
  step("conclude");
  const_cast<Paired*>(this)->conclude();
  report_pair(repetition, sink);
}

void Paired::cleanup(Node& node) {
  if (prepared_) {
    try {
      step("clean up");
    } catch (const RunError&) {  // it is gone: nothing is left to clean up there
    }
  }
  prepared_ = false;
  take_down(node);
}

}  // namespace headrace
