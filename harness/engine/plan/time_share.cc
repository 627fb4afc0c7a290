#include "harness/engine/plan/time_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace headrace::time_share {

using config::Value;

double repetition_s(double own_s, unsigned repetitions, double beside) {
  return std::clamp(own_s / repetitions / beside, kShortest_s, kLongest_s);
}

Value repeat_within(double own_s, unsigned one_look) {
  Value looks, repeat;
  looks.kind = Value::Kind::list;
  for (const unsigned n : one_look > 0 ? std::vector{one_look} : std::vector{kFewest, 10u, 15u})
    looks.items.push_back(Value::scalar(std::to_string(n), {}));
  repeat.kind = Value::Kind::map;
  repeat.set("looks", looks);
  repeat.set("budget", Value::scalar(fmt::format("{:.3g}s", std::max(own_s, kShortest_s)), {}));
  return repeat;
}

}  // namespace headrace::time_share
