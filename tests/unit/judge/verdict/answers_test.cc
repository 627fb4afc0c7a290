// Which of several points answers a question.
#include "harness/judge/verdict/answers.h"
#include "harness/base/version.h"

#include <gtest/gtest.h>

namespace headrace::judging::answers_test {
namespace {

RecordedPoint point(const std::string& id, const std::vector<double>& rates) {
  RecordedPoint p;
  p.id = id;
  p.workload = "small_file_read";
  p.status = PointStatus::ok;
  p.params = {{"file_size", std::uint64_t{130000}}, {"workers", std::uint64_t{16}}, {"engine", std::string("posix")}};
  p.looks = statistics::plan_looks({5});
  for (const double rate : rates) {
    RecordedRepetition r;
    r.ok = true;
    r.elapsed_s = 1;
    r.metrics = {{"sample_rate", rate}};
    p.repetitions.push_back(r);
  }
  return p;
}

/// Of points that do what the job does equally well, the one that gave less over time answers; without a job's way the
/// one that gave more.
TEST(Answers, OfEquallyNearPointsTheMeanOverTimeDecides) {
  const std::vector<RecordedPoint> points{point("stalls", {100, 100, 100, 100, 40}),
                                          point("even", {95, 95, 95, 95, 95})};
  Question q;
  q.blank.id = "ingest.sample_rate";
  q.blank.unit = "1/s";
  q.blank.need = 10;
  q.measured_by = {"small_file_read.sample_rate"};
  q.workload = "small_file_read";
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).point, "even");  // 95/s of 88/s
  job::Way way;
  way.layout = "files";
  way.file_size = way.sample_size = 130e3;
  way.workers = 16;
  q.way = way;
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).point, "stalls");
}

Question sample_rate(double need) {
  Question q;
  q.blank.id = "ingest.sample_rate";
  q.blank.unit = "1/s";
  q.blank.need = need;
  q.measured_by = {"small_file_read.sample_rate"};
  q.workload = "small_file_read";
  return q;
}

Judgement judged(const RecordedPoint& p, double need) {
  return answer_all(std::vector{sample_rate(need)}, std::vector{p}).at(0);
}

TEST(Answers, OfASlowBuildMayFailAndNeverPass) {
  const RecordedPoint p = point("even", {95, 95, 95, 95, 95});
  Question q = sample_rate(10);
  EXPECT_EQ(answer_all(std::vector{q}, std::vector{p}).at(0).outcome, Outcome::pass);
  q.never_passes = slow_build("Debug", "address");
  const Judgement held = answer_all(std::vector{q}, std::vector{p}).at(0);
  EXPECT_EQ(held.outcome, Outcome::inconclusive);
  EXPECT_EQ(held.explanation, "this headrace is a Debug build with sanitizers (address): it accepts nothing");
  q.blank.need = 1000;
  EXPECT_EQ(answer_all(std::vector{q}, std::vector{p}).at(0).outcome, Outcome::fail);
  EXPECT_EQ(slow_build("Release", ""), "");
}

/// Opens of a point whose bytes were proven cold, in each repetition; `warm`: names may have been in memory in one.
Judgement opens(double need, const std::string& warm, const std::string& metric = "open_rate") {
  RecordedPoint p = point("small_file_read/job", {});
  for (int i = 0; i < 5; ++i) {
    RecordedRepetition r;
    r.elapsed_s = 1;
    r.metrics = {{metric, 100.0}};
    p.repetitions.push_back(r);
  }
  p.repetitions[3].warm_names = warm;
  Question q = sample_rate(need);
  q.blank.id = "opens";
  q.measured_by = {"small_file_read." + metric};
  return answer_all(std::vector{q}, std::vector{p}).at(0);
}

TEST(Answers, NamesThatMayBeInMemoryMeetNoNeed) {
  const std::string warm = "names and inodes may be in memory: only root can drop them";
  for (const char* metric : {"open_rate", "metadata_rate"}) {
    const Judgement held = opens(10, warm, metric);
    EXPECT_EQ(held.outcome, Outcome::inconclusive) << metric;
    EXPECT_EQ(held.reason, Reason::cache_unproven) << metric;
    EXPECT_NE(held.explanation.find("Cold is not proven of the names: " + warm + "."), std::string::npos)
        << held.explanation;
    EXPECT_NE(held.next_step.find("as root"), std::string::npos) << held.next_step;
  }
  EXPECT_EQ(opens(10, "").outcome, Outcome::pass);                   // dropped, or of an older file
  EXPECT_EQ(opens(1000, warm).outcome, Outcome::fail);               // memory only helps
  EXPECT_EQ(opens(10, warm, "sample_rate").outcome, Outcome::pass);  // of bytes, whose proof counts
}

