#include "benches/headrace/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/printable.h"
#include "harness/judge/verdict/word.h"

namespace headrace::cli {
namespace {

int lost = 0;  // errno of the first write to standard output that failed

void write_to(std::FILE* stream, std::string_view text) {
  errno = 0;
  const bool good = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (!good && stream == stdout && lost == 0) lost = errno != 0 ? errno : EIO;
}

}  // namespace

void print(const Text& text) { write_to(stdout, text.str()); }

void print_line(const Text& text) { write_to(stdout, text.str() + "\n"); }

void print_document(std::string_view text, std::FILE* to) { write_to(to, printable_lines(text)); }

void print_stderr(const Text& text) {
  write_to(stderr, text.str());
  std::fflush(stderr);
}

void print_stderr_line(const Text& text) { write_to(stderr, text.str() + "\n"); }

void print_error(const std::exception& error) {
  const bool several = dynamic_cast<const UsageErrors*>(&error) != nullptr;
  print_stderr_line(several ? Text::lines(error.what()) : Text(error.what()));
}

void print_json_line(std::string_view json) { write_to(stderr, printable_lines(json) + "\n"); }

void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest descriptor that is free is this one.
    if (::open("/dev/null", O_RDWR) != stream) std::abort();
  }
}

int delivered(int code) {
  errno = 0;
  if (std::fflush(stdout) != 0 && lost == 0) lost = errno != 0 ? errno : EIO;
  if (lost == 0 || lost == EPIPE) return code;
  print_stderr_line(Text::format("headrace: cannot write to standard output: {}", errno_text(lost)));
  lost = 0;  // reported
  return exit_code_when_lost(code);
}

}  // namespace headrace::cli
