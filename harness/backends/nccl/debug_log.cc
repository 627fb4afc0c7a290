#include "harness/backends/nccl/debug_log.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

extern char** environ;

namespace headrace::nccl {
namespace {

// Variables that are changed in place. setenv while NCCL's threads read the environment is a race; another value in the
// same memory is none. Words of the same length: INFO and WARN.
char level[] = "NCCL_DEBUG=WARN";
char subsystems[64];
char path[64];
constexpr std::string_view kNames[] = {"NCCL_DEBUG=", "NCCL_DEBUG_SUBSYS=", "NCCL_DEBUG_FILE="};

void set_level(const char* word) { std::memcpy(level + sizeof "NCCL_DEBUG=" - 1, word, 4); }

}  // namespace

DebugLog::DebugLog(void (*reset)()) : reset_(reset) {
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) {
    if (std::getenv(name) != nullptr) {
      why_deaf_ = std::string(name) + " is set: NCCL's log goes where that says";
      return;
    }
  }
  file_ = ::memfd_create("nccl-log", MFD_CLOEXEC);
  if (file_ < 0) {
    why_deaf_ = "no memory for NCCL's log";
    return;
  }
  std::snprintf(path, sizeof path, "NCCL_DEBUG_FILE=/proc/self/fd/%d", file_);
  // TUNING: a line for each operation.
  std::snprintf(subsystems, sizeof subsystems, "NCCL_DEBUG_SUBSYS=INIT,GRAPH,NET,P2P,SHM%s", reset_ ? ",TUNING" : "");
  for (char* variable : {level, subsystems, path}) ::putenv(variable);
}

DebugLog::~DebugLog() {
  if (file_ < 0) return;
  for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) ::unsetenv(name);
  ::close(file_);
}

void DebugLog::on() {
  if (file_ < 0 || on_) return;
  if (read_before_ && reset_ == nullptr) {  // still on since the first time
    on_ = true;
    return;
  }
  set_level("INFO");
  if (reset_ != nullptr) reset_();
  on_ = read_before_ = true;
}

std::string DebugLog::off() {
  if (!on_) return "";
  on_ = false;
  std::string text = written();
  if (reset_ != nullptr) {
    set_level("WARN");
    reset_();
    if (::ftruncate(file_, 0) != 0) return text;
  }
  return text;
}

std::string DebugLog::written() const {
  std::string text;
  char piece[65536];
  off_t at = 0;
  for (ssize_t n; file_ >= 0 && (n = ::pread(file_, piece, sizeof piece, at)) > 0; at += n)
    text.append(piece, static_cast<std::size_t>(n));
  return text;
}

std::string DebugLog::complaints() const {
  constexpr std::string_view kMark = " NCCL WARN ";
  constexpr std::size_t kMost = 3;
  std::vector<std::string> found;
  std::istringstream lines(written());
  for (std::string line; std::getline(lines, line);) {
    const auto at = line.find(kMark);
    if (at == std::string::npos) continue;
    std::string said = line.substr(at + kMark.size());
    std::erase(found, said);
    found.push_back(std::move(said));
  }
  if (found.size() > kMost) found.erase(found.begin(), found.end() - kMost);
  std::string all;
  for (const std::string& said : found) all += (all.empty() ? "" : "; ") + said;
  return all;
}

std::vector<std::string> DebugLog::settings() const {
  std::vector<std::string> found;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view one(*e);
    const bool own = file_ >= 0 && std::any_of(std::begin(kNames), std::end(kNames),
                                               [&](std::string_view n) { return one.starts_with(n); });
    if (one.starts_with("NCCL_") && !own) found.emplace_back(one);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace headrace::nccl
