#include "benches/headrace/calibrate.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "benches/headrace/console.h"
#include "harness/backends/codec.h"
#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/escape.h"
#include "harness/base/system/installation.h"
#include "harness/base/system/report_python.h"
#include "harness/base/units.h"
#include "harness/engine/plan/from_job.h"
#include "harness/job/job.h"
#include "harness/judge/statistics/summary.h"
#include "harness/machine/node.h"
#include "harness/workload/data/some_samples.h"

namespace headrace::cli {
namespace {

using job::Job;

constexpr std::uint32_t kMostFiles = 64;
constexpr std::size_t kMostPrinted = 4096;
constexpr double kUsualSide = 224;  // pixels, as in the pipeline

/// The modules that a decoder of reports/headrace_decoders takes; none: it is a command.
std::vector<std::string> modules_of(const std::string& decoder) {
  if (decoder == "pillow") return {"PIL", "numpy"};
  if (decoder == "torchvision") return {"torchvision", "torch"};
  if (decoder == "opencv") return {"cv2", "numpy"};
  if (decoder == "dali") return {"nvidia", "numpy"};
  return {};
}

std::string command_of(const std::string& decoder, const Job& job) {
  const std::vector<std::string> modules = modules_of(decoder);
  if (modules.empty()) return decoder;
  const std::string folder = system::installation().reports + "/headrace_decoders";
  if (!std::filesystem::exists(folder + "/__main__.py"))
    throw UsageError(
        "--calibrate: reports/headrace_decoders of this installation is missing; copy the whole install folder");
  if (const std::string why = system::foreign_writer_within(folder); !why.empty())
    throw UsageError("--calibrate: the decoders are not run: " + why);
  const system::ReportPython python = system::find_python(modules);
  if (python.executable.empty())
    throw UsageError(
        fmt::format("--calibrate {}: no Python has it ({}); name the one that trains: HEADRACE_PYTHON=/path/to/python3",
                    decoder, python.reason));
  const bool processes =
      (job.loader.kind == job::LoaderKind::pytorch || job.loader.kind == job::LoaderKind::pytorch_iterable) &&
      job.loader.workers_per_gpu != 0.0;
  return fmt::format("{} -I -B {} {} {:.0f} {:.0f} {:d}", sh_word(python.executable), sh_word(folder), decoder,
                     job.dataset.image_size.value_or(kUsualSide), std::clamp(job.step.micro_batch, 1.0, 64.0),
                     processes);
}

/// "" = none.
std::string codec_of(const Job& job) {
  return job.dataset.codec == job::SampleCodec::none ? "" : std::string(codec_word(job.dataset));
}

/// As files of the codec begin; where the job has none, images.
std::vector<std::string_view> beginnings_of(const Job& job, Node& node) {
  const std::string codec = codec_of(job);
  if (codec.empty()) return {"\xff\xd8\xff", "\x89PNG"};
  return node.backends().codec(codec).beginnings();
}

/// A part of the job's samples, one file each, from all over the data set. For shards and objects, temporary files are
/// made for the decoder.
class SampleFiles {
 public:
  SampleFiles(const Job& job, const std::string& data) {
    if (data.empty())
      throw UsageError("--calibrate: decodes the job's own samples: name them with --data PATH or dataset.path");
    try {
      Node node("");
      const auto set = DataSet::open({.path = data}, node, {});
      const FileTable& files = set->files();
      if (!files.holds_objects() && format_of(*set) == formats::Format::none) {
        const std::uint64_t most = std::min(files.count(), kMostFiles);
        for (std::uint64_t i = 0; i < most; ++i)
          paths_.push_back(
              std::filesystem::absolute(files.full_path(static_cast<std::uint32_t>(i * files.count() / most))));
        return;
      }
      write(some_samples(*set, beginnings_of(job, node), kMostFiles), codec_of(job).empty() ? "img" : codec_of(job),
            data);
    } catch (const RunError& e) {
      throw UsageError(fmt::format("--calibrate: {}", e.what()));
    }
  }
  ~SampleFiles() {
    try {
      if (folder_) folder_->remove();
    } catch (const std::exception& e) {
      print_stderr_line(Text::format("headrace: the samples for --calibrate are left: {}", e.what()));
    }
  }
  SampleFiles(const SampleFiles&) = delete;

