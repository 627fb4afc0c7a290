// The only way to the standard streams: what is printed, and whether it arrived.
#pragma once

#include <exception>
#include <string_view>

#include "benches/headrace/text.h"

namespace headrace::cli {

/// On standard output, as it is; print_line() with a line break.
void print(const Text& text);
void print_line(const Text& text);
/// A whole text for programs, such as JSON or CSV: characters that a terminal would obey are
/// escaped, its line breaks are its own.
void print_document(std::string_view text);

/// On standard error. report() stays on its line, and shows at once.
void print_stderr(const Text& text);
void print_stderr_line(const Text& text);
/// What an error says: one line, or a line for each problem.
void print_error(const std::exception& error);
void print_json_line(std::string_view json);

/// Closed standard streams become /dev/null, for else the next file that is opened becomes one.
/// Before anything is opened.
void open_closed_streams();

/// Empties the buffers, and says what the process ends with: `code`, or 1 in its place where
/// standard output did not take all, which is reported on standard error. A reader who went away had
/// what he wanted.
int delivered(int code);

}  // namespace headrace::cli
