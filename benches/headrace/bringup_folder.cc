#include "benches/headrace/bringup_folder.h"

#include <cstdio>

#include "benches/headrace/bringup_text.h"
#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "harness/base/clock.h"
#include "harness/bringup/hand_over.h"

namespace headrace::cli {
namespace {

constexpr std::uint64_t kBetweenPages = 9;  // times as long as drawing one: nobody is measured meanwhile

}  // namespace

BringupFolder::BringupFolder(const std::string& path, bool draw)
    : folder_(MarkedFolder::make_alone(path, "bringup")), draw_(draw) {}

void BringupFolder::keep(const bringup::Record& record) {
  folder_.write(bringup::kFile, record_json(record));
  const std::uint64_t began_ns = now_ns();
  if (!draw_ || !record.running || began_ns < next_page_ns_) return;
  drawn_or_told(folder_, bringup::kFile);  // the last one tells why there is none
  const std::uint64_t ended_ns = now_ns();
  next_page_ns_ = ended_ns + kBetweenPages * (ended_ns - began_ns);
}

int BringupFolder::finish(const bringup::Record& record, const std::string& format, const Shared& shared) {
  folder_.write(bringup::kFile, record_json(record));
  folder_.write("junit.xml", junit_xml(record));
  folder_.write("bringup.prom", prometheus_text(record));
  folder_.write("bringup.csv", findings_csv(record));
  const std::string page = draw_ ? drawn_or_told(folder_, bringup::kFile) : "";
  if (format == "json")
    print_document(record_json(record));
  else
    print(bringup_text(record, folder_.path(), page, Terminal(stdout, shared)));
  return exit_code(record.word, record.signal);
}

}  // namespace headrace::cli
