#include "benches/headrace/session/run_folder.h"

#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/results/result_store.h"

namespace headrace::session {

namespace {

constexpr double kWorth = 20;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

bool SoFar::is_due() const { return took_s_ == 0 || now_s() - last_s_ >= kWorth * took_s_; }

void SoFar::write(const RunResult& known) {
  const double begin_s = now_s();
  try {
    folder_.write(kSoFar, results::run_json(known));
  } catch (const RunError&) {  // the whole run's files will report
  }
  last_s_ = now_s();
  took_s_ = last_s_ - begin_s;
}

namespace fs = std::filesystem;

std::string next_folder(const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[32];
  std::strftime(time, sizeof time, "%Y%m%d-%H%M%S", &utc);
  constexpr std::size_t kLongest = 200;  // a folder's name ends at 255
  std::string safe = name.substr(0, kLongest);
  for (char& c : safe) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '-';
  }
  return (fs::path(kRuns) / fmt::format("{}-{}", time, safe)).string();
}

MarkedFolder run_folder(const std::string& out, const std::string& name) {
  if (out.empty()) return MarkedFolder::make_next(next_folder(name), "run");
  const auto holds = [&](const char* name) {
    std::error_code ignored;  // make_alone() reports a folder that may not be entered
    return fs::exists(fs::path(out) / name, ignored);
  };
  const auto refuse_second = [&] {
    if (holds("run.json"))
      throw UsageError(
          fmt::format("--out: {} already holds a run; runs are never overwritten: name another folder", out));
    if (holds(kSoFar))
      throw UsageError(
          fmt::format("--out: {} has the results of a run that was killed, {}: name another folder, or remove it by "
                      "`headrace clean {}`",
                      out, kSoFar, shell_word(out)));
  };
  refuse_second();
  MarkedFolder folder = MarkedFolder::make_alone(out, "run");
  refuse_second();        // another run may have ended in the meantime
  folder.remove_files();  // of a run that was cut short while it wrote: no old verdict stays with a new run
  return folder;
}

}  // namespace headrace::session
