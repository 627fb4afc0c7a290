// Writes the files of a run folder: aside, to disk, then renamed, so that a reader finds a whole
// file or none.
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "harness/config/document.h"
#include "harness/error.h"
#include "harness/results/result_store.h"
#include "harness/system/unique_fd.h"

namespace headrace::results {
namespace {

using system::UniqueFd;

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw system_error("write", path, errno);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void write_whole(const std::string& folder, const std::string& name, std::string_view text) {
  const std::string path = folder + "/" + name;
  const std::string aside = fmt::format("{}/.{}.{}.new", folder, name, ::getpid());
  try {
    const UniqueFd fd(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) throw system_error("create", aside, errno);
    write_all(fd.get(), text, path);
    if (::fsync(fd.get()) != 0) throw system_error("fsync", path, errno);
    if (::rename(aside.c_str(), path.c_str()) != 0) throw system_error("rename", path, errno);
  } catch (const RunError&) {
    ::unlink(aside.c_str());
    throw;
  }
}

}  // namespace

std::vector<std::string> write_run(const RunResult& run, const std::string& folder) {
  // Small and telling files first: on a full disk the verdict has the best chance.
  const std::pair<const char*, std::string> files[] = {
      {"verdict.json", verdict_json(run)},
      {"run.json", run_json(run)},
      {"junit.xml", junit_xml(run)},
      {"headrace.prom", prometheus_text(run)},
      {"env.json", env_json(run)},
      {"config.resolved.yaml", config::to_yaml(run.plan->resolved)},
      {"gbench.json", gbench_json(run)},
      {"results.csv", csv(run)},
  };
  std::vector<std::string> names;
  for (const auto& [name, text] : files) {
    write_whole(folder, name, text);
    names.emplace_back(name);
  }
  const UniqueFd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());  // the names, too
  return names;
}

}  // namespace headrace::results
