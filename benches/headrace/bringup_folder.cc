#include "benches/headrace/bringup_folder.h"

#include <fmt/format.h>

#include <cstdio>

#include "benches/headrace/bringup_text.h"
#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "harness/base/clock.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/bringup/hand_over.h"

namespace headrace::cli {
namespace {

constexpr const char* kJobFile = "job.yaml";  // as it was given
constexpr const char *kJunit = "junit.xml", *kPrometheus = "bringup.prom", *kCsv = "bringup.csv";
constexpr std::uint64_t kBetweenPages = 9;  // times as long as drawing one: no node is measured while a page is drawn

}  // namespace

void refuse_changed(const MarkedFolder& folder) {
  for (const char* name : {bringup::kFile, kJobFile, kJunit, kPrometheus, kCsv})
    if (!folder.may_write(name))
      throw UsageError(
          fmt::format("{}: is not as headrace wrote it, and stays as it is; put that back, or move it away "
                      "and begin anew, or name another folder: --out",
                      folder.folder().path_of(name)));
}

BringupFolder::BringupFolder(const std::string& path, bool draw)
    : folder_(MarkedFolder::make_alone(path, "bringup")), draw_(draw) {
  refuse_changed(folder_);
}

std::string BringupFolder::keep_job(const std::string& text) {
  folder_.write(kJobFile, text);
  return folder_.folder().path_of(kJobFile);
}

bool BringupFolder::write(const bringup::Record& record) {
  try {
    folder_.write(bringup::kFile, record_json(record));
    unwritten_.clear();
  } catch (const RunError& e) {
    if (unwritten_.empty()) print_stderr_line(Text::format("not kept, and going on: {}", e.what()));
    unwritten_ = e.what();
  }
  return unwritten_.empty();
}

void BringupFolder::keep(const bringup::Record& record) {
  if (!write(record)) return;
  const std::uint64_t began_ns = now_ns();
  if (!draw_ || !record.running || began_ns < next_page_ns_) return;
  drawn_or_reported(folder_, bringup::kFile);  // the last one gives the reason
  const std::uint64_t ended_ns = now_ns();
  next_page_ns_ = ended_ns + kBetweenPages * (ended_ns - began_ns);
}

int BringupFolder::finish(bringup::Record& record, const std::string& format, const Shared& shared) {
  std::string page;
  if (write(record)) try {
      folder_.write(kJunit, junit_xml(record));
      folder_.write(kPrometheus, prometheus_text(record));
      folder_.write(kCsv, findings_csv(record));
      if (draw_) page = drawn_or_reported(folder_, bringup::kFile);
    } catch (const RunError& e) {
      unwritten_ = e.what();
    }
  if (!unwritten_.empty()) {  // the folder holds an earlier round
    record.word = worst(record.word, Outcome::error);
    record.sentence += fmt::format(" The last of it could not be kept: {}.", unwritten_);
  }
  if (format == "json")
    print_document(record_json(record));
  else
    print(bringup_text(record, folder_.path(), page, Terminal(stdout, shared)));
  return exit_code(record.word, record.signal);
}

}  // namespace headrace::cli
