#include "benches/headrace/calibrate.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/node.h"
#include "harness/requirements/job.h"
#include "harness/statistics/summary.h"
#include "harness/storage/data_set/walk.h"
#include "harness/system/installation.h"
#include "harness/system/report_python.h"

namespace headrace::cli {
namespace {

using requirements::Job;

constexpr std::uint32_t kMostFiles = 64;
constexpr std::size_t kMostPrinted = 4096;
constexpr double kUsualSide = 224;  // pixels, as the pipeline has it

/// In single quotes, as a shell takes it for one word.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

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
    throw UsageError("--calibrate: this copy of headrace has no reports/headrace_decoders beside it");
  if (const std::string why = system::foreign_writer_within(folder); !why.empty())
    throw UsageError("--calibrate: the decoders are not run: " + why);
  const system::ReportPython python = system::find_python(modules);
  if (python.executable.empty())
    throw UsageError(
        fmt::format("--calibrate {}: no Python has it ({}); name the one that trains: HEADRACE_PYTHON=/path/to/python3",
                    decoder, python.reason));
  return fmt::format("{} -I -B {} {} {:.0f} {:.0f}", quoted(python.executable), quoted(folder), decoder,
                     job.dataset.image_size.value_or(kUsualSide), std::clamp(job.step.micro_batch, 1.0, 64.0));
}

/// A part of the samples' files, from all over the data set.
std::vector<std::string> files_of(const std::string& data) {
  if (data.empty())
    throw UsageError("--calibrate: decodes the job's own samples: name them with --data PATH or dataset.path");
  if (is_object_path(data)) throw UsageError("--calibrate: takes samples in files: name a folder of some with --data");
  try {
    const FileTable files = std::move(walk(data, {}, {}).files);
    std::vector<std::string> some;
    for (std::uint64_t i = 0; i < std::min(files.count(), kMostFiles); ++i)
      some.push_back(
          files.full_path(static_cast<std::uint32_t>(i * files.count() / std::min(files.count(), kMostFiles))));
    return some;
  } catch (const RunError& e) {
    throw UsageError(fmt::format("--calibrate: {}", e.what()));
  }
}

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
  const Job job = requirements::load_job(options.job_file, options.job_overrides);
  std::string command = command_of(decoder, job);
  const std::vector<std::string> files = files_of(options.data.empty() ? job.dataset.path : options.data);
  for (const std::string& file : files) command += " " + quoted(std::filesystem::absolute(file).string());
  const double workers = job.loader.workers_per_gpu.value_or(1) * job.cluster.gpus_per_node;
  const auto side_by_side = static_cast<unsigned>(std::clamp<double>(workers, 1, Node("").cores()));
  std::vector<Running> running;
  for (unsigned i = 0; i < side_by_side; ++i) running.emplace_back(command);
  std::vector<double> times;
  for (Running& one : running) times.push_back(one.seconds());
  Calibration found{.cpu_time_s = statistics::median(times), .how = {}};
  found.how = fmt::format(
      "dataset.cpu_time_per_sample: {} measured by --calibrate '{}' with {} file{} of the data, {} at a time",
      exact_quantity(found.cpu_time_s, Dimension::seconds), decoder, files.size(), files.size() == 1 ? "" : "s",
      side_by_side);
  return found;
}

}  // namespace headrace::cli
