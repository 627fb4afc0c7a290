// The only access to the standard streams: prints, and reports whether it arrived.
#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

#include "benches/headrace/text.h"

namespace headrace::cli {

/// On standard output, as it is; print_line() with a line break.
void print(const Text& text);
void print_line(const Text& text);
/// A whole text for programs, such as JSON or CSV. Terminal control characters are escaped; line breaks stay.
void print_document(std::string_view text, std::FILE* to = stdout);

/// On standard error. report() stays on its line, and shows at once.
void print_stderr(const Text& text);
void print_stderr_line(const Text& text);
/// The text of an error: one line, or a line for each problem.
void print_error(const std::exception& error);
void print_json_line(std::string_view json);

/// Closed standard streams become /dev/null, for else the next file that is opened becomes one.
/// Before anything is opened.
void open_closed_streams();

/// Empties the buffers and returns the exit code. It is `code`, or 1 where standard output failed, which is reported on
/// standard error. A reader that closed the pipe is no error.
int delivered(int code);

}  // namespace headrace::cli