/// 544 MB are free, 202 MB are needed, and a save ended with `reason`.
Judgement room_beside(const std::string& reason, const std::string& workload = "checkpoint_write") {
  RecordedPoint facts = point("host_facts", {}), save = point(workload + "/job", {});
  facts.workload = "host_facts";
  facts.deterministic = true;
  facts.repetitions.emplace_back().metrics = {{"free_space", 544e6}};
  save.workload = workload;
  save.status = PointStatus::error;
  save.reason = reason;
  Question q;
  q.blank.id = "checkpoint.capacity";
  q.blank.unit = "B";
  q.blank.need = 202e6;
  q.measured_by = {"host_facts.free_space"};
  q.workload = "host_facts";
  return answer_all(std::vector{q}, std::vector{facts, save}).at(0);
}

TEST(Answers, FreeSpaceIsNoRoomWhereASaveHadNone) {
  const Judgement held = room_beside("write a at offset 7: Disk quota exceeded (EDQUOT) (2 of 3 repetitions failed)");
  EXPECT_EQ(held.outcome, Outcome::inconclusive);
  EXPECT_NE(held.explanation.find("checkpoint_write/job had no room for its save"), std::string::npos)
      << held.explanation;
  EXPECT_NE(held.next_step.find("quota"), std::string::npos) << held.next_step;
  EXPECT_EQ(room_beside("allocate a: No space left on device (ENOSPC)").outcome, Outcome::inconclusive);
  EXPECT_EQ(room_beside("write a at offset 7: Input/output error (EIO)").outcome, Outcome::pass);
  EXPECT_EQ(room_beside("No space left on device (ENOSPC)", "random_read").outcome, Outcome::pass);
}

TEST(Answers, APointBeyondTheBudgetNeedsALargerOne) {
  RecordedPoint p = point("small_file_read/job", {});
  p.status = PointStatus::skipped;
  p.reason = std::string(kBudgetSpent) + "1 s is exhausted: a longer one measures it";
  EXPECT_EQ(judged(p, 10).outcome, Outcome::skipped);
  EXPECT_EQ(judged(p, 10).next_step, "run the same command with --only 'small_file_read/job' and a larger --budget");
  p.reason = "no GPU here";
  EXPECT_EQ(judged(p, 10).next_step, "headrace doctor names the missing part and how to get it");
}

/// A pipeline that decodes JPEGs and keeps its GPUs busy; decoding may take `headroom` times as long.
Judgement of_pipeline(const std::string& codec, double headroom, double utilization = 0.99) {
  RecordedPoint p;
  p.id = "input_pipeline/job";
  p.workload = "input_pipeline";
  p.status = PointStatus::ok;
  p.params = {{"codec", codec}, {"workers", std::uint64_t{4}}};
  p.looks = statistics::plan_looks({5});
  for (int i = 0; i < 5; ++i) {
    RecordedRepetition r;
    r.elapsed_s = 1;
    r.metrics = {{"accelerator_utilization", utilization}, {std::string(kDecodeHeadroom), headroom}};
    p.repetitions.push_back(r);
  }
  Question q;
  q.blank.id = "accelerator_utilization";
  q.blank.unit = "ratio";
  q.blank.need = 0.9;
  q.measured_by = {"input_pipeline.accelerator_utilization"};
  q.with = {{"workers", "loader.workers_per_gpu", 4}};
  q.workload = "input_pipeline";
  return answer_all(std::vector{q}, std::vector{p}).at(0);
}

TEST(Answers, ADecoderThatNoFrameworkHasIsNoPass) {
  const Judgement fast = of_pipeline("jpeg", 1.6);
  EXPECT_EQ(fast.outcome, Outcome::inconclusive);
  EXPECT_EQ(fast.reason, Reason::other_settings);
  EXPECT_NE(fast.explanation.find("headrace's own decoder"), std::string::npos) << fast.explanation;
  EXPECT_EQ(of_pipeline("png", 3.9).outcome, Outcome::inconclusive);
  EXPECT_EQ(of_pipeline("jpeg", 4.1).outcome, Outcome::pass) << "decoding four times as long changes nothing";
  EXPECT_EQ(of_pipeline("none", 1).outcome, Outcome::pass) << "what the job says that decoding takes";
  EXPECT_EQ(of_pipeline("jpeg", 1, 0.5).outcome, Outcome::fail) << "a slower one does no better";
}

