// A finished run in the formats of other tools. All of them are made from run.json alone, so that
// `headrace report --format` gives later what the run folder got.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/results/run_file.h"

namespace headrace::results {

/// The JUnit outcome, which has no such kind, of a need that is INCONCLUSIVE.
enum class JunitInconclusive { error, failure, skipped };

/// The caller's options.
struct ExportOptions {
  JunitInconclusive inconclusive = JunitInconclusive::error;
};

/// A format. Each file of exports/ has one, and no other file names them.
struct ExportFormat {
  const char* word;  // of --format
  const char* file;  // of every run folder; "" = only when it is asked for
  std::string (*text)(const StoredRun& run, const ExportOptions& options);
  const char* sign;  // in the first 4 KiB of each text
};

/// `const RegisterExport registered{30, {"junit", "junit.xml", write}};` - the number orders them.
struct RegisterExport {
  RegisterExport(int order, const ExportFormat& format);
};

/// All of them, in order.
std::span<const ExportFormat> export_formats();
/// The format of that name; another one is our own bug.
const ExportFormat& export_format(std::string_view word);

/// A Nagios plugin's output: one line for people, then performance data per measured need. Its ranges would alert
/// (thin: warning, missed: critical). `old`: why it is too old, "" = it is not.
std::string nagios_text(const StoredVerdict& verdict, std::string_view old = "");
/// Prometheus text file for the node exporter's textfile collector.
std::string prometheus_text(const StoredVerdict& verdict);

}  // namespace headrace::results
