#include "harness/results/trace_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/results/json_text.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;
using Span = PipelineTrace::Span;
using Step = PipelineTrace::Step;

constexpr std::array<const char*, PipelineTrace::kStages> kStageNames{"reading", "decoding", "waiting"};
constexpr unsigned kWorkers = 1, kGpus = 2;  // processes of the trace

/// Appends events; times from `origin_ns` on.
class Events {
 public:
  explicit Events(std::uint64_t origin_ns) : origin_ns_(origin_ns) {}

  void name(const char* what, unsigned process, unsigned thread, const std::string& name) {
    next();
    fmt::format_to(std::back_inserter(text_), R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
                   what, process, thread, name);
  }
  void span(const Span& s, unsigned worker) {
    next();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"X","name":"{}","cat":"worker","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},)"
                   R"("args":{{"batch":{},"sample":{}}}}})",
                   kStageNames[s.stage], kWorkers, worker, microseconds(s.begin_ns - origin_ns_),
                   microseconds(s.end_ns - s.begin_ns), s.batch, static_cast<unsigned>(s.sample));
  }
  /// And its parts, one after the other for one GPU: the mean of all.
  void step(const Step& s, std::uint64_t began_ns) {
    const double begin = microseconds(began_ns - origin_ns_) + 1e6 * s.begin_s, all = 1e6 * (s.end_s - s.begin_s);
    part("step", begin, all, s);
    const double wait = std::min(all, 1e6 * s.wait_s), host = std::min(all - wait, 1e6 * s.host_s);
    if (wait > 0) part("waits for data", begin, wait, s);
    const double copy = std::min(all - wait - host, 1e6 * s.copy_s);
    if (copy > 0) part("copies a batch", begin + wait, copy, s);
    if (host > 0) part("waits for the host", begin + wait + copy, host, s);
    const double idle = wait + copy + host, others = std::min(all - idle, 1e6 * s.others_s);
    part("computes", begin + idle, all - idle - others, s);
    if (others > 0) part("waits for other nodes", begin + all - others, others, s);
    if (s.save_s > 0) part("pauses for a checkpoint", begin + all, 1e6 * s.save_s, s);
    next();
    fmt::format_to(std::back_inserter(text_),
                   R"({{"ph":"C","name":"batches ready","pid":{},"ts":{:.3f},"args":{{"share":{:.4f}}}}})", kGpus,
                   begin, s.ready);
  }
  std::string take() { return std::move(text_); }

 private:
  static double microseconds(std::uint64_t ns) { return 1e-3 * static_cast<double>(ns); }
  void next() {
    if (!text_.empty()) text_ += ",\n";
  }
  void part(const char* name, double begin, double time, const Step& s) {
    next();
    fmt::format_to(
        std::back_inserter(text_),
        R"({{"ph":"X","name":"{}","cat":"gpu","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f},"args":{{"step":{}}}}})", name,
        kGpus, begin, time, s.number);
  }

  std::uint64_t origin_ns_;
  std::string text_;
};

}  // namespace

std::uint64_t left_out(const PipelineTrace& trace) {
  std::uint64_t all = 0;
  for (const PipelineTrace::Worker& w : trace.workers) all += w.left_out;
  return all;
}

std::string trace_json(const PipelineTrace& trace, const std::string& point, const std::string& run_id) {
  std::uint64_t origin_ns = trace.steps.empty() ? UINT64_MAX : trace.began_ns, spans = 0;
  std::array<std::uint64_t, PipelineTrace::kStages> total_ns{};
  for (const PipelineTrace::Worker& w : trace.workers) {
    if (!w.spans.empty()) origin_ns = std::min(origin_ns, w.spans.front().begin_ns);
    for (std::size_t stage = 0; stage < total_ns.size(); ++stage) total_ns[stage] += w.left_out_ns[stage];
  }
  Events events(origin_ns);
  events.name("process_name", kWorkers, 0, "workers");
  events.name("process_name", kGpus, 0, "GPUs");
  events.name("thread_name", kGpus, 0, "steps");
  for (unsigned number = 0; number < trace.workers.size(); ++number) {
    events.name("thread_name", kWorkers, number, fmt::format("worker {}", number));
    for (const Span& s : trace.workers[number].spans) {
      events.span(s, number);
      total_ns[s.stage] += s.end_ns - s.begin_ns;
      ++spans;
    }
  }
  for (const Step& s : trace.steps) events.step(s, trace.began_ns);
  Json stages = Json::object();
  for (std::size_t i = 0; i < total_ns.size(); ++i) stages[kStageNames[i]] = 1e-9 * static_cast<double>(total_ns[i]);
  const Json other{{"program", "headrace"},
                   {"run", run_id},
                   {"point", point},
                   {"repetition", "the last one that ran to its end"},
                   {"spans", spans},
                   {"spans_left_out", left_out(trace)},
                   {"steps", trace.steps.size()},
                   {"stage_seconds", std::move(stages)}};
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + json_text(other) + ",\n\"traceEvents\":[\n" + events.take() +
         "\n]}\n";
}

}  // namespace headrace::results
