// The common output of all verbs that measure; results are shown by each verb.
#pragma once

#include <exception>
#include <string>

#include "benches/headrace/console.h"
#include "benches/headrace/session/measure.h"

namespace headrace::cli {

/// Errors and lost processes as lines of their own on standard error.
class TerminalAudience : public session::Audience {
 public:
  void failed(const std::exception& error) override { print_error(error); }
  void lost(const std::string& who, const std::string& why) override {
    print_stderr_line(Text::format("headrace: {}: {}", who, why));
  }
  int delivered(int code) override { return cli::delivered(code); }
};

}  // namespace headrace::cli