TEST(Answers, UnreadableFilesOfTheDataSetAreNoPass) {
  RecordedPoint p = point("own", {95, 95, 95, 95, 95});
  p.params["path"] = std::string("/data/my set");
  p.left_out = {{"empty", 7}, {"of a desktop or a scheduler, no data", 1}};
  EXPECT_EQ(judged(p, 10).outcome, Outcome::pass) << "loaders leave such files out, too";
  p.left_out["not readable"] = 1;
  const Judgement one = judged(p, 10);
  EXPECT_EQ(one.outcome, Outcome::inconclusive);
  EXPECT_EQ(one.reason, Reason::other_settings);
  EXPECT_FALSE(one.thin);
  EXPECT_NE(one.explanation.find("1 file of the data set cannot be read"), std::string::npos) << one.explanation;
  EXPECT_TRUE(one.next_step.starts_with("find -L '/data/my set' ! -readable: ")) << one.next_step;
  p.left_out["not readable"] = 2;
  EXPECT_NE(judged(p, 10).explanation.find("2 files of the data set"), std::string::npos);
  EXPECT_FALSE(judged(p, 90).thin) << "an undecided need has no headroom";
  EXPECT_EQ(judged(p, 1000).outcome, Outcome::fail) << "a missed need stays missed";
  for (const auto& [path, folder] : {std::pair("/data/{0..9}.tar", "/data"), std::pair("*.tar", ".")}) {
    p.params["path"] = std::string(path);
    EXPECT_TRUE(judged(p, 10).next_step.starts_with(std::string("find -L ") + folder + " ! "));
  }
}

TEST(Answers, ParametersThatAPointMustHaveMayBeCounts) {
  RecordedPoint p = point("own", {95, 95, 95, 95, 95});
  Question q;
  q.blank.id = "ingest.sample_rate";
  q.blank.unit = "1/s";
  q.blank.need = 10;
  q.measured_by = {"small_file_read.sample_rate"};
  q.workload = "small_file_read";
  q.with = {{"workers", "loader.workers_per_gpu", 16}};
  EXPECT_EQ(answer_all(std::vector{q}, std::vector{p}).at(0).outcome, Outcome::pass);
  q.with.front().value = 8;
  EXPECT_EQ(answer_all(std::vector{q}, std::vector{p}).at(0).outcome, Outcome::skipped);
}

TEST(Answers, ARateOfZeroIsAValue) {
  const auto of = [](std::vector<double> rates) {
    RecordedPoint p = point("dead", rates);
    p.looks = statistics::plan_looks({5, 10, 15});
    return p;
  };
  const Judgement dead = judged(of(std::vector<double>(15, 0.0)), 100);
  EXPECT_EQ(dead.outcome, Outcome::fail) << dead.explanation;
  EXPECT_EQ(dead.measured, 0);
  EXPECT_EQ(dead.high, 0);
  std::vector<double> once(15, 0.0);
  once[7] = 120;
  EXPECT_EQ(judged(of(once), 100).outcome, Outcome::fail);
  std::vector<double> thirds(15, 120.0);
  for (const std::size_t i : {2, 5, 9, 12}) thirds[i] = 0;
  const Judgement open = judged(of(thirds), 100);
  EXPECT_EQ(open.outcome, Outcome::inconclusive);
  EXPECT_NEAR(*open.measured, 88, 1e-9);
  EXPECT_EQ(judged(of(std::vector<double>(5, 0.0)), 100).outcome, Outcome::fail);
  // 0 meets a need of at most 1.
  Question errors = sample_rate(1);
  errors.blank.higher_is_better = false;
  EXPECT_EQ(answer_all(std::vector{errors}, std::vector{of(std::vector<double>(15, 0.0))}).at(0).outcome,
            Outcome::pass);
}

TEST(Answers, NothingWithinAMomentIsNoRateOfZero) {
  RecordedPoint p = point("short", std::vector<double>(5, 0.0));
  for (RecordedRepetition& r : p.repetitions) r.elapsed_s = 0.0003;
  EXPECT_EQ(judged(p, 100).outcome, Outcome::inconclusive);
  for (RecordedRepetition& r : p.repetitions) r.elapsed_s = 1;
  EXPECT_EQ(judged(p, 100).outcome, Outcome::fail);
}

TEST(Answers, ARampThatDidNotHoldIsNoRateOfZero) {
  RecordedPoint p = point("ramp", std::vector<double>(5, 0.0));
  for (RecordedRepetition& r : p.repetitions) r.metrics = {{"highest_rate", 0}};
  Question q = sample_rate(100);
  q.measured_by = {"small_file_read.highest_rate"};
  const Judgement j = answer_all(std::vector{q}, std::vector{p}).at(0);
  EXPECT_EQ(j.reason, Reason::not_steady);
  EXPECT_FALSE(j.measured);
}

