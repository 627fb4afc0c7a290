// Draws a page by the Python package that headrace ships.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/files/marked_folder.h"

namespace headrace::cli {

/// The result of drawing a page, or why there is none.
struct Drawn {
  std::string page;  // the whole of it; "" = none
  std::string reason;
  bool bad_run = false;  // the data is not good: the user's to mend
};

/// A page, or its figures alone as SVG, which only a sweep of needs has.
enum class Form { page, figure };

/// The printed part of a page: a summary of two sheets with the rest folded, or all.
enum class Paper { summary, full };

/// Ends the title of each page, which is in its first 4 KiB.
inline constexpr std::string_view kPageSign = "headrace</title>";

/// Runs the report maker on a file such as run.json, comparison.json... Never throws: results are valid without their
/// page.
Drawn draw_report(const std::string& data, Form form = Form::page, Paper paper = Paper::summary);
/// The same for the content of such a file.
Drawn draw_text(std::string_view data, Form form = Form::page);

/// Draws the file `data` of `folder` into report.html next to it.
Drawn draw_into(const MarkedFolder& folder, const char* data);
/// The same for a line of output: the page's path, or "not drawn: " and why.
std::string drawn_or_reported(const MarkedFolder& folder, const char* data);

}  // namespace headrace::cli
