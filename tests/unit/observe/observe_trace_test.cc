// The data set by a trace of each call: of a job that looks from outside saw little of.
#include "harness/observe/sampling/trace.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/observe/learning/learned.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::observe::observe_trace_test {
namespace {

const Learned& find(const Observation& seen, std::string_view key) {
  static const Learned kNone;
  for (const Learned& one : seen.learned)
    if (one.key == key) return one;
  return kNone;
}

/// A script reads six files of 2 MB, one every 31.25 ms for 1.5 s. Looks counted 64 MB/s, and found no file.
struct Traced : ::testing::Test {
  testing::TemporaryFolder folder;
  const std::string data = folder.path() + "/data", script = folder.path() + "/job";
  Observation seen;

  Traced() {
    std::filesystem::create_directory(data);
    std::ofstream(script) << "#!/bin/sh\n";
    seen.roles.begin_s = 0.25;
    seen.roles.end_s = 1.75;
    seen.bytes_per_s = 64e6;
    learn_number(seen, "cluster.gpus_per_node", 1, 0, Dimension::count, Confidence::low, "");
    learn_word(seen, "dataset.layout", "files", Confidence::guess, "");
    learn_number(seen, "dataset.sample_size", 1e5, 0, Dimension::bytes, Confidence::guess, "");
    learn_number(seen, "step.time", 1e5 / 64e6, 0, Dimension::seconds, Confidence::guess, "");
    learn_number(seen, "step.micro_batch", 1, 0, Dimension::count, Confidence::guess, "");
  }
  void apply() {
    calls::LogBuilder builder("headrace");
    const std::uint32_t thread = builder.thread(7);
    const auto read = [&](double at_s, const std::string& path, std::int64_t bytes) {
      const std::uint32_t file = builder.file(path);
      builder.add({.begin_s = at_s, .thread = thread, .file = file, .kind = calls::Kind::open, .to_read = true});
      builder.add({.begin_s = at_s, .thread = thread, .file = file, .bytes = bytes, .kind = calls::Kind::read});
    };
    read(99.9, script, 10);
    for (int i = 0; i < 48; ++i) read(100.0 + i * 0.03125, fmt::format("{}/{}", data, i % 6), 2'000'000);
    apply_trace(builder.take(), seen, 0.2, {"/bin/sh ./job"});
  }
};

TEST_F(Traced, OpensGiveTheRateAndTheirFolderTheDataSet) {
  apply();
  EXPECT_EQ(find(seen, "dataset.sample_size").value, 2e6);
  EXPECT_EQ(find(seen, "dataset.samples").value, 6) << "the script is no sample";
  EXPECT_EQ(find(seen, "dataset.path").text, data);
  EXPECT_NEAR(find(seen, "step.time").value, 0.03125, 0.001);
  EXPECT_EQ(find(seen, "step.micro_batch").value, 1);
  EXPECT_NEAR(seen.bytes_per_s, 64e6, 2e6);
  compare_rates(seen);
  for (const std::string& note : seen.notes) EXPECT_EQ(note.find("asks for"), std::string::npos) << note;
}

TEST_F(Traced, OpensOfCountedStepsGiveTheBatch) {
  seen.steps = 12;
  apply();
  EXPECT_EQ(find(seen, "step.micro_batch").value, 4);
  EXPECT_EQ(find(seen, "step.micro_batch").confidence, Confidence::low);
}

TEST_F(Traced, WhereNoBatchesWereTakenNothingFollows) {
  seen.roles.end_s = seen.roles.begin_s;
  std::erase_if(seen.learned, [](const Learned& one) { return one.key.starts_with("step."); });
  learn_unknown(seen, "step.time", Dimension::seconds, "");
  learn_unknown(seen, "step.micro_batch", Dimension::count, "");
  apply();
  EXPECT_FALSE(find(seen, "step.time").known || find(seen, "step.micro_batch").known);
}

TEST_F(Traced, OnlyScriptsOfTheCommandAreNoData) {
  EXPECT_TRUE(is_script(script, {"/bin/sh ./job"}));
  EXPECT_FALSE(is_script(script, {"/bin/sh ./other"}));
  std::ofstream(script) << "text";
  EXPECT_FALSE(is_script(script, {"/bin/sh ./job"}));
}

}  // namespace
}  // namespace headrace::observe::observe_trace_test
