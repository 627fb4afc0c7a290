#include "benches/headrace/observe_text.h"

#include <algorithm>

#include "benches/headrace/answer.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

using observe::Confidence;
using observe::Learned;
using observe::Observation;
using observe::Share;

constexpr double kWorthReporting = 0.005;

/// The words for shares.cc's names.
std::string in_words(const std::string& name, bool consumer) {
  if (name == "waiting_for_loader") return "waiting for the loader";
  if (name == "interpreter_lock") return "waiting for the interpreter lock";
  if (name == "making") return "making batches";
  if (name == "reading") return "reading";
  if (name == "saving") return "writing files";
  if (name == "processor") return "on a processor";
  if (name == "gpu") return "in the GPU's driver";
  if (name == "pause") return "pausing";
  if (name == "opening") return "opening files";
  if (name == "faults") return "fetching pages of mapped files";
  if (name == "writing") return "writing files";
  if (name == "queued") return "ready, and no processor free";
  if (name == "consumer") return "waiting for their batches to be taken";
  return consumer ? "else" : "waiting for something else";
}

Text shares_text(const char* who, const std::vector<Share>& shares, bool consumer) {
  Text out = Text::format("{}\n", who);
  std::vector<Share> sorted = shares;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Share& a, const Share& b) { return a.value > b.value; });
  for (const Share& one : sorted)
    if (one.value >= kWorthReporting)
      out += Text::format("  {:3.0f} %  {}  [{:.0f}, {:.0f}]\n", one.value * 100, in_words(one.name, consumer),
                          one.low * 100, one.high * 100);
  return out;
}

Text gpu_text(const observe::GpuSummary& gpu) {
  Text out = Text::format("  {} {}", gpu.pci_address, gpu.name);
  if (gpu.busy_known)
    out += Text::format(": busy {:.0f} % of the time [{:.0f}, {:.0f}]", gpu.busy.value * 100, gpu.busy.low * 100,
                        gpu.busy.high * 100);
  else
    out += ": its driver does not report how busy it is";
  if (gpu.own_busy) out += Text::format(", by the job {:.0f} %", *gpu.own_busy * 100);
  if (gpu.memory > 0)
    out += Text::format(", {} of its memory", format_quantity(static_cast<double>(gpu.memory), Dimension::bytes));
  if (gpu.shared) out += "; others use it, too";
  return out + Text("\n");
}

Text learned_text(const Learned& one, const Terminal& terminal) {
  Text out = Text::format("  {}", pad(Text(one.key), 30));
  Text value = Text(one.text);
  if (one.dimension != Dimension::text && one.confidence != Confidence::guess && one.high > one.low)
    value += Text::format(" [{}, {}]", compact_quantity(one.low, one.dimension, 3),
                          compact_quantity(one.high, one.dimension, 3));
  out += pad(value, 32) + Text(" ");
  out += terminal.paint(Text(std::string(to_string(one.confidence))),
                        one.confidence == Confidence::guess ? Ink::doubt : Ink::faint);
  return out + "\n";
}

/// How long training waits, what it waits for, and the command that proves it or finds a better setting.
Answer observation_answer(const Observation& seen, const std::string& job) {
  Answer all{.sentence = Text::format("{}.", seen.limit.sentence)};
  for (const Share& one : seen.training)
    if (one.name == "waiting_for_loader" && one.value >= kWorthReporting) {
      all.cause = std::move(all.sentence);
      all.sentence = Text::format("Training waits for data {:.0f} % of the time (range {:.0f} to {:.0f} %).",
                                  one.value * 100, one.low * 100, one.high * 100);
    }
  if (all.cause.empty() && !seen.limit.proof.empty()) all.cause = seen.limit.proof.front();
  if (seen.limit.command.empty() || job.empty()) {
    if (!seen.limit.advice.empty()) all.next = seen.limit.advice.front();
    return all;
  }
  std::string command = seen.limit.command;
  if (const std::size_t at = command.find("job.yaml"); at != command.npos) command.replace(at, 8, job);
  all.next = command;
  return all;
}

}  // namespace

Text observation_text(const observe::Recording& recording, const Observation& seen, const std::string& job,
                      const Terminal& terminal) {
  Text out = answer_text(observation_answer(seen, job), terminal);
  out += Text::format("headrace: {} {} process{} for {}", recording.machine_seen ? "watched" : "read the calls of",
                      recording.processes.size(), recording.processes.size() == 1 ? "" : "es",
                      format_duration(recording.elapsed_s));
  if (recording.elapsed_s > 0 && recording.machine_seen)
    out += Text::format(", {:.0f} looks a second at each thread, {:.1f} % of a processor", recording.samples_per_s,
                        100 * recording.sampler_cpu_s / recording.elapsed_s);
  out += "\n";
  if (!seen.roles.consumers.empty() && !seen.consumer.empty())
    out += shares_text(
        seen.roles.consumers.size() == 1 ? "the process that takes batches" : "the processes that take batches",
        seen.consumer, true);
  if (!seen.workers.empty())
    out += shares_text(seen.roles.workers.empty() ? "the threads that read or decode" : "the loader's workers",
                       seen.workers, false);
  if (!seen.gpus.empty()) out += "the job's GPUs\n";
  for (const observe::GpuSummary& gpu : seen.gpus) out += gpu_text(gpu);
  out += terminal.paint("learned about the job\n", Ink::strong);
  for (const Learned& one : seen.learned) out += learned_text(one, terminal);
  for (const std::string& note : seen.notes) out += in_lines(Text::format("  {}", note), terminal, 2) + "\n";
  if (!seen.limit.proof.empty()) out += terminal.paint("evidence\n", Ink::strong);
  for (const std::string& one : seen.limit.proof) out += in_lines(Text::format("  {}", one), terminal, 2) + "\n";
  if (!seen.limit.advice.empty()) out += "what would help, cheapest first\n";
  for (const std::string& one : seen.limit.advice) out += in_lines(Text::format("  - {}", one), terminal, 4) + "\n";
  return out;
}

}  // namespace headrace::cli
