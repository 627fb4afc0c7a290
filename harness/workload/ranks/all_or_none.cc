#include "harness/workload/ranks/all_or_none.h"

#include <exception>

#include "harness/base/error.h"

namespace headrace {
namespace {

constexpr char kDone = 'd', kFailed = 'f', kUnsupported = 'u';  // the first byte of what is said

}  // namespace

std::vector<std::string> in_concert(Ranks& ranks, std::string_view what, double timeout_s,
                                    const std::function<std::string()>& step) {
  std::string own;
  std::exception_ptr trouble;
  try {
    own = kDone + step();
  } catch (const RanksError&) {
    throw;  // no word reaches the others any more
  } catch (const Unsupported& e) {
    own = std::string(1, kUnsupported) + e.what();
    trouble = std::current_exception();
  } catch (const std::exception& e) {
    own = std::string(1, kFailed) + e.what();
    trouble = std::current_exception();
  }
  std::vector<std::string> all;
  try {
    all = ranks.all_gather(what, own, timeout_s);
  } catch (const RanksError&) {
    if (!trouble) throw;  // else what this rank knows says more
  }
  if (trouble) std::rethrow_exception(trouble);
  for (unsigned r = 0; r < all.size(); ++r) {
    if (all[r].empty()) throw RunError(ranks.who(r) + " said nothing: is it of the same version?");
    const char kind = all[r].front();
    all[r].erase(0, 1);
    if (kind == kUnsupported) throw Unsupported(ranks.who(r) + ": " + all[r]);
    if (kind == kFailed) throw RunError(ranks.who(r) + ": " + all[r]);
  }
  return all;
}

}  // namespace headrace
