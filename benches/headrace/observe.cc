// headrace observe: a running job, watched from outside; or its trace, replayed.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "benches/headrace/answer.h"
#include "benches/headrace/console.h"
#include "benches/headrace/observe_live.h"
#include "benches/headrace/replay.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/session/run_folder.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/text.h"
#include "harness/backends/gpu_activity.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/units.h"
#include "harness/machine/mount.h"
#include "harness/observe/calls/read.h"
#include "harness/observe/calls/recorded.h"
#include "harness/observe/calls/write.h"
#include "harness/observe/data_survey.h"
#include "harness/observe/observation.h"
#include "harness/observe/sampling/exact_stills.h"
#include "harness/observe/sampling/trace.h"
#include "harness/observe/sampling/traced_memory.h"
#include "harness/observe/sampling/watch.h"

namespace headrace::cli {
namespace {

// An observation's text for people.

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

/// With the path of the job file in its commands; `job` "" = none was written.
std::string with_path(std::string text, const std::string& job) {
  constexpr std::string_view kName = "job.yaml";
  if (const std::size_t at = text.find(kName); !job.empty() && at != text.npos)
    text.replace(at, kName.size(), shell_word(job));
  return text;
}

/// The keys that a job needs and that were not seen: "step.time and step.micro_batch".
std::string unknown_keys(const Observation& seen) {
  std::string all;
  for (const observe::Learned& one : seen.learned)
    if (!one.known && (one.key == "step.time" || one.key == "step.micro_batch" || one.key == "dataset.sample_size"))
      all += (all.empty() ? "" : " and ") + one.key;
  return all;
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
    if (!seen.limit.advice.empty()) all.next = with_path(seen.limit.advice.front(), job);
    return all;
  }
  all.next = with_path(seen.limit.command, job);
  if (const std::string keys = unknown_keys(seen); !keys.empty())
    all.next = Text::format("put {} into {}, then {}", keys, shell_word(job), all.next);
  return all;
}

/// `job`: the path of the job file that was written; "" = none.
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
  for (const std::string& one : seen.limit.advice)
    out += in_lines(Text::format("  - {}", with_path(one, job)), terminal, 4) + "\n";
  return out;
}

namespace fs = std::filesystem;

using observe::Recording;

struct ObserveArguments {
  std::vector<std::string> command, from;
  std::string pid, out, duration, format = "text";
  ReplayArguments replayed;
  bool no_store = false, no_report = false, live = false, trace = false;
};

observe::WatchOptions watching() {
  observe::WatchOptions options;
  options.sampler.gpus = gpu_activity;
  options.sampler.nccl = true;
  return options;
}

/// Shows progress while it observes, on request.
class Meanwhile {
 public:
  Meanwhile(const ObserveArguments& given, const Shared& shared, bool alone)
      : view_(shared, alone), on_(given.live && shared.progress != "none") {}
  double every_s() const { return on_ ? view_.every_s() : 0; }
  observe::OnRecording describe() {
    return [this](const Recording& recording) { view_(recording); };
  }
  void clear() { view_.clear(); }

 private:
  LiveView view_;
  const bool on_;
};

/// "train.py" of "python3 -u train.py --epochs 3"; the name of a job.
std::string name_of(const std::vector<std::string>& command) {
  for (const std::string& word : command)
    if (word.ends_with(".py")) return fs::path(word).stem().string();
  return command.empty() ? "observed" : fs::path(command.front()).filename().string();
}

std::optional<MarkedFolder> folder_for(const ObserveArguments& given, const std::string& name) {
  if (given.no_store) return std::nullopt;
  if (given.out.empty()) return MarkedFolder::make_next(session::next_folder("observe-" + name), "observation");
  const auto refuse_second = [&] {
    const auto earlier = MarkedFolder::find(given.out);
    for (const char* const file : {"observe.json", "job.yaml"})
      if (earlier && earlier->folder().look(file))
        throw UsageError(
            fmt::format("--out: {} already holds an observation ({}); observations are never overwritten: name another "
                        "folder",
                        given.out, file));
  };
  refuse_second();
  MarkedFolder folder = MarkedFolder::make_alone(given.out, "observation");
  refuse_second();  // another observation may have ended in the meantime
  return folder;
}

