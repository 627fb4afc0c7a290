// What a call that has to fail says.
#pragma once

#include <string>

#include "harness/base/error.h"

namespace headrace::testing {

/// The message of the RunError that `call` throws; "" where it throws none.
template <typename Call>
std::string failure_of(Call&& call) {
  try {
    call();
  } catch (const RunError& e) {
    return e.what();
  }
  return "";
}

}  // namespace headrace::testing
