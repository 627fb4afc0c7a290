#include "benches/headrace/description.h"

#include <fmt/format.h>

#include <map>

#include "harness/base/diagnostics.h"

namespace headrace::cli {

const VerbDescription* ProgramDescription::find(const std::string& verb) const {
  for (const VerbDescription& one : verbs)
    if (one.name == verb) return &one;
  return nullptr;
}

std::string usage_of(const ProgramDescription& program, const VerbDescription& verb) {
  std::string text = program.name + " " + verb.name;
  bool more = false;
  for (const OptionDescription& option : verb.options) {
    if (!option.positional() && !option.required) {
      more = true;
      continue;
    }
    std::string word = option.positional() ? option.value : option.names.back() + " " + option.value;
    if (option.repeats) word += " ...";
    text += option.required ? " " + word : " [" + word + "]";
  }
  return more ? text + " [options]" : text;
}

std::string label_of(const OptionDescription& option) {
  if (option.positional()) return option.value + (option.repeats ? " ..." : "");
  return join(option.names) + (option.value.empty() ? "" : " " + option.value);
}

std::string hint_of_other_tools(const std::string& name) {
  static const std::map<std::string, std::pair<const char*, const char*>> kNames{
      {"--bs", {"fio's", "--block-size"}},
      {"--blocksize", {"fio's", "--block-size"}},
      {"--iodepth", {"fio's", "--queue-depth"}},
      {"--numjobs", {"fio's", "--workers"}},
      {"--size", {"fio's", "--file-size (of each of --files)"}},
      {"--nrfiles", {"fio's", "--files"}},
      {"--directory", {"fio's", "--at"}},
      {"--filename", {"fio's", "PATH, after the workload"}},
      {"--runtime", {"fio's", "--budget (in all) or --duration (each repetition)"}},
      {"--rw", {"fio's", "the workload, such as random_read"}},
      {"--readwrite", {"fio's", "the workload, such as random_read"}},
      {"--ioengine", {"fio's", "--engine"}},
      {"--loops", {"fio's", "--repeat"}},
      {"--threads", {"elbencho's", "--workers"}},
      {"--block", {"elbencho's", "--block-size"}},
      {"--iterations", {"elbencho's", "--repeat"}},
      {"--hostfile", {"mpirun's", "--hosts"}}};
  const auto known = kNames.find(name);
  return known == kNames.end() ? ""
                               : fmt::format(": {} {} is {} here", known->second.first, name, known->second.second);
}

std::string help_of(const OptionDescription& option) {
  std::string text = option.help;
  if (!option.fallback.empty()) text += fmt::format(" (default {})", option.fallback);
  if (!option.environment.empty()) text += fmt::format(" (or the variable {})", option.environment);
  return text;
}

}  // namespace headrace::cli