  const std::vector<std::string>& paths() const { return paths_; }

 private:
  void write(const std::vector<std::vector<unsigned char>>& samples, const std::string& ending,
             const std::string& data) {
    if (samples.empty()) throw RunError(data + ": no sample in it begins as those of the job's codec do");
    const std::filesystem::path below = std::filesystem::temp_directory_path();
    folder_.emplace(MarkedFolder::make_private((below / files::random_name("headrace-samples-")).string(), "samples"));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < samples.size(); ++i) names.push_back(fmt::format("{:02}.{}", i, ending));
    std::vector<MarkedFolder::File> all;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      all.push_back({names[i], {reinterpret_cast<const char*>(samples[i].data()), samples[i].size()}});
      paths_.push_back(folder_->path() + "/" + names[i]);
    }
    folder_->write(all);
  }

  std::optional<MarkedFolder> folder_;
  std::vector<std::string> paths_;
};

/// A decoder that runs, and prints when it is done.
class Running {
 public:
  explicit Running(const std::string& command) : output_(::popen(command.c_str(), "r")) {}
  Running(Running&& other) noexcept : output_(std::exchange(other.output_, nullptr)) {}
  ~Running() {
    if (output_ != nullptr) ::pclose(output_);
  }

  /// Seconds of a sample. Throws UsageError.
  double seconds() {
    if (output_ == nullptr) throw UsageError("--calibrate: no shell can be started");
    std::string printed(kMostPrinted, '\0');
    printed.resize(std::fread(printed.data(), 1, printed.size(), output_));
    const int status = ::pclose(std::exchange(output_, nullptr));
    if (status != 0)
      throw UsageError(fmt::format("--calibrate: the decoder ended with {}: see above",
                                   WIFEXITED(status) ? WEXITSTATUS(status) : status));
    printed.erase(printed.find_last_not_of(" \n") + 1);
    std::string last = printed.substr(printed.rfind('\n') + 1);
    if (!last.empty() && (std::isdigit(static_cast<unsigned char>(last.back())) != 0)) last += "s";
    const Parsed time = parse_quantity(last, Dimension::seconds);
    if (!time || time.value <= 0)
      throw UsageError(
          fmt::format("--calibrate: the decoder printed '{}' and no time of a sample, such as 2.7ms or 0.0027", last));
    return time.value;
  }

 private:
  std::FILE* output_;
};

}  // namespace

Calibration calibrate(const std::string& decoder, const PlanOptions& options) {
  const Job job = job::load_job(options.job_file, options.job_overrides);
  std::string command = command_of(decoder, job);
  const SampleFiles samples(job, options.data.empty() ? job.dataset.path : options.data);
  const std::vector<std::string>& files = samples.paths();
  for (const std::string& file : files) command += " " + sh_word(file);
  const double workers = job.loader.workers_per_gpu.value_or(1) * job.cluster.gpus_per_node;
  const auto side_by_side = static_cast<unsigned>(std::clamp<double>(workers, 1, Node("").cores()));
  std::vector<Running> running;
  for (unsigned i = 0; i < side_by_side; ++i) running.emplace_back(command);
  std::vector<double> times;
  for (Running& one : running) times.push_back(one.seconds());
  Calibration found{.cpu_time_s = statistics::median(times), .how = {}};
  found.how = fmt::format(
      "dataset.cpu_time_per_sample: {} measured by --calibrate '{}' with {} sample{} of the data, {} at a time",
      exact_quantity(found.cpu_time_s, Dimension::seconds), decoder, files.size(), files.size() == 1 ? "" : "s",
      side_by_side);
  return found;
}

}  // namespace headrace::cli