/// Writes the findings, and prints where: to `say`.
void conclude(const Recording& recording, const std::string& root, const std::vector<std::string>& command,
              const std::string& name, const std::optional<MarkedFolder>& folder, const ObserveArguments& given,
              const Shared& shared, bool to_standard_output, const observe::calls::Log* traced) {
  Observation seen = observe::understand(recording, root);
  if (!root.empty())
    seen.notes.push_back(
        fmt::format("the process has a file system of its own (a container): paths are as it sees them; from here they "
                    "lie below {} while it runs",
                    root));
  if (traced != nullptr) {
    const double began_s = recording.began_s > 0 ? traced->began_s - recording.began_s : 0;
    observe::apply_trace(*traced, seen, began_s, observe::commands_of(recording));
    seen.calls = observe::calls::call_times(*traced, began_s, recording.elapsed_s);
  }
  observe::compare_rates(seen);
  const std::string document = observe::observation_json(recording, seen, command);
  std::string job, written = "job.yaml, observe.json";
  Drawn drawn;
  if (folder) {
    const std::string text = observe::job_text(recording, seen, name);
    std::vector<MarkedFolder::File> files{{"job.yaml", text}, {"observe.json", document}};
    const std::string calls = given.trace && traced != nullptr ? observe::calls::packed(*traced) : "";
    if (!calls.empty()) files.push_back({"trace.pfw.gz", calls});
    folder->write(files);
    if (!given.no_report) drawn = draw_into(*folder, "observe.json");
    if (!calls.empty()) written += ", trace.pfw.gz";
    if (!drawn.page.empty()) written += ", report.html";
    job = given.out.empty() ? fs::relative(folder->path()).string() + "/job.yaml" : given.out + "/job.yaml";
  }
  if (given.format == "json") return print_document(document, to_standard_output ? stdout : stderr);
  if (shared.verbosity < 0) return;
  const Terminal terminal(to_standard_output ? stdout : stderr, shared);
  Text out = observation_text(recording, seen, job, terminal);
  if (folder) out += Text::format("written: {} ({})\n", folder->path(), written);
  if (!drawn.reason.empty()) out += Text::format("report not drawn: {}\n", drawn.reason);
  to_standard_output ? print(out) : print_stderr(out);
}

/// "with exit code 137 (signal 9: Killed)".
std::string ending_text(int exit_code) {
  const char* const signal = exit_code > 128 ? ::strsignal(exit_code - 128) : nullptr;
  return fmt::format("with exit code {}", exit_code) +
         (signal != nullptr ? fmt::format(" (signal {}: {})", exit_code - 128, signal) : "");
}

int observe_command(const ObserveArguments& given, const Shared& shared) {
  const std::string name = name_of(given.command);
  const std::optional<MarkedFolder> folder = folder_for(given, name);
  try {
    std::optional<observe::TraceMemory> traced;
    if (given.trace) traced.emplace();
    observe::Command command(given.command, traced ? traced->environment() : observe::Environment{});
    // Where the command writes to the same terminal, lines of its own would be drawn over.
    Meanwhile shown(given, shared, !Terminal(stdout, shared).interactive());
    observe::WatchOptions options = watching();
    options.report_every_s = shown.every_s();
    Recording recording = observe::watch(command, options, shown.describe());
    recording.ended = ending_text(command.exit_code());
    shown.clear();
    if (const std::vector<int> left = command.left_behind(); !left.empty())
      print_stderr_line(Text::format(
          "headrace: the command ended, and {} process{} of it go{} on without it: they were watched until "
          "then; 'headrace observe --pid {}' watches on",
          left.size(), left.size() == 1 ? "" : "es", left.size() == 1 ? "es" : "", left.front()));
    try {
      std::optional<observe::calls::Log> log;
      if (traced) observe::make_exact(log.emplace(traced->read()), recording);
      conclude(recording, "", given.command, name, folder, given, shared, false, log ? &*log : nullptr);
    } catch (const std::exception& e) {
      print_stderr_line(
          Text::format("headrace: the observation is lost: {}", e.what()));  // the command's end stays its own
    }
    return command.exit_code();
  } catch (const observe::CannotStart& e) {
    print_stderr_line(Text::format("headrace observe: cannot start {}", e.why));
    if (folder) folder->remove();
    return e.exit_code;
  }
}

/// The prefix of the process's paths, where its root differs from ours.
std::string root_of(int pid) {
  std::error_code error;
  const fs::path mine = fs::read_symlink("/proc/self/ns/mnt", error),
                 its = fs::read_symlink(fmt::format("/proc/{}/ns/mnt", pid), error);
  return error || mine == its ? "" : fmt::format("/proc/{}/root", pid);
}

/// Is /proc mounted so that other users' processes are not seen in it?
bool hides_processes() {
  const auto mount = system::mount_of("/proc/self");
  return mount && mount->options.find("hidepid=") != std::string::npos &&
         mount->options.find("hidepid=0") == std::string::npos &&
         mount->options.find("hidepid=off") == std::string::npos;
}