TEST(Answers, TwoSetsThatDoNotOverlapAreNoFail) {
  struct Row {
    double first, second;  // of the need
    Outcome outcome;
  };
  for (const Row& row : {Row{0.72, 0.97, Outcome::inconclusive},  // -28 %, then -3 %
                         {0.72, 1.02, Outcome::inconclusive},     // met
                         {0.72, 0.74, Outcome::fail},             // as before
                         {0.72, 0.80, Outcome::fail},             // better, and far below all the same
                         {0.90, 0.95, Outcome::fail},             // half as far below: sessions lie apart like that
                         {0.10, 0.60, Outcome::fail}}) {
    std::vector<double> rates;
    for (int i = 0; i < 20; ++i) rates.push_back(100 * (i < 15 ? row.first : row.second) * (1 + 0.002 * (i % 3 - 1)));
    RecordedPoint p = point("rested", rates);
    p.looks = statistics::plan_looks({5, 10, 15});
    p.measured_again = true;
    for (std::size_t i = 15; i < 20; ++i) {
      p.repetitions[i].look = 3;
      p.repetitions[i].counted = false;
    }
    const Judgement j = judged(p, 100);
    EXPECT_EQ(j.outcome, row.outcome) << row.first << " " << row.second << " " << j.explanation;
    const bool apart = j.explanation.find("the two sets do not overlap") != std::string::npos;
    EXPECT_EQ(apart, row.second == 0.97) << j.explanation;
  }
}

TEST(Answers, SharesHaveBoundsWithinOne) {
  RecordedPoint p = point("pipeline", {0.56, 0.99, 0.97, 0.2, 0.98});
  for (RecordedRepetition& r : p.repetitions) r.metrics = {{"accelerator_utilization", r.metrics["sample_rate"]}};
  Question q = sample_rate(0.9);
  q.blank.unit = "ratio";
  q.measured_by = {"small_file_read.accelerator_utilization"};
  const Judgement j = answer_all(std::vector{q}, std::vector{p}).at(0);
  EXPECT_EQ(j.high, 1);
  EXPECT_GE(*j.low, 0);
  q.blank.unit = "1/s";
  EXPECT_GT(*answer_all(std::vector{q}, std::vector{p}).at(0).high, 1);
}

/// However well the state of another way was proven, and however badly that of the job's own.
TEST(Answers, TheJobsOwnPointDecidesDespiteItsUnprovenState) {
  std::vector<RecordedPoint> points{point("more-workers", {100, 100, 100, 100, 100}),
                                    point("job", {50, 50, 50, 50, 50})};
  points[0].params["workers"] = std::uint64_t{32};
  points[1].repetitions[3].is_evidence = false;
  Question q;
  q.blank.id = "ingest.sample_rate";
  q.blank.unit = "1/s";
  q.blank.need = 70;
  q.measured_by = {"small_file_read.sample_rate"};
  q.workload = "small_file_read";
  q.way = job::Way{};
  q.way->layout = "files";
  q.way->file_size = q.way->sample_size = 130e3;
  q.way->workers = 16;
  const Judgement j = answer_all(std::vector{q}, points).at(0);
  EXPECT_EQ(j.point, "job");
  EXPECT_EQ(j.outcome, Outcome::inconclusive);
  EXPECT_EQ(j.reason, Reason::cache_unproven);
  points.pop_back();  // nobody measured the job's way: what was measured with more at work misses nothing
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).reason, Reason::other_settings);
}

/// A pair that is slow in one schedule is slow, however well others meet in another; of other settings the best is taken.
TEST(Answers, TheWorstScheduleAnswersAndOfOtherSettingsTheBest) {
  const auto stream = [](const std::string& id, const std::string& schedule, double rate) {
    RecordedPoint p = point(id, std::vector<double>(5, rate));
    p.workload = "tcp_stream";
    p.params = {{"schedule", schedule}};
    for (RecordedRepetition& r : p.repetitions) r.metrics = {{"nic_bandwidth", rate}};
    return p;
  };
  const std::vector<RecordedPoint> points{stream("one-stream", "all_pairs", 5e6), stream("pairs", "all_pairs", 8e6),
                                          stream("bisection", "bisection", 24e6)};
  Question q;
  q.blank.id = "network.nic_bandwidth";
  q.blank.unit = "B/s";
  q.blank.need = 8.4e6;
  q.measured_by = {"tcp_stream.nic_bandwidth"};
  q.workload = "tcp_stream";
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).point, "bisection");
  q.worst_over = "schedule";
  const Judgement j = answer_all(std::vector{q}, points).at(0);
  EXPECT_EQ(j.point, "pairs");
  EXPECT_EQ(j.outcome, Outcome::fail);
}

}  // namespace
}  // namespace headrace::judging::answers_test
