// What is reported beside the answers of points that read an object store.
#include "harness/judge/verdict/store_words.h"

#include <gtest/gtest.h>

namespace headrace::judging::store_words_test {
namespace {

RecordedPoint point(const std::string& id, double rate, double cpu_s, double in_flight) {
  RecordedPoint p;
  p.id = id;
  p.workload = "random_read";
  p.status = PointStatus::ok;
  RecordedRepetition r;
  r.metrics = {{"read_iops", rate},
               {"read_bandwidth", 1e5 * rate},
               {"requests_in_flight", in_flight},
               {"first_byte_latency_p50_ns", 10e6},
               {"latency_p50_ns", 12e6},
               {"cpu_s", cpu_s},
               {"elapsed_s", 1}};
  p.repetitions.push_back(r);
  return p;
}

Judgement asked(double need) {
  Judgement j;
  j.need = need;
  j.unit = "1/s";
  j.metric = "random_read.read_iops";
  return j;
}

TEST(StoreWords, ReportConcurrencySizeAndTheLeastProcessorTime) {
  const std::vector<RecordedPoint> points{point("job", 1000, 0.5, 12), point("queue", 2000, 0.4, 64),
                                          point("cheap-and-slow", 100, 0.001, 1)};
  Judgement j = asked(500);
  report_requests(points[0], points, "read_iops", j);
  EXPECT_NE(j.explanation.find("12 requests were in flight; by their latency the need takes 6"), std::string::npos)
      << j.explanation;
  // 100 kB in 2 ms are 50 MB/s: 9 * 10 ms of them.
  EXPECT_NE(j.explanation.find("requests of 4.50 MB and more"), std::string::npos) << j.explanation;
  EXPECT_NE(j.explanation.find("queue reaches it with the least processor time, 0.1 cores instead of 0.25 cores"),
            std::string::npos)
      << j.explanation;
}

TEST(StoreWords, ReportOnlySettingsThatReachTheNeed) {
  const std::vector<RecordedPoint> points{point("job", 1000, 0.5, 12), point("queue", 2000, 0.4, 64)};
  Judgement j = asked(1500);
  report_requests(points[0], points, "read_iops", j);
  EXPECT_NE(j.explanation.find("queue reaches it with the least processor time, 0.3 cores."), std::string::npos)
      << j.explanation;
  Judgement more = asked(5000);
  report_requests(points[0], points, "read_iops", more);
  EXPECT_EQ(more.explanation.find("processor time"), std::string::npos) << more.explanation;
}

TEST(StoreWords, AreSilentOfFiles) {
  RecordedPoint files = point("job", 1000, 0.5, 12);
  files.repetitions[0].metrics.erase("requests_in_flight");
  Judgement j = asked(500);
  EXPECT_FALSE(read_objects(files));
  report_requests(files, std::vector{files}, "read_iops", j);
  EXPECT_EQ(j.explanation, "");
}

}  // namespace
}  // namespace headrace::judging::store_words_test
