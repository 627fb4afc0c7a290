// The data set of the seen files. It asks the file system, within bounds, after the job was watched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/observe/learning/roles.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

struct DataSurvey {
  std::string folder;                   // above all files that were read; "" = none was seen
  std::vector<std::string> extensions;  // of those
  formats::Format format = formats::Format::none;
  std::uint64_t seen = 0;                // different files that processes were found at
  bool read = false;                     // those were found being read; else they were only open, or mapped
  std::uint64_t files = 0, folders = 0;  // in it, with these extensions
  std::uint64_t bytes = 0;
  double size_deviation = 0;    // standard deviation of the files' sizes [B]
  bool complete = false;        // everything was listed within the bounds
  std::string unlisted;         // the first folder or file that could not be looked at, and why; "" = none
  double samples_per_file = 0;  // of shards: in those that were looked into; 0 = not known
  std::uint64_t shards_parsed = 0;
  std::string device;       // "254:0", the disk below; "" = none
  std::string file_system;  // "ext4", "nfs4"
  double mean_size() const { return files > 0 ? static_cast<double>(bytes) / static_cast<double>(files) : 0; }
};

struct SurveyBounds {
  std::uint64_t most_files = 300000;
  double seconds = 5;
  std::uint64_t shard_bytes = 16 << 20;  // of each shard that is looked into
};

/// Is it a library, a program or the system's: no data of a job.
bool is_program_file(std::string_view path);
/// Does it begin with "#!", and one of those commands has its name? It is the job's program then, and no data.
bool is_script(const std::string& path, const std::vector<std::string>& commands);
/// Of its processes, each once.
std::vector<std::string> commands_of(const Recording& recording);

/// The deepest folder that nine tenths of `all` are below: the looks at files, or their bytes.
std::string common_folder(const std::vector<std::pair<std::string, std::uint64_t>>& files, std::uint64_t all);

/// `root`: the prefix of paths, where the process has another root ("/proc/17/root"). Reads names, sizes, and the begin
/// of three shards.
DataSurvey survey_data(const Recording& recording, const Roles& roles, const std::string& root,
                       const SurveyBounds& bounds = {});

}  // namespace headrace::observe
