// Draws a page by the Python package that headrace ships.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/files/marked_folder.h"

namespace headrace::cli {

/// What came of drawing a page, or why there is none.
struct Drawn {
  std::string page;  // the whole of it; "" = none
  std::string reason;
  bool bad_run = false;  // the data is not good: the user's to mend
};

/// A page, or its figures alone as SVG, which only a sweep of needs has.
enum class Form { page, figure };

/// What of a page goes to paper: a summary of two sheets with the rest folded, or all.
enum class Paper { summary, full };

/// Runs the report maker on a file such as run.json, comparison.json... Never throws: what was
/// measured is good without its page.
Drawn draw_report(const std::string& data, Form form = Form::page, Paper paper = Paper::summary);
/// The same of what such a file would hold.
Drawn draw_text(std::string_view data, Form form = Form::page);

/// Draws the file `data` of `folder` into report.html beside it.
Drawn draw_into(const MarkedFolder& folder, const char* data);
/// The same for a line of output: the page's path, or "not drawn: " and why.
std::string drawn_or_reported(const MarkedFolder& folder, const char* data);

}  // namespace headrace::cli
