#include "harness/workload/peer/follow.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/base/error.h"
#include "harness/base/start_thread.h"
#include "harness/workload/network/paired.h"
#include "harness/workload/registry.h"

namespace headrace::peer {
namespace {

using nlohmann::json;

/// Made with its defaults: a leader's workload must be known to need two ends before its parameters are looked at.
bool needs_two(const WorkloadInfo& info) {
  config::Value nothing;
  nothing.kind = config::Value::Kind::map;
  Diagnostics ignored;
  Params params(std::string(info.name), nothing, ignored);
  return dynamic_cast<Paired*>(info.make(params).get()) != nullptr;
}

/// The workload of that name, with these parameters. Throws RunError: the leader's workload is not known here.
std::unique_ptr<Paired> make(const std::string& name, const std::string& parameters) {
  const WorkloadInfo* info = Registry::instance().find(name);
  if (!info) throw RunError(fmt::format("there is no workload '{:.40}' here", name));
  if (!needs_two(*info)) throw RunError(fmt::format("{} has no other end", name));
  Diagnostics problems;
  const config::Value entry = config::parse_yaml(parameters, "the leader's parameters", problems);
  Params params(name, entry, problems);
  std::unique_ptr<Workload> workload = info->make(params);
  params.finish();
  if (!problems.empty()) throw RunError(to_string(problems.errors().front()));
  return std::unique_ptr<Paired>(dynamic_cast<Paired*>(workload.release()));
}

class Follower {
 public:
  Follower(Node& node, const std::function<void(const std::string&)>& log) : node_(node), log_(log) {}
  ~Follower() { end(); }

  void take(const json& step) {
    const std::string what = step.at("step");
    if (what == "prepare") return prepare(step);
    if (!workload_) throw RunError(fmt::format("'{:.40}' before 'prepare'", what));
    if (what == "ready") return workload_->before_phase(step.at("phase"), step.at("repetition"), step.at("seed"));
    if (what == "run") return run();
    if (what == "conclude") return workload_->conclude();
    if (what == "clean up") return end();
    throw RunError(fmt::format("'{:.40}' is no step of this version", what));
  }

 private:
  void prepare(const json& step) {
    end();
    const std::string name = step.at("workload");
    auto workload = make(name, step.at("parameters"));
    log_(name);
    if (const auto skip = workload->check(node_)) throw Unsupported(skip->reason);
    workload_ = std::move(workload);
    workload_->prepare(node_, {});
  }

  void run() {
    const auto workers = workload_->workers();
    std::vector<std::unique_ptr<Recorder>> recorders;
    std::vector<std::exception_ptr> thrown(workers);
    std::vector<std::jthread> threads;
    std::atomic<bool> stop{false};
    for (unsigned w = 0; w < workers; ++w)
      recorders.push_back(std::make_unique<Recorder>(static_cast<unsigned>(workload_->latency_parts().size())));
    const auto work = [&](unsigned w) {
      Worker worker{.index = w, .count = workers, .recorder = *recorders[w]};
      try {
        workload_->before_run(worker);
        recorders[w]->start(UINT64_MAX, &stop);
        workload_->run(worker);
      } catch (...) {
        thrown[w] = std::current_exception();
        stop = true;
      }
    };
    try {
      for (unsigned w = 0; w < workers; ++w) threads.push_back(start_thread(work, w));
    } catch (const RunError&) {
      thrown[threads.size()] = std::current_exception();
      stop = true;
    }
    threads.clear();
    for (const std::exception_ptr& e : thrown)
      if (e) std::rethrow_exception(e);
  }

  void end() {
    if (!workload_) return;
    const std::unique_ptr<Paired> workload = std::move(workload_);
    workload->cleanup(node_);
  }

  Node& node_;
  const std::function<void(const std::string&)>& log_;
  std::unique_ptr<Paired> workload_;
};

}  // namespace

void follow(TcpPeer& leader, Node& node, double silence_s, const std::function<void(const std::string&)>& log) {
  Follower follower(node, log);
  std::string failed;  // of the last "prepare", or a step since: nothing works until the next
  bool unsupported = false;
  for (;;) {
    std::optional<std::string> text;
    try {
      text = leader.next_step(silence_s);
    } catch (const std::exception& e) {  // any message of a leader ends only its own turn
      log(e.what());
    }
    if (!text) return;
    try {
      const json step = json::parse(*text);
      const std::string what = step.at("step");
      if (what == "prepare") failed.clear();
      if (failed.empty() || what == "clean up") {
        follower.take(step);
        continue;
      }
    } catch (const Unsupported& e) {
      failed = e.what();
      unsupported = true;
      log(failed);
    } catch (const std::exception& e) {
      failed = e.what();
      unsupported = false;
      log(failed);
    }
    leader.fail(failed, unsupported);
  }
}

}  // namespace headrace::peer
