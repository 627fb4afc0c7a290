// Every run file of one made-up run: byte for byte, well-formed, escaped, whole or not at all.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/results/exit_map.h"
#include "harness/results/exports.h"
#include "harness/results/result_store.h"
#include "tests/unit/fixed_run.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::testing {

FixedRun::FixedRun() {
  plan.plan.name = "golden";
  plan.plan.config_file = "configs/golden.yaml";
  plan.plan.config_hash = "9f2c0001";
  plan.plan.seed = 7;
  plan.plan.not_asked = {"gpu.h2d_bandwidth"};
  job::Job job;
  job.name = "resnet50-imagenet";
  job.description = "ResNet-50 on ImageNet-1k, one node";
  job.values = {{"cluster.nodes", "1"}, {"dataset.sample_size", "130000B"}};
  plan.plan.job = job;
  result.plan = &plan.plan;
  result.build = {"0.1.0", "abc1234", "GCC 12.2.0", "Release", ""};
  result.run_id = "20260131-120000-golden";
  result.started_utc = "2026-01-31T12:00:00Z";
  result.elapsed_s = 92.25;
  result.command = {"headrace", "qualify", "-c", "configs/golden.yaml"};
  result.environment = {
      {"host", {{"name", "node17"}}}, {"kernel", {{"release", "6.1.0"}}}, {"file_system", {{"type", "ext4"}}}};
  measured_point();
  skipped_point();
  judged();
  for (std::size_t i = 0; i < result.points.size(); ++i) result.points[i].point = &plan.plan.points[i];
}

