#include "harness/engine/explain/limit_proof.h"

#include <gtest/gtest.h>

namespace headrace::limit_proof_test {
namespace {

Estimate about(double value) { return {value, 0.98 * value, 1.02 * value}; }

void expect(const LoaderRates& rates, Limit limit, const std::string& words) {
  const LimitProof proof = prove_limit(rates);
  EXPECT_EQ(proof.limit, limit) << proof.sentence;
  EXPECT_NE(proof.sentence.find(words), std::string::npos) << proof.sentence;
}

TEST(LimitProofTest, StorageLimitsWhereDataInMemoryGivesMore) {
  expect({.taken = 12'000,
          .loader = about(4400),
          .no_decode = about(4450),
          .in_memory = about(9000),
          .more_workers = about(4410)},
         Limit::storage,
         "storage is the limit: it gives 4.45 k samples/s, where the GPUs would take 12.0 k; with the data in memory "
         "the same "
         "loader reaches 9.00 k");
  // Nothing is decoded: what the loader gives is what storage gives.
  expect({.taken = 12'000, .loader = about(4400), .no_decode = {}, .in_memory = about(90'000), .more_workers = {}},
         Limit::storage, "it gives 4.40 k samples/s");
}

TEST(LimitProofTest, AProcessorBoundJobIsNotAdvisedThatStorageLimits) {
  expect({.taken = 12'000,
          .loader = about(2000),
          .no_decode = about(30'000),
          .in_memory = about(2050),
          .more_workers = about(1990)},
         Limit::decoding, "without decoding it reaches 30.0 k, with the data in memory 2.05 k");
}

TEST(LimitProofTest, AConsumerBoundJobIsNotAdvisedThatStorageLimits) {
  // Memory would give ten times as much, which nobody takes.
  expect({.taken = 1000,
          .loader = about(1500),
          .no_decode = about(1500),
          .in_memory = about(15'000),
          .more_workers = about(3000)},
         Limit::gpus, "the GPUs are the limit");
}

TEST(LimitProofTest, StorageThatAnswersMoreReadersDoesNotLimit) {
  expect({.taken = 12'000,
          .loader = about(400),
          .no_decode = about(500),
          .in_memory = about(2000),
          .more_workers = about(800)},
         Limit::workers, "too few workers are the limit: they give 400 samples/s");
}

TEST(LimitProofTest, IfBothHelpTheLargerIsNamedAndTheOtherReported) {
  const LoaderRates read_most{.taken = 12'000,
                              .loader = about(1000),
                              .no_decode = about(1300),
                              .in_memory = about(4000),
                              .more_workers = about(1000)};
  expect(read_most, Limit::storage, "decoding takes its part, too");
  expect(read_most, Limit::storage, "storage is the limit");
  LoaderRates decode_most = read_most;
  std::swap(decode_most.no_decode, decode_most.in_memory);
  expect(decode_most, Limit::decoding, "reading takes its part, too");
  expect(decode_most, Limit::decoding, "decoding is the limit");
}

TEST(LimitProofTest, NothingIsProvenThatBoundsDoNotDistinguish) {
  const Estimate wide{1000, 300, 3000};
  expect({.taken = 12'000, .loader = wide, .no_decode = wide, .in_memory = about(2500), .more_workers = about(2500)},
         Limit::unknown, "not proven");
  expect({.taken = 12'000, .loader = about(1000), .no_decode = {}, .in_memory = about(1060), .more_workers = {}},
         Limit::unknown, "no counter-experiment gave more");
  expect({.taken = 12'000, .loader = about(1000), .no_decode = {}, .in_memory = {}, .more_workers = about(1010)},
         Limit::unknown, "no counter-experiment gave more");
  expect({.taken = 12'000, .loader = about(1000), .no_decode = about(1010), .in_memory = {}, .more_workers = {}},
         Limit::unknown, "no counter-experiment gave more");
  expect({.taken = 12'000, .loader = about(1000), .no_decode = {}, .in_memory = {}, .more_workers = {}}, Limit::unknown,
         "no counter-experiment was measured");
  expect({.taken = 1000,
          .loader = Estimate{1000, 500, 1500},
          .no_decode = {},
          .in_memory = about(9000),
          .more_workers = {}},
         Limit::unknown, "about what the GPUs take");
  expect({.taken = 1000, .loader = {}, .no_decode = {}, .in_memory = about(9000), .more_workers = {}}, Limit::unknown,
         "the loader alone was not measured");
}

TEST(LimitProofTest, WaitingGpusDoNotLimitRegardlessOfTheLoader) {
  LoaderRates rates{.taken = 160,
                    .starved = true,
                    .loader = Estimate{155, 150, 160},
                    .no_decode = {},
                    .in_memory = about(3000),
                    .more_workers = about(150)};
  expect(rates, Limit::storage, "storage is the limit: it gives 155 samples/s, where the GPUs would take 160");
  rates.more_workers = about(300);
  expect(rates, Limit::workers, "too few workers are the limit");
  rates.loader = about(200);
  rates.in_memory = about(210);
  rates.more_workers = about(205);
  expect(rates, Limit::unknown, "more of them ahead may help");
  rates.starved = false;
  expect(rates, Limit::gpus, "the GPUs are the limit");
}

TEST(LimitProofTest, ProcessesThatAreBusyTakingBatchesAreNamed) {
  const LoaderRates busy{.taken = 12'000,
                         .handed = 4500,
                         .taking_share = 0.97,
                         .loader = about(4400),
                         .no_decode = about(4450),
                         .in_memory = about(4450),
                         .more_workers = about(4420)};
  expect(busy, Limit::processes, "the GPUs' own processes can pass on 4.50 k samples/s at most, and pass on 4.40 k");
  LoaderRates short_of_processors = busy;  // others had them, too
  short_of_processors.loader = about(2200);
  short_of_processors.more_workers = about(3000);
  expect(short_of_processors, Limit::processes, "pass on 4.50 k samples/s at most, and pass on 2.20 k");
  LoaderRates idle = busy;
  idle.taking_share = 0.5;
  idle.in_memory = about(8800);
  expect(idle, Limit::storage, "storage is the limit");
  idle.taking_share = 0.97;
  idle.handed = 0;
  expect(idle, Limit::storage, "storage is the limit");  // taking a batch costs nothing
}

/// A rate that memory gave is no counter-experiment, and the limit is not guessed without it.
TEST(LimitProofTest, WithoutTheCounterExperimentOfMoreWorkersNothingElseLimits) {
  LoaderRates rates{
      .taken = 12'000, .loader = about(400), .no_decode = about(400), .in_memory = about(9000), .more_workers = {}};
  expect(rates, Limit::storage, "storage is the limit");  // it was not made
  rates.unproven = {"input_pipeline/double-workers"};
  expect(rates, Limit::unknown, "input_pipeline/double-workers may have read from memory");
  rates.more_workers = about(410);  // some of its repetitions are evidence
  expect(rates, Limit::storage, "storage is the limit");
  rates.loader.reset();
  rates.unproven = {"input_pipeline/no-step"};
  expect(rates, Limit::unknown, "without it no limit can be named");
}

}  // namespace
}  // namespace headrace::limit_proof_test
