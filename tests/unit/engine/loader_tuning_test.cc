#include "harness/engine/explain/loader_tuning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>

namespace headrace::loader_tuning_test {
namespace {

constexpr double kTarget = 0.9;

job::Job job() {
  job::Job job;
  job.step.time = 0.1;
  job.step.micro_batch = 32;
  job.step.target_utilization = kTarget;
  job.dataset.sample_size = 1000;
  return job;
}

TriedLoader tried(double workers, double low, double high, double prefetch_factor = 2) {
  const double value = (low + high) / 2;
  return {.workers = workers,
          .prefetch_factor = prefetch_factor,
          .utilization = {.value = value, .low = low, .high = high},
          .rate = 320 * value};
}

/// A job with that many workers, and every other number up to 16 to try.
LoaderTrials trials(const TriedLoader& own, std::vector<TriedLoader> others = {}) {
  LoaderTrials t;
  t.taken = 320;
  t.own = own;
  t.others = std::move(others);
  t.prefetch = {1, 4, 8};
  for (double each = 1; each <= 16; ++each)
    if (each != own.workers) t.workers.push_back(each);
  return t;
}

std::optional<std::pair<double, double>> next_ahead(const LoaderTrials& t) {
  const auto next = next_prefetch(t, kTarget);
  return next ? std::optional(std::pair(next->workers, next->prefetch_factor)) : std::nullopt;
}

/// Searches a loader of which each worker gives `each` of what the GPUs take, and all together `most`.
LoaderTrials searched(double own, double each, double most, unsigned& tries) {
  const auto gives = [&](double workers) {
    const double value = std::min({1.0, each * workers, most});
    return tried(workers, value, value);
  };
  LoaderTrials t = trials(gives(own));
  t.busy_share = std::min(1.0, 1 / (each * own));
  for (tries = 0; tries < 20; ++tries) {
    const auto next = next_workers(t, kTarget);
    if (!next) break;
    t.others.push_back(gives(*next));
  }
  return t;
}

TEST(LoaderTuningTest, FewTriesFindTheFewestWorkersThatReachTheTarget) {
  for (const double own : {1.0, 2.0, 5.0, 8.0, 12.0}) {
    for (const double each : {0.95, 0.5, 0.31, 0.235, 0.19, 0.12, 0.061}) {
      unsigned tries = 0;
      const LoaderTuning t = tune_loader(job(), searched(own, each, 1, tries));
      ASSERT_TRUE(t.advised) << own << " workers of " << each;
      EXPECT_EQ(t.advised->workers, std::ceil(kTarget / each)) << own << " workers of " << each;
      EXPECT_LE(tries, 3u) << own << " workers of " << each;
    }
  }
}

TEST(LoaderTuningTest, TheNextNumberOfWorkersFollowsFromTheirRateOrTheTimeThatTheyAreBusy) {
  EXPECT_EQ(next_workers(trials(tried(2, 0.45, 0.45)), kTarget), 4) << "twice as many can give twice as much";
  LoaderTrials t = trials(tried(10, 1, 1));
  t.busy_share = 4 / 9.0;
  EXPECT_EQ(next_workers(t, kTarget), 4) << "busy in 40 % of nine tenths of the time";
  t.others = {tried(4, 0.5, 0.5)};
  EXPECT_EQ(next_workers(t, kTarget), 8) << "four give half: fewer than 7.2 cannot be enough";
}

TEST(LoaderTuningTest, IfMoreWorkersGainNothingNoneIsAdvised) {
  unsigned tries = 0;
  const LoaderTuning t = tune_loader(job(), searched(2, 0.31, 0.62, tries));
  EXPECT_FALSE(t.advised);
  EXPECT_LE(tries, 2u);
  ASSERT_EQ(t.reported.size(), 2u);
  EXPECT_NE(t.reported[0].find("reaches AU 0.90"), std::string::npos) << t.reported[0];
  EXPECT_NE(t.reported[0].find("more workers gain nothing"), std::string::npos) << t.reported[0];
}

TEST(LoaderTuningTest, TheAnswerIsThreeLines) {
  const LoaderTuning t = tune_loader(job(), trials(tried(2, 0.59, 0.59), {tried(5, 0.93, 0.94), tried(4, 0.77, 0.79)}));
  ASSERT_EQ(t.reported.size(), 3u);
  EXPECT_EQ(t.reported[0], "2 workers are too few: use num_workers=5 (189 -> 299 samples/s, AU 0.59 -> 0.93)");
  EXPECT_EQ(t.reported[1],
            "DataLoader(dataset, batch_size=32, num_workers=5, prefetch_factor=2, persistent_workers=True)");
  EXPECT_EQ(t.reported[2],
            "4 workers reach AU 0.77 to 0.79; other prefetch_factors than 2 were not tried; it takes up to 320 kB of "
            "prefetched batches");
}

TEST(LoaderTuningTest, TheJobsOwnNumberIsNotTheFewestWhereNoOtherWasTried) {
  const LoaderTuning t = tune_loader(job(), trials(tried(8, 1, 1)));
  ASSERT_TRUE(t.advised);
  EXPECT_EQ(t.advised->workers, 8);
  EXPECT_NE(t.reported[2].find("fewer than 8 were not tried"), std::string::npos) << t.reported[2];
  for (const std::string& line : t.reported) EXPECT_EQ(line.find("fewest"), std::string::npos) << line;
}

TEST(LoaderTuningTest, ATargetReachedByValueAloneIsNotAdvised) {
  const LoaderTuning t = tune_loader(job(), trials(tried(8, 1, 1), {tried(4, 0.85, 0.97)}));
  EXPECT_EQ(t.advised->workers, 8);
  EXPECT_NE(t.reported[2].find("4 workers reach AU 0.85 to 0.97; 5 to 7 were not tried"), std::string::npos)
      << t.reported[2];
}

TEST(LoaderTuningTest, MoreBatchesAheadAreTriedWhereTheLoaderIsFastEnoughOnAverage) {
  LoaderTrials t = trials(tried(4, 0.7, 0.72), {tried(5, 0.71, 0.73)});
  EXPECT_FALSE(next_workers(t, kTarget)) << "more workers gain nothing";
  EXPECT_FALSE(next_ahead(t)) << "what gives too little on average gains nothing, either";
  t.others.clear();
  EXPECT_TRUE(next_workers(t, kTarget));
  t.alone = 320;
  EXPECT_FALSE(next_workers(t, kTarget)) << "batches ahead come first";
  EXPECT_EQ(next_ahead(t), std::pair(4.0, 4.0));
  t.others.push_back(tried(4, 0.8, 0.82, 4));
  EXPECT_EQ(next_ahead(t), std::pair(4.0, 8.0));
  LoaderTrials all_tried = t;
  all_tried.others.push_back(tried(4, 0.81, 0.83, 8));
  EXPECT_TRUE(next_workers(all_tried, kTarget)) << "where they do not help, more workers may";
  all_tried.alone = 640;
  EXPECT_FALSE(next_ahead(all_tried)) << "nor do they with fewer workers";
  t.others.push_back(tried(4, 0.95, 0.96, 8));
  EXPECT_FALSE(next_ahead(t)) << "between 4 and 8 there is none to try";
  EXPECT_FALSE(next_workers(t, kTarget)) << "batches ahead mended it";
  const LoaderTuning found = tune_loader(job(), t);
  EXPECT_NE(found.reported[0].find("use prefetch_factor=8"), std::string::npos) << found.reported[0];
  EXPECT_NE(found.reported[1].find("num_workers=4, prefetch_factor=8"), std::string::npos) << found.reported[1];
}

TEST(LoaderTuningTest, FewerBatchesAheadAreTriedWithTheWorkersThatAreAdvised) {
  EXPECT_EQ(next_ahead(trials(tried(4, 0.95, 1), {tried(3, 0.7, 0.72)})), std::pair(4.0, 1.0));
  EXPECT_EQ(next_ahead(trials(tried(8, 1, 1), {tried(3, 0.95, 0.96)})), std::pair(3.0, 1.0)) << "not the job's 8";
  LoaderTrials t = trials(tried(8, 1, 1), {tried(3, 0.95, 0.96), tried(3, 0.91, 0.92, 1)});
  EXPECT_FALSE(next_ahead(t));
  const LoaderTuning found = tune_loader(job(), t);
  EXPECT_EQ(found.reported[0],
            "8 workers are more than it takes: num_workers=3 and prefetch_factor=1 reaches AU 0.91 of 0.90 asked for");
  EXPECT_EQ(found.reported[2].find("prefetch_factors"), std::string::npos) << found.reported[2];
}

TEST(LoaderTuningTest, OneWorkerFewerWithMoreBatchesAheadIsTriedWhereItIsFastEnoughOnAverage) {
  LoaderTrials t = trials(tried(2, 0.5, 0.5), {tried(5, 0.95, 0.96), tried(4, 0.85, 0.88)});
  EXPECT_EQ(next_ahead(t), std::pair(5.0, 1.0)) << "how fast they are on average was not measured";
  t.alone = 150;  // of two workers: that four give twice as much, was not measured
  EXPECT_EQ(next_ahead(t), std::pair(5.0, 1.0));
  t = trials(tried(6, 1, 1), {tried(5, 0.95, 0.96), tried(4, 0.85, 0.88)});
  t.alone = 400;  // of six: four give 267
  EXPECT_EQ(next_ahead(t), std::pair(5.0, 1.0));
  t.alone = 480;  // of six: four give 320
  EXPECT_EQ(next_ahead(t), std::pair(4.0, 4.0));
  t.others.push_back(tried(4, 0.89, 0.92, 4));
  EXPECT_EQ(next_ahead(t), std::pair(4.0, 8.0));
  LoaderTrials missed = t;
  missed.others.push_back(tried(4, 0.89, 0.93, 8));
  EXPECT_EQ(next_ahead(missed), std::pair(5.0, 1.0)) << "more are not tried: fewer with the workers that reach it";
  t.others.push_back(tried(4, 0.93, 0.95, 8));
  EXPECT_FALSE(next_ahead(t)) << "4 miss it with 4 batches";
  const LoaderTuning found = tune_loader(job(), t);
  EXPECT_EQ(found.reported[0],
            "6 workers are more than it takes: num_workers=4 and prefetch_factor=8 reaches AU 0.94 of 0.90 asked for");
}

TEST(LoaderTuningTest, AProcessThatReadsItselfIsAdvisedWorkers) {
  job::Job of = job();
  of.loader.workers_per_gpu = 0;
  const LoaderTuning more = tune_loader(of, trials(tried(1, 0.3, 0.3, 1), {tried(4, 0.95, 1, 1)}));
  EXPECT_EQ(more.reported[0].find("no worker process is too few: use num_workers=4 ("), 0u) << more.reported[0];
  const LoaderTuning one = tune_loader(of, trials(tried(1, 0.8, 0.8, 1), {tried(1, 0.95, 1, 2)}));
  EXPECT_EQ(one.reported[0].find("no worker process is too few: use num_workers=1 and prefetch_factor=2"), 0u)
      << one.reported[0];
  const LoaderTuning enough = tune_loader(of, trials(tried(1, 0.95, 1, 1)));
  EXPECT_EQ(enough.reported[0], "no worker process is enough: AU 0.97 of 0.90 asked for");
}

TEST(LoaderTuningTest, CoresFollowFromTheMeasuredCostOfDecoding) {
  job::Job of = job();
  of.dataset.cpu_time_per_sample = 0.004;
  LoaderTrials t = trials(tried(4, 0.95, 1));
  EXPECT_EQ(tune_loader(of, t).cores, 2) << "288/s of 4 ms each are 1.2 cores";
  t.cpu_time_s = 0.01;
  EXPECT_EQ(tune_loader(of, t).cores, 3) << "288/s of 10 ms each are 2.9 cores";
  EXPECT_EQ(tune_loader(job(), trials(tried(4, 0.95, 1))).cores, 0) << "nothing is decoded";
}

TEST(LoaderTuningTest, SettingsAreThoseOfTheJobsLoader) {
  job::Job of = job();
  of.loader.kind = job::LoaderKind::tfdata;
  const LoaderTuning t = tune_loader(of, trials(tried(2, 0.5, 0.5), {tried(4, 0.95, 1)}));
  EXPECT_NE(t.reported[0].find("use num_parallel_calls=4"), std::string::npos) << t.reported[0];
  EXPECT_NE(t.reported[1].find("num_parallel_calls=4"), std::string::npos) << t.reported[1];
}

TEST(LoaderTuningTest, AnswersNameChangesAndUntriedSettings) {
  struct Case {
    TriedLoader own, other;
    const char *answer, *open;
  };
  for (const Case& c :
       {Case{tried(1, 0.5, 0.5), tried(3, 0.95, 0.96),
             "1 worker is too few: use num_workers=3 (160 -> 306 samples/s, AU 0.50 -> 0.95)",
             "1 worker reaches AU 0.50; 2 were not tried; other prefetch_factors than 2 were not tried; it takes up to "
             "192 kB of prefetched batches, and 3 cores to decode"},
        Case{tried(4, 0.95, 0.96, 4), tried(4, 0.91, 0.92, 1),
             "4 workers are as many as it takes, and prefetch_factor=1 reaches AU 0.91 of 0.90 asked for",
             "fewer than 4 were not tried; it takes up to 128 kB of prefetched batches, and 3 cores to decode"},
        Case{tried(4, 0.95, 0.97), tried(3, 0.6, 0.6), "4 workers with 2 batches ahead reach AU 0.96 of 0.90 asked for",
             "3 workers reach AU 0.60; other prefetch_factors than 2 were not tried; it takes up to 256 kB of "
             "prefetched batches, and 3 cores to decode"},
        Case{tried(2, 0.3, 0.32), tried(4, 0.6, 0.63),
             "no number of workers that was tried (2, 4) reaches AU 0.90: 4 workers with 2 batches ahead reach AU 0.61 "
             "(197 samples/s)",
             "more than 4 workers were not tried; other prefetch_factors than 2 were not tried"},
        Case{tried(2, 0.6, 0.62), tried(4, 0.61, 0.65),
             "no number of workers that was tried (2, 4) reaches AU 0.90: 4 workers with 2 batches ahead reach AU 0.63 "
             "(202 samples/s); more workers gain nothing",
             "other prefetch_factors than 2 were not tried"}}) {
    LoaderTrials t = trials(c.own, {c.other});
    t.cpu_time_s = 0.01;
    const LoaderTuning found = tune_loader(job(), t);
    EXPECT_EQ(found.reported.front(), c.answer);
    EXPECT_EQ(found.reported.back(), c.open);
  }
  job::Job of = job();
  of.loader.kind = job::LoaderKind::in_flight;
  const LoaderTuning threads = tune_loader(of, trials(tried(1, 0.5, 0.5), {tried(2, 0.95, 0.96)}));
  EXPECT_NE(threads.reported[0].find("use threads=2"), std::string::npos) << threads.reported[0];
  EXPECT_EQ(threads.reported[1], "2 reading threads for each GPU, with as many requests in flight as were rehearsed");
}

TEST(LoaderTuningTest, WithoutTheJobsOwnSettingNothingIsAdvised) {
  const LoaderTrials none;
  EXPECT_FALSE(next_workers(none, kTarget));
  EXPECT_FALSE(tune_loader(job(), none).advised);
}

}  // namespace
}  // namespace headrace::loader_tuning_test