int observe_process(const ObserveArguments& given, const Shared& shared) {
  int pid = 0;
  try {
    std::size_t used = 0;
    pid = std::stoi(given.pid, &used);
    if (used != given.pid.size() || pid <= 0) throw UsageError("");
  } catch (const std::exception&) {
    throw UsageError(fmt::format("--pid: '{}' is no process number", given.pid));
  }
  observe::WatchOptions options = watching();
  if (!given.duration.empty()) options.most_s = time_option("--duration", given.duration, "60s");
  const std::string name = fmt::format("process-{}", pid), root = root_of(pid);
  if (!fs::exists(fmt::format("/proc/{}", pid)))
    throw UsageError(
        fmt::format("--pid: there is no process {} here (of a container's processes the number outside is meant{})",
                    pid, hides_processes() ? "; /proc hides other users' here: hidepid" : ""));
  const std::optional<MarkedFolder> folder = folder_for(given, name);
  Meanwhile shown(given, shared, true);
  options.report_every_s = shown.every_s();
  const observe::WatchedProcess watched = observe::watch(pid, options, shown.describe());
  shown.clear();
  conclude(watched.recording, root, {}, name, folder, given, shared, true, nullptr);
  return watched.signal != 0 ? 128 + watched.signal : 0;
}

int observe_trace(const ObserveArguments& given, const Shared& shared) {
  const observe::calls::Log log = observe::calls::read(given.from);
  std::string name = fs::path(given.from.front()).filename().string();
  name = name.substr(0, name.find('.'));
  const std::optional<MarkedFolder> folder = folder_for(given, name);
  conclude(observe::calls::recorded(log), "", {}, name, folder, given, shared, true, &log);
  return 0;
}

int observe_verb(const ObserveArguments& given, const Shared& shared) {
  if (!given.replayed.traces.empty()) return replay(given.replayed, given.format == "json", shared);
  if (!given.command.empty() + !given.pid.empty() + !given.from.empty() != 1)
    throw UsageError(
        "observe: needs a command behind --, as in 'headrace observe -- python3 train.py', or --pid PID, or --from "
        "FILE, or --replay FILE");
  if (!given.command.empty() && !given.duration.empty())
    throw UsageError("--duration: of --pid only; a command is watched until it ends");
  if (!given.from.empty() && (!given.duration.empty() || given.trace || given.live))
    throw UsageError("--from: reads a finished trace; --duration, --trace and --live need a running job");
  if (given.trace && given.command.empty())
    throw UsageError("--trace: works with a command only, as a running process has already loaded its libraries");
  if (given.no_store && !given.out.empty()) throw UsageError("--no-store: goes against --out");
  if (!given.from.empty()) return observe_trace(given, shared);
  return given.command.empty() ? observe_process(given, shared) : observe_command(given, shared);
}

void add_observe(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("observe", "Watch a running job: find its bottleneck, and write its job file");
  auto given = std::make_shared<ObserveArguments>();
  verb.option("COMMAND", given->command,
              "Behind --: what to run and watch; its streams, signals and exit code stay its own, and what headrace "
              "says goes to "
              "standard error");
  verb.option("--pid PID", given->pid, "Watch this process, and those that it started, until it ends or Ctrl-C");
  verb.option(
      "--from FILE", given->from,
      "Learn it from calls that were written down: by strace -f -ttt -T -y, DFTracer (.pfw, .pfw.gz; all of a job's "
      "files), Darshan, or --trace (trace.pfw.gz)");
  verb.option("--duration TIME", given->duration, "With --pid: how long to watch, such as 60s");
  verb.option("--out DIR", given->out,
              "Folder for observe.json, job.yaml and report.html; default headrace-runs/TIME-observe-NAME");
  verb.flag("--trace", given->trace,
            "Count every call of the command that concerns a file, by a library that is loaded into it (LD_PRELOAD): "
            "exact files, "
            "sizes and calls for each open");
  verb.flag("--live", given->live,
            "Show it while it runs: rates, and a bar for each worker, drawn again on a terminal that the command does "
            "not write to; "
            "else a line every 10 seconds");
  verb.flag("--no-store", given->no_store, "Write no files");
  verb.flag("--no-report", given->no_report, "Do not draw report.html");
  verb.format(given->format, {"text", "json"}, "What standard output gets");
  verb.example("headrace observe --no-store -- python3 -c pass",
               "Each thread's calls are looked at up to 500 times a second, from outside");
  add_replay_options(verb, given->replayed);
  verb.does([&shared, given] { return observe_verb(*given, shared); });
}

const RegisterVerb registered_observe{83, add_observe};

}  // namespace
}  // namespace headrace::cli
