#include "benches/headrace/first_commands.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>

#include "harness/base/system/list_names.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kMostNames = 1000;

/// Endings of data sets, and the job that reads such a set.
struct ShippedJob {
  std::string_view ending, job, reads;
};
constexpr ShippedJob kShippedJobs[] = {
    {"jpg", "resnet50-imagenet", "images"},
    {"jpeg", "resnet50-imagenet", "images"},
    {"png", "resnet50-imagenet", "images"},
    {"tar", "image-generation-webdataset", "tar shards"},
    {"parquet", "parquet-recommender", "Parquet files"},
    {"mp4", "video-clips", "video clips"},
    {"tfrecord", "mlperf-resnet50-h100", "TFRecord files"},
    {"npz", "mlperf-unet3d-h100", "NumPy files"},
    {"bin", "gpt-7b-512gpu", "token files"},
};

std::string ending_of(std::string name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || dot == 0) return "";
  name.erase(0, dot + 1);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

/// The job that reads the most of these files; nullptr: none does.
const ShippedJob* nearest_job(const std::vector<std::string>& names) {
  std::map<const ShippedJob*, std::size_t> count;
  const ShippedJob* most = nullptr;
  for (const std::string& name : names) {
    const auto job = std::ranges::find(kShippedJobs, ending_of(name), &ShippedJob::ending);
    if (job == std::end(kShippedJobs)) continue;
    if (++count[job] > (most == nullptr ? 0 : count[most])) most = job;
  }
  return most;
}

/// A hosts file's name among them, or "".
std::string hosts_file(const std::vector<std::string>& names) {
  for (const char* name : {"hosts", "hostfile", "hosts.txt", "machinefile"})
    if (std::ranges::find(names, name) != names.end()) return name;
  return "";
}

}  // namespace

std::vector<std::string> names_near(const std::string& folder) {
  std::vector<std::string> here, all;
  system::list_names(AT_FDCWD, folder.c_str(), here);
  std::erase_if(here, [](const std::string& name) { return name.starts_with("."); });
  all.assign(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(std::min(here.size(), kMostNames)));
  for (const std::string& name : here) {
    if (all.size() >= kMostNames) break;
    std::vector<std::string> inside;
    system::list_names(AT_FDCWD, (folder + "/" + name).c_str(), inside);
    inside.resize(std::min(inside.size(), kMostNames - all.size()));
    all.insert(all.end(), inside.begin(), inside.end());
  }
  return all;
}

std::vector<Example> first_commands(const std::vector<std::string>& names) {
  std::vector<Example> all{{"headrace doctor", "Show this machine, and the tests that can run here"}};
  const ShippedJob* const job = nearest_job(names);
  if (job != nullptr)
    all.push_back({"headrace qualify configs/jobs/" + std::string(job->job) + ".yaml --data . --budget 1min",
                   "Can this storage feed a training job with the " + std::string(job->reads) + " of this folder?"});
  else
    all.push_back({"headrace qualify configs/jobs/resnet50-imagenet.yaml --at headrace-scratch --budget 1min",
                   "Can the storage of this folder feed a ResNet-50 on eight GPUs? Makes data in headrace-scratch"});
  const char* const slurm = std::getenv("SLURM_JOB_NODELIST");
  if (const std::string hosts = hosts_file(names); !hosts.empty())
    all.push_back({"headrace bringup --hosts " + hosts, "Which of these hosts, NICs and links are bad?"});
  else if (slurm != nullptr && *slurm != '\0')
    all.push_back({"scontrol show hostnames > hosts && headrace bringup --hosts hosts",
                   "Which hosts, NICs and links of this job are bad?"});
  else
    all.push_back({"headrace observe -- python3 train.py", "What does a training script wait for?"});
  return all;
}

}  // namespace headrace::cli
