#include "workloads/network/mpi_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/backends/loader.h"
#include "harness/workload/ranks/team.h"

namespace headrace::network {

MpiCollective::MpiCollective(Params& p, Collective what)
    : what_(what),
      message_size_(p.bytes("message_size", 25_MiB, {.min = 4, .max = 8589934588.0, .multiple_of = 4},
                            "bytes of one call; of the whole buffer where each rank has a part of it; need: "
                            "those of the job's own calls")),
      in_place_(p.flag("in_place", false, "the result replaces the sent data")),
      calls_(p.count("calls", 0, {.min = 0, .max = 1e7},
                     "timed calls of one repetition; 0 = as many as take about 0.2 s")),
      groups_(p) {}

Footprint MpiCollective::footprint() const {
  Footprint f;
  f.memory_bytes = (in_place_ ? 1 : 2) * message_size_;
  return f;
}

std::optional<Skip> MpiCollective::check(Node& node) {
  if (node.ranks().size() == 1) return Skip{"one process alone: start several, as in mpirun -n 8 headrace run ..."};
  std::vector<RankPlace> places;
  for (const unsigned rank : node.team()) places.push_back(node.ranks().places()[rank]);
  return groups_.split(std::move(places), what_, message_size_);
}

void MpiCollective::prepare(Node& node, const DataProgress&) {
  team_ = std::make_unique<ranks::Team>(node.ranks(), node.team());
  own_ = groups_.of(node.team_index());
  in_concert(*team_, "make room for messages", kStep_s, [&] {
    if (own_) {
      count_ = groups_.count(*own_, what_, message_size_);
      in_.assign(count_, 0.0f);
      if (!in_place_) out_.assign(count_, 0.0f);
    }
    return std::string();
  });
  in_concert(*team_, "check the data", kStep_s, [&] {
    if (own_) {
      std::vector<unsigned> members;
      for (const unsigned i : groups_[*own_]) members.push_back(node.team()[i]);
      group_ = node.backends().mpi().group(members);
      check_data();
    }
    return std::string();
  });
  const double each_s = time_of_call();
  constexpr double kRepetition_s = 0.2, kMost = 200'000, kBatch_s = 10e-6;
  chosen_ = calls_ != 0 ? calls_ : static_cast<std::uint64_t>(std::clamp(kRepetition_s / each_s, 5.0, kMost));
  batch_ = static_cast<std::uint32_t>(std::clamp(std::round(kBatch_s / each_s), 1.0, 1000.0));
}

void MpiCollective::before_phase(unsigned, unsigned, std::uint64_t) {
  if (own_) expected().fill(in_.data(), in_place_);
}

void MpiCollective::run(Worker& worker) {
  if (!own_) return;
  float* out = in_place_ ? in_.data() : out_.data();
  group_->barrier();
  begin_ns_ = end_ns_ = now_ns();
  for (std::uint64_t left = chosen_; left > 0;) {
    const auto batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, batch_));
    for (std::uint32_t i = 0; i < batch; ++i) group_->run(what_, in_.data(), out, count_);
    const std::uint64_t end = now_ns();
    worker.recorder.ops(end_ns_, end, batch, batch * bytes());
    end_ns_ = end;
    left -= batch;
  }
  check_data();  // once more, after the load
}

void MpiCollective::report(const Repetition&, MetricSink& sink) const {
  const double own_s = 1e-9 * static_cast<double>(end_ns_ - begin_ns_) / static_cast<double>(chosen_);
  const auto said = team_->all_gather("time of one call", fmt::format("{}", own_s), kWords_s);
  std::vector<double> times(groups_.size(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const unsigned i : groups_[g]) times[g] = std::max(times[g], std::stod(said.at(i)));
  groups_.report(times, what_, message_size_, sink);
}

std::vector<std::string> MpiCollective::notes() {
  std::vector<std::string> all;
  if (std::string words = groups_.words(); !words.empty()) all.push_back(std::move(words));
  if (batch_ > 1)
    all.push_back(fmt::format("calls are short: {} are timed together, and latencies are their means", batch_));
  return all;
}

void MpiCollective::cleanup(Node&) {
  group_.reset();
  in_ = out_ = {};
}

ExpectedSums MpiCollective::expected() const { return {what_, group_->rank(), group_->size(), count_}; }

void MpiCollective::check_data() {
  const ExpectedSums data = expected();
  data.fill(in_.data(), in_place_);
  std::vector<float>& out = in_place_ ? in_ : out_;
  group_->run(what_, in_.data(), out.data(), count_);
  if (what_ == Collective::broadcast && group_->rank() == 0) return;  // it has nothing to receive
  // MPI leaves a reduce_scatter's part at the begin, in place too.
  const std::uint64_t first = what_ == Collective::scatter ? data.first(in_place_) : 0;
  if (const GpuWrongElements wrong = data.wrong(out.data() + first); wrong.count > 0)
    throw RunError(fmt::format("wrong data: {} of {} elements; element {} is {}, must be {}", wrong.count,
                               data.results(), wrong.first, out[first + wrong.first], data.result(wrong.first)));
}

double MpiCollective::time_of_call() {
  double each_s = slowest_of_all(time_of(5));
  if (each_s < 20e-6) each_s = slowest_of_all(time_of(500));
  return each_s;
}

double MpiCollective::time_of(unsigned calls) {
  if (!own_) return 0;
  float* out = in_place_ ? in_.data() : out_.data();
  group_->barrier();
  const std::uint64_t begin = now_ns();
  for (unsigned i = 0; i < calls; ++i) group_->run(what_, in_.data(), out, count_);
  return 1e-9 * static_cast<double>(now_ns() - begin) / calls;
}

double MpiCollective::slowest_of_all(double own_s) {
  double most_s = 1e-7;
  for (const std::string& said : team_->all_gather("time of one call", fmt::format("{}", own_s), kWords_s))
    most_s = std::max(most_s, std::stod(said));
  return most_s;
}

}  // namespace headrace::network