Repetition FixedRun::repetition(unsigned index, double rate) const {
  Repetition r;
  r.index = index;
  r.metrics = {{"read_bandwidth", rate}, {"fixed", 12}, {"latency_p99_ns", 1.5e6}, {"elapsed_s", 1.25}, {"cpu_s", 0.5}};
  r.cache = nothing_proven(CacheState::cold);
  r.cache.resident_before = 0;
  r.cache.resident_after = 1;
  r.cache.delivered_bytes = r.cache.storage_bytes = 1000000000;
  r.cache.device_bytes = 1004000000;
  r.cache.method = "cachestat";
  r.cache.proven = true;
  r.cache.why = "0.0 % resident before; 100 % of the bytes from storage";
  r.disturbance.io_pressure = 0.25;
  r.disturbance.cpu_steal = 0.001;
  PhaseResult p;
  p.name = "main";
  p.elapsed_s = 1.25;
  p.first_finish_s = 1.125;
  p.cpu_s = 0.5;
  p.bytes = 1000000000;
  p.operations = 8000;
  p.storage_bytes = 1000000000;
  p.device_bytes = 1004000000;
  for (int i = 0; i < 7900; ++i) p.latency.add(900'000);
  for (int i = 0; i < 100; ++i) p.latency.add(1'500'000);
  p.parts.resize(2);
  for (int i = 0; i < 8000; ++i) p.parts[0].add(20'000);
  for (int i = 0; i < 8000; ++i) p.parts[1].add(870'000);
  p.worker_finish_s = {1.25, 1.125};
  p.worker_bytes = {500000000, 500000000};
  for (int i = 0; i < 10; ++i) p.series.push_back({0.0625 + 0.125 * i, rate + 1e6 * i, 6400, 1.4e6});
  r.phases.push_back(std::move(p));
  return r;
}

void FixedRun::measured_point() {
  auto workload = plan.add();
  workload->threads = 2;
  workload->parts = {"open", "read"};
  Point& point = plan.plan.points.back();
  point.id = "scripted/engine:posix";
  point.cache = CacheState::cold;
  point.params = {{"direct", false},
                  {"engine", std::string("posix")},
                  {"file_size", std::uint64_t{130000}},
                  {"think_time", 0.25},
                  {"workers", std::uint64_t{2}}};
  PointResult p;
  p.status = PointStatus::ok;
  p.workers = 2;
  p.latency_parts = {"open", "read"};
  p.looks = statistics::plan_looks({5, 10, 15});
  p.notes = {"no huge pages: ordinary pages"};
  p.left_out = {{"not readable", 3}};
  p.elapsed_s = 31.5;
  const double rates[] = {8.9e8, 9.1e8, 9.4e8, 9.0e8, 9.2e8, 4.0e8};
  for (unsigned i = 0; i < 6; ++i) p.repetitions.push_back(repetition(i, rates[i]));
  Repetition& disturbed = p.repetitions[5];
  disturbed.counted = false;
  disturbed.disturbance.disturbed = true;
  disturbed.disturbance.foreign_bytes = 60000000;
  disturbed.disturbance.why = "foreign I/O on the device, 6 % of the test's bytes";
  Repetition failed;
  failed.index = 6;
  failed.counted = false;
  failed.status = RepetitionStatus::error;
  failed.error = "read of data/f000001.bin at offset 4096: Input/output error (EIO); 3 operations failed";
  p.repetitions.push_back(failed);
  p.metrics = {{.name = "read_bandwidth",
                .unit = "B/s",
                .description = "bytes per second",
                .better = Better::higher,
                .median = 9.1e8,
                .low = 8.9e8,
                .high = 9.4e8,
                .is_range = true,
                .values = {8.9e8, 9.1e8, 9.4e8, 9.0e8, 9.2e8},
                .too_few_operations = false,
                .mean_over_time = {}},
               {.name = "latency_p99_ns",
                .unit = "ns",
                .description = "99th percentile of the latency",
                .better = Better::lower,
                .median = 1.5e6,
                .low = 1.5e6,
                .high = 1.5e6,
                .is_range = true,
                .values = {1.5e6, 1.5e6, 1.5e6, 1.5e6, 1.5e6},
                .too_few_operations = false,
                .mean_over_time = {}}};
  result.points.push_back(std::move(p));
}

void FixedRun::skipped_point() {
  plan.add();
  plan.plan.points.back().id = "scripted/engine:io_uring";
  PointResult p;
  p.status = PointStatus::skipped;
  p.reason = "io_uring_setup: Operation not permitted (kernel.io_uring_disabled = 2)";
  result.points.push_back(std::move(p));
}

void FixedRun::judged() {
  Judgement fail;
  fail.id = "ingest.read_bandwidth";
  fail.scope = "node";
  fail.outcome = Outcome::fail;
  fail.explanation =
      "Measured 910 MB/s in 5 repetitions; even the good bound, 940 MB/s, misses the need of 1.60 "
      "GB/s: -43 %.";
  fail.next_step = "read with more in flight";
  fail.required = 1331200000;
  fail.need = 1597440000;
  fail.unit = "B/s";
  fail.measured = 9.1e8;
  fail.low = 8.9e8;
  fail.high = 9.4e8;
  fail.headroom = 9.1e8 / 1597440000;
  fail.repetitions = 5;
  fail.point = "scripted/engine:posix";
  fail.metric = "scripted.read_bandwidth";
  fail.formula = "A3";
  fail.equation = "R * S * alpha * (1 - h)";
  fail.substituted = "10240/s * 130 kB * 1 * (1 - 0)";
  Judgement open = fail;
  open.id = "p99 <of \"open\" & read>";
  open.outcome = Outcome::inconclusive;
  open.reason = Reason::straddles;
  open.explanation = "The bounds span the need.";
  open.next_step = "run the same command with --only 'scripted/engine:posix' --looks 15,30,45";
  open.higher_is_better = false;
  open.required = open.need = 1.5e6;
  open.unit = "ns";
  open.measured = 1.5e6;
  open.low = 1.4e6;
  open.high.reset();
  open.headroom = 1;
  open.formula = open.equation = open.substituted = "";
  Judgement skipped;
  skipped.id = "ingest.metadata_rate";
  skipped.scope = "node";
  skipped.explanation = "Nothing in this configuration measures it";
  skipped.required = 40960;
  skipped.need = 49152;
  skipped.unit = "1/s";
  Judgement pass = fail;
  pass.id = "host.prefetch_memory";
  pass.outcome = Outcome::pass;
  pass.explanation = "Available: 40.0 GB; needed: 23.7 GB: +69 %.";
  pass.next_step = "";
  pass.unit = "B";
  pass.required = 1.973e10;
  pass.need = 2.3676e10;
  pass.measured = pass.low = pass.high = 4e10;
  pass.headroom = 4e10 / 2.3676e10;
  result.judgements = {fail, open, skipped, pass};
  result.summary = summarize(result.judgements, 0);
}

}  // namespace headrace::testing

namespace headrace::results::results_test {
namespace {

using testing::FixedRun;
using testing::TemporaryFolder;
using Json = nlohmann::json;

/// The run as exports see it: read back from its run.json.
std::string exported(std::string_view word, const StoredRun& run, const ExportOptions& options = {}) {
  return export_format(word).text(run, options);
}

StoredRun stored(const FixedRun& run) { return parse_run(run_json(run.result), "run.json"); }

TEST(RunJson, IsByteForByteTheGoldenFile) {
  const std::string path = source_dir() + "/tests/golden/run.json";
  const std::string text = run_json(FixedRun().result);
  if (std::getenv("HEADRACE_WRITE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << "HEADRACE_WRITE_GOLDEN=1 writes it anew";
}

TEST(RunJson, RefusesValuesThatJsonCannotHold) {
  FixedRun run;
  run.result.points[0].repetitions[2].phases[0].elapsed_s = std::nan("");
  try {
    (void)run_json(run.result);
    FAIL() << "wrote a value that is no number";
  } catch (const RunError& e) {
    EXPECT_NE(std::string(e.what()).find("elapsed_s"), std::string::npos) << e.what();
  }
}

TEST(RunJson, NamesThatAreNotUtf8StillGiveJson) {
  FixedRun run;
  run.result.points[0].wrong_blocks = {{"caf\xe9\n.bin", 0, "all zero"}};
  EXPECT_FALSE(Json::parse(run_json(run.result)).empty());
}

TEST(VerdictJson, HoldsTheVerdictsAlone) {
  const Json v = Json::parse(verdict_json(FixedRun().result));
  EXPECT_EQ(v["schema"], kSchema);
  EXPECT_EQ(v["kind"], "headrace.verdict");
  EXPECT_EQ(v["summary"]["word"], "FAIL");
  EXPECT_EQ(v["summary"]["exit_code"], 10);
  EXPECT_EQ(v["judgements"].size(), 4u);
  EXPECT_FALSE(v.contains("points"));
  EXPECT_EQ(Json::parse(env_json(FixedRun().result))["environment"]["kernel"]["release"], "6.1.0");
}

TEST(GbenchJson, HasTheKeysOfItsReaders) {
  const Json g = Json::parse(exported("gbench", stored(FixedRun())));
  EXPECT_TRUE(g["context"]["caches"].is_array());
  StoredRun slow = stored(FixedRun());
  slow.build_type = "Release", slow.sanitizers = "";
  EXPECT_EQ(Json::parse(exported("gbench", slow))["context"]["library_build_type"], "release");
  slow.build_type = "Debug";
  EXPECT_EQ(Json::parse(exported("gbench", slow))["context"]["library_build_type"], "debug");
  ASSERT_EQ(g["benchmarks"].size(), 5u);  // those that count
  for (std::size_t i = 0; i < 5; ++i) {
    const Json& b = g["benchmarks"][i];
    EXPECT_EQ(b["name"], "scripted/engine:posix");
    EXPECT_EQ(b["run_type"], "iteration");
    EXPECT_EQ(b["repetition_index"], i);
    EXPECT_DOUBLE_EQ(b["real_time"], 1.25e9 / 8000);
    EXPECT_DOUBLE_EQ(b["cpu_time"], 0.5e9 / 8000);
    EXPECT_EQ(b["time_unit"], "ns");
  }
  EXPECT_EQ(g["benchmarks"][2]["read_bandwidth"], 9.4e8);
}

/// Tags balance, attributes are quoted, no stray markup: enough of XML for what is written here.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t at = xml.find("?>") + 2;
  while (at < xml.size()) {
    const std::size_t tag = xml.find('<', at);
    for (std::size_t i = at; i < std::min(tag, xml.size()); ++i) EXPECT_TRUE(std::isspace(xml[i])) << xml.substr(i, 40);
    if (tag == std::string::npos) break;
    std::size_t end = tag + 1;
    for (bool quoted = false; end < xml.size() && (quoted || xml[end] != '>'); ++end) {
      if (xml[end] == '"') quoted = !quoted;
      EXPECT_NE(xml[end], '<');
    }
    std::string inside = xml.substr(tag + 1, end - tag - 1);
    if (inside.front() == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(inside.substr(1), open.back());
      open.pop_back();
    } else if (inside.back() != '/') {
      open.push_back(inside.substr(0, inside.find(' ')));
    }
    at = end + 1;
  }
  EXPECT_TRUE(open.empty());
}

TEST(Junit, IsWellFormedAndEscaped) {
  FixedRun run;
  run.result.judgements[2].explanation = "a <b> & \"c\" \x01 'd'";
  const std::string xml = exported("junit", stored(run));
  expect_well_formed(xml);
  EXPECT_NE(xml.find("<testsuites name=\"golden\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""),
            std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<testsuite name=\"scripted\" tests=\"3\""), std::string::npos);
  EXPECT_NE(xml.find("<testsuite name=\"not measured\" tests=\"1\""), std::string::npos);
  EXPECT_NE(xml.find("<error type=\"inconclusive\" message=\"straddles: The bounds span the need. Next: "),
            std::string::npos);
  EXPECT_NE(xml.find("p99 &lt;of &quot;open&quot; &amp; read&gt;"), std::string::npos);
  EXPECT_NE(xml.find("a &lt;b&gt; &amp; &quot;c&quot; \\u0001 &apos;d&apos;"), std::string::npos);
  EXPECT_NE(xml.find("<property name=\"headroom\" value=\"0.569"), std::string::npos);
}

TEST(Prometheus, BaseUnitsAndNoTimestamps) {
  const std::string text = exported("prom", stored(FixedRun()));
  EXPECT_NE(text.find("# TYPE headrace_verdict gauge\n"), std::string::npos);
  EXPECT_NE(text.find("headrace_verdict{need=\"ingest.read_bandwidth\",scope=\"node\",state=\"FAIL\"} 1\n"),
            std::string::npos);
  EXPECT_NE(text.find("headrace_verdict{need=\"ingest.read_bandwidth\",scope=\"node\",state=\"PASS\"} 0\n"),
            std::string::npos);
  EXPECT_NE(text.find("headrace_measured{need=\"p99 <of \\\"open\\\" & "
                      "read>\",scope=\"node\",unit=\"s\"} 0.0015\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("headrace_measured{need=\"ingest.metadata_rate\""), std::string::npos);
  EXPECT_NE(text.find("headrace_exit_code 10\n"), std::string::npos);
  EXPECT_NE(text.find("headrace_last_run_timestamp_seconds 1769860892\n"), std::string::npos) << text;
}

TEST(Csv, OneValuePerRow) {
  const std::string text = exported("csv", stored(FixedRun()));
  EXPECT_EQ(text.find("run,node,workload,point,parameters,metric,unit,direction,repetition,value,"
                      "disturbed,counted\r\n"),
            0u);
  EXPECT_NE(text.find("20260131-120000-golden,node17,scripted,scripted/engine:posix,"
                      "cache=cold;direct=false;engine=posix;file_size=130000;think_time=0.25;workers=2,"
                      "read_bandwidth,B/s,higher,5,400000000,true,false\r\n"),
            std::string::npos)
      << text;
}

TEST(Junit, TheReaderChoosesTheCodeOfInconclusive) {
  const StoredRun run = stored(FixedRun());
  const std::string failures = exported("junit", run, {JunitInconclusive::failure});
  EXPECT_NE(failures.find("failures=\"2\" errors=\"0\" skipped=\"1\""), std::string::npos);
  const std::string skipped = exported("junit", run, {JunitInconclusive::skipped});
  EXPECT_NE(skipped.find("failures=\"1\" errors=\"0\" skipped=\"2\""), std::string::npos);
  expect_well_formed(failures);
  expect_well_formed(skipped);
}

TEST(Bmf, EveryMetricIsAMeasureWithBounds) {
  const Json all = Json::parse(exported("bmf", stored(FixedRun())));
  const Json& rate = all["scripted/engine:posix"]["read_bandwidth"];
  EXPECT_EQ(rate["value"], 9.12e8);
  EXPECT_LT(rate["lower_value"], rate["value"]);
  EXPECT_GT(rate["upper_value"], rate["value"]);
  EXPECT_EQ(all.size(), 1u);  // the skipped point has no measures
}

TEST(Nagios, OneLineWithRangesThatAlert) {
  const std::string line = exported("nagios", stored(FixedRun()));
  EXPECT_EQ(line.find("HEADRACE CRITICAL - FAIL: 1 of 4 needs met"), 0u) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_NE(line.find("'ingest.read_bandwidth@node'=910000000;"), std::string::npos) << line;
  EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 1);
}

TEST(ExitMaps, NameTheCallersRemedy) {
  struct Row {
    int code;
    Remark remark;
    int posix, ctest, nagios, slurm;
  };
  constexpr Remark none = Remark::none, thin = Remark::thin, unasked = Remark::nothing_asked;
  for (const Row& row :
       {Row{0, none, 0, 0, 0, 0}, Row{0, thin, 0, 0, 1, 0}, Row{10, none, 1, 1, 2, 1}, Row{11, none, 1, 1, 3, 0},
        Row{12, none, 1, 1, 3, 0}, Row{77, none, 1, 77, 3, 0}, Row{1, none, 1, 1, 3, 0}, Row{2, none, 1, 1, 3, 0},
        Row{0, unasked, 0, 0, 3, 1}, Row{12, unasked, 1, 1, 3, 1}}) {
    EXPECT_EQ(mapped_exit(ExitMap::headrace, row.code, row.remark), row.code);
    EXPECT_EQ(mapped_exit(ExitMap::posix, row.code, row.remark), row.posix);
    EXPECT_EQ(mapped_exit(ExitMap::ctest, row.code, row.remark), row.ctest);
    EXPECT_EQ(mapped_exit(ExitMap::nagios, row.code, row.remark), row.nagios) << row.code;
    EXPECT_EQ(mapped_exit(ExitMap::slurm_prolog, row.code, row.remark), row.slurm) << row.code;
    EXPECT_EQ(mapped_exit(ExitMap::nhc, row.code, row.remark), row.slurm) << row.code;
    const int critical = mapped_exit(ExitMap::nagios, row.code, Remark::none) == 2 ? 1 : 2;
    EXPECT_EQ(mapped_exit(ExitMap::npd, row.code, row.remark),
              row.code == 0 && row.remark != Remark::nothing_asked ? 0 : critical)
        << row.code;
  }
  EXPECT_EQ(exit_map_named("slurm"), ExitMap::slurm_prolog);
  EXPECT_FALSE(exit_map_named("bash"));
}

TEST(WriteRun, EveryFileWholeAndNothingElse) {
  const TemporaryFolder folder;
  const std::vector<std::string> names = write_run(FixedRun().result, MarkedFolder::make(folder / "run", "run"));
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run"))
    if (entry.path().filename() != MarkedFolder::kMark) found.insert(entry.path().filename());
  EXPECT_EQ(found, std::set<std::string>(names.begin(), names.end()));
  EXPECT_EQ(names.size(), 8u);
  EXPECT_EQ(folder.read("run/run.json"), run_json(FixedRun().result));
}

TEST(WriteRun, AFolderThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  const MarkedFolder run = MarkedFolder::make(folder / "gone", "run");
  std::filesystem::rename(folder / "gone", folder / "moved");
  try {
    write_run(FixedRun().result, run);
    FAIL();
  } catch (const RunError& e) {
    EXPECT_NE(std::string(e.what()).find("gone: is gone"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace headrace::results::results_test
