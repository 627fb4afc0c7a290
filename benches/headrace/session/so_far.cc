#include "benches/headrace/session/so_far.h"

#include <chrono>

#include "harness/base/error.h"
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

}  // namespace headrace::session
