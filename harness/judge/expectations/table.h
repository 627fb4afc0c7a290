// Figures of healthy hardware, as data. They are physical rates of parts and their usual share for each figure
// (expectations.yaml, and users' tables).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/diagnostics.h"

namespace headrace::expectations {

/// The rate of one unit of a part, where the machine does not report it.
struct RateEntry {
  std::string part;     // kind: "gpu_memory", "disk"
  std::string name;     // pattern of the part's name or model
  double rate = 0;      // [B/s], one way; 0 = `unknown` has the reason
  std::string unknown;  // "a volume gives its bought rate"
  std::string source;
};

/// Which share of a part's rate a metric reaches.
struct FigureEntry {
  std::string workload, metric;                                        // "h2d", "bandwidth"
  std::string part, link;                                              // kinds; link: "" = any
  std::vector<std::pair<std::string, std::vector<std::string>>> with;  // parameter: one of these
  std::vector<std::pair<std::string, double>> at_least;                // parameter: this value or more [SI]
  std::vector<std::string> cache;                                      // states; empty = any
  unsigned nodes = 0;                                                  // measured together by that many; 0 = any
  double most_rate = 0;                                                // of the part [B/s]; 0 = any
  double usual_low = 0, usual_high = 0;                                // share of the rate
  double least = 0;                                                    // below it something is wrong
  std::string source;
};

/// Entries in the order in which they are looked through.
struct Table {
  std::vector<RateEntry> rates;
  std::vector<FigureEntry> figures;
};

/// Parses a table; its errors go to `problems` with their place.
Table parse_table(std::string_view text, const std::string& file_name, Diagnostics& problems);

/// The table that headrace carries, behind the user's own where `file` is not "". `known`: the figures that workloads
/// report ("h2d.bandwidth"); none: any are taken. Throws UsageError with every problem of that file.
Table load_table(const std::string& file = "", const std::vector<std::string>& known = {});

/// The text of the table that headrace carries.
std::string_view carried_table();

/// Kinds of parts that there are.
const std::vector<std::string>& part_kinds();

}  // namespace headrace::expectations
