// Who takes batches, who reads for whom, and when: from recordings of ten seconds that were made up.
#include "harness/observe/learning/roles.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace::observe::observe_roles_test {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Found = std::vector<std::pair<Wait, std::uint32_t>>;

/// Ten slices of a second each; every process is seen in all of them, half of the time on a processor.
struct Story {
  Recording recording;

  explicit Story(double slice_s = 1) {
    for (int i = 0; i < 10; ++i) recording.slices.push_back({.begin_s = i * slice_s, .end_s = (i + 1) * slice_s});
  }
  std::uint32_t process(int parent) {
    const auto number = static_cast<std::uint32_t>(recording.processes.size());
    recording.processes.push_back({.parent = parent, .last_s = recording.slices.back().end_s});
    for (Slice& slice : recording.slices) slice.processes.push_back({.process = number});
    waits(number, {{Wait::running, 50}, {Wait::hand_over, 50}});
    return number;
  }
  ProcessSlice& at(std::size_t slice, std::uint32_t process) { return recording.slices[slice].processes[process]; }
  void waits(std::uint32_t process, const Found& found) {
    for (Slice& slice : recording.slices) {
      slice.processes[process].lead = {};
      for (const auto& [wait, looks] : found) slice.processes[process].lead[static_cast<std::size_t>(wait)] = looks;
    }
  }
  /// In each second.
  void reads(std::uint32_t process, std::uint64_t bytes) {
    for (Slice& slice : recording.slices) slice.processes[process].counted.read_calls_bytes = bytes;
  }
  void reads_at(std::size_t slice, std::uint32_t process, std::uint64_t bytes) {
    at(slice, process).counted.read_calls_bytes = bytes;
  }
  Roles roles() const { return find_roles(recording); }
};

/// A process that takes ten batches each second, which it reads through pipes, and its workers.
struct Training : Story {
  std::uint32_t train;
  Numbers workers;

  explicit Training(const std::vector<std::uint64_t>& bytes = {1000, 1000}, double slice_s = 1)
      : Story(slice_s), train(process(-1)) {
    reads(train, 1'000'000);
    takes(10);
    for (const std::uint64_t each : bytes) {
      workers.push_back(process(static_cast<int>(train)));
      reads(workers.back(), each);
    }
  }
  void takes(std::uint32_t times) {
    for (Slice& slice : recording.slices) slice.processes[train].takes = times;
  }
  std::pair<double, double> taken() const {
    const Roles found = roles();
    return {found.begin_s, found.end_s};
  }
};

TEST(Roles, AJobTakesTheReadsOfItsWorkers) {
  Training job;
  job.recording.threads = {{.process = 0}, {.process = 1}, {.process = 0}};
  const Roles roles = job.roles();
  EXPECT_EQ(roles.consumers, Numbers{0});
  EXPECT_EQ(roles.workers, (Numbers{1, 2}));
  EXPECT_EQ(roles.threads, (Numbers{0, 2})) << "threads of a worker bring nothing in for training";
  EXPECT_TRUE(roles.is_consumer(0) && roles.is_worker(2) && roles.is_thread(2));
  EXPECT_FALSE(roles.is_consumer(1) || roles.is_worker(0) || roles.is_thread(1));
  EXPECT_FALSE(roles.in_process);
  EXPECT_EQ(roles.making, 0u);
  EXPECT_EQ(job.taken(), std::pair(1.0, 10.0)) << "in the first second the pipeline fills";
  EXPECT_EQ(roles.workers_at_once, 2);
  EXPECT_EQ(roles.consumers_at_once, 1);
  ASSERT_EQ(roles.generations.size(), 1u);
  EXPECT_TRUE(std::isinf(roles.generations[0].end_s));
}

TEST(Roles, OfNoProcessAreNone) {
  const Roles roles = find_roles({});
  EXPECT_TRUE(roles.consumers.empty() && roles.workers.empty() && roles.generations.empty());
  EXPECT_EQ(roles.consumers_at_once, 0);
  Training silent({0, 0});
  silent.reads(silent.train, 0);
  EXPECT_TRUE(silent.roles().workers.empty()) << "a process that reads nothing is no worker";
  EXPECT_TRUE(silent.roles().consumers.empty());
}

TEST(Roles, AShellThatOnlyWaitsTakesNoBatches) {
  struct Case {
    Found found;
    std::uint32_t handed;
    std::uint32_t consumer;
  };
  for (const Case& c : {Case{{{Wait::hand_over, 100}}, 4, 0}, Case{{{Wait::hand_over, 100}}, 5, 1},
                        Case{{{Wait::hand_over, 40}, {Wait::sleep, 30}, {Wait::other, 29}, {Wait::running, 1}}, 0, 0},
                        Case{{{Wait::hand_over, 97}, {Wait::running, 3}}, 0, 1}}) {
    Story story;
    const std::uint32_t train = story.process(-1), shell = story.process(static_cast<int>(train)),
                        worker = story.process(static_cast<int>(shell));
    story.reads(worker, 1000);
    story.waits(shell, c.found);
    story.recording.hand_overs = {{.process = shell, .jumps = {{2, c.handed - c.handed / 2}, {4, c.handed / 2}}}};
    EXPECT_EQ(story.roles().consumers, Numbers{c.consumer}) << c.handed;
    EXPECT_EQ(story.roles().workers, Numbers{worker});
  }
}

TEST(Roles, ThatTakesBatchesIsTheNearestBusyProcessAbove) {
  Story story;
  for (const int parent : {-1, 0, 1, 2, 3}) story.process(parent);
  story.reads(4, 1000);
  for (const std::uint32_t idle : {0u, 2u, 3u}) story.waits(idle, {{Wait::hand_over, 100}});
  EXPECT_EQ(story.roles().consumers, Numbers{1});
  EXPECT_EQ(story.roles().workers, Numbers{4});
  story.waits(1, {{Wait::hand_over, 100}});
  EXPECT_TRUE(story.roles().in_process) << "it works for itself";
  EXPECT_EQ(story.roles().consumers, Numbers{4});
  story.recording.processes[0].parent = 3;
  EXPECT_EQ(story.roles().consumers, Numbers{4}) << "logs claim that each started the other";
}

TEST(Roles, OfProcessesThatAreNumberedInAnyOrderAreTheSame) {
  Story story;
  for (const int parent : {1, -1, 1, 2}) story.process(parent);
  for (const std::uint32_t reads : {0u, 2u, 3u}) story.reads(reads, 1000);
  EXPECT_EQ(story.roles().workers, (Numbers{0, 3})) << "one that has a child of its own takes what that reads";
  EXPECT_EQ(story.roles().consumers, (Numbers{1, 2}));
  Story shell;
  for (const int parent : {2, 0, -1}) shell.process(parent);
  shell.waits(0, {{Wait::hand_over, 100}});
  shell.reads(1, 1000);
  EXPECT_EQ(shell.roles().consumers, Numbers{2});
}

TEST(Roles, AProcessThatReadsAFiftiethOfItsShareIsNoWorker) {
  const auto workers = [](std::uint64_t little) {
    Training job({0, 0, 0});
    job.reads_at(0, 1, 995);
    job.reads_at(0, 2, 995);
    job.reads_at(9, 3, little);
    return job.roles().workers.size();
  };
  EXPECT_EQ(workers(10), 3u) << "of 2000 that four processes read";
  EXPECT_EQ(workers(9), 2u);
}

TEST(Roles, AHelperThatReadsAtItsBeginAloneIsNoWorker) {
  const auto has_helper = [](std::size_t slice, std::uint64_t bytes, double first_s = 0) {
    Training job({1000, 1000, 0});
    job.recording.processes[3].first_s = first_s;
    job.reads_at(slice, 3, bytes);
    return job.roles().is_worker(3);
  };
  EXPECT_FALSE(has_helper(3, 4999)) << "less than half of what another reads";
  EXPECT_TRUE(has_helper(3, 5000));
  EXPECT_TRUE(has_helper(9, 4000));
  EXPECT_FALSE(has_helper(5, 4000, 4)) << "it lives from 4 to 10";
  EXPECT_TRUE(has_helper(6, 4000, 4));
  const auto of_rate = [](std::uint64_t others, std::uint64_t own) {
    return Training({others, others, own}).roles().is_worker(3);
  };
  EXPECT_TRUE(of_rate(149, 2)) << "a fiftieth of the mean of all three";
  EXPECT_FALSE(of_rate(150, 2));
  // One that is seen for a second, at the end or at the begin.
  Training job({1000, 1000, 0});
  for (Slice& slice : job.recording.slices)
    if (slice.begin_s < 9) slice.processes.pop_back();
  job.reads_at(9, 3, 4000);
  EXPECT_TRUE(job.roles().is_worker(3));
  std::swap(job.recording.slices.front().processes, job.recording.slices.back().processes);
  EXPECT_FALSE(job.roles().is_worker(3));
}

TEST(Roles, AScriptThatReadsScriptsIsALauncher) {
  const auto consumers = [](std::uint64_t bytes) {
    Training job({0, 0});
    job.reads_at(0, 1, 9995);
    const std::uint32_t script = job.process(-1);
    job.reads_at(0, job.process(static_cast<int>(script)), bytes);
    EXPECT_EQ(job.roles().workers.size(), job.roles().consumers.size());
    return job.roles().consumers;
  };
  EXPECT_EQ(consumers(999), Numbers{0}) << "less than a tenth of what the other is read for";
  EXPECT_EQ(consumers(1000), (Numbers{0, 3}));
}

TEST(Roles, WithoutWorkersReadersReadMoreThanHalfOfTheBusiest) {
  Story story;
  for (int i = 0; i < 3; ++i) story.process(-1);
  story.reads_at(5, 0, 8192);
  story.at(5, 1).counted.major_faults = 1;  // a page of 4096 bytes
  story.at(5, 2).counted.major_faults = 1;
  story.reads_at(5, 2, 1);
  EXPECT_EQ(story.roles().consumers, (Numbers{0, 2}));
  EXPECT_TRUE(story.roles().in_process && story.roles().workers.empty());
}

TEST(Roles, BatchesAreTakenWhileWorkersLiveAndTheMainThreadPausesAfterReads) {
  Training job;
  job.takes(0);
  for (std::size_t i = 2; i < 9; ++i) job.at(i, 0).looked_calls = 1;
  job.at(3, 0).takes = 2;
  job.at(5, 0).takes = 2;
  EXPECT_EQ(job.taken(), std::pair(3.0, 9.0)) << "four pauses show nothing: looks do";
  job.at(5, 0).takes = 3;
  EXPECT_EQ(job.taken(), std::pair(4.0, 6.0));
  job.takes(10);
  for (const std::size_t dead : {0, 1, 8, 9})
    for (const std::uint32_t worker : job.workers) job.at(dead, worker).lead = {};
  EXPECT_EQ(job.taken(), std::pair(3.0, 8.0));
  for (const std::size_t edge : {1, 8}) job.at(edge, 1).lead[static_cast<std::size_t>(Wait::read)] = 1;
  EXPECT_EQ(job.taken(), std::pair(2.0, 9.0)) << "one worker, found once";
}

TEST(Roles, BatchesAreTakenWhileAnyRankTakesSome) {
  Training job;
  const std::uint32_t second = job.process(-1);
  job.reads(job.process(static_cast<int>(second)), 1000);
  job.at(9, job.train).takes = 1;
  job.at(0, job.train).takes = 0;
  EXPECT_EQ(job.roles().consumers, (Numbers{0, second}));
  EXPECT_EQ(job.taken(), std::pair(2.0, 10.0));
}

TEST(Roles, WhereWaitsAreNotRecordedBatchesAreTakenWhileWorkersRead) {
  Training job;
  job.takes(0);
  job.recording.waits_known = false;
  for (const std::size_t i : {4, 6}) job.at(i, 1).counted.read_calls = 1;
  job.at(8, 0).counted.read_calls = 1;
  EXPECT_EQ(job.taken(), std::pair(5.0, 7.0));
  job.recording.processes[0].last_s = 0.5;
  EXPECT_EQ(job.roles().consumers, Numbers{0}) << "the only one stays, though it ended before";
  job.recording.waits_known = true;
  EXPECT_EQ(job.taken(), std::pair(0.0, 0.0));
}

TEST(Roles, AProcessThatReadsItselfTakesBatchesFromItsFirstFileOfDataOn) {
  Story story;
  story.reads(story.process(-1), 1000);
  for (std::size_t i = 1; i < 9; ++i) {
    story.at(i, 0).counted.read_calls = i % 2;
    story.at(i, 0).pauses = 1 - i % 2;
  }
  const auto begin_s = [&](std::vector<FileSeen> files) {
    story.recording.files = std::move(files);
    EXPECT_EQ(story.roles().end_s, 9);
    return story.roles().begin_s;
  };
  EXPECT_EQ(begin_s({}), 2) << "from its first read on";
  EXPECT_EQ(begin_s({{.path = "/usr/lib/python3/abc.py", .read = 9, .first_s = 4.5}}), 2);
  EXPECT_EQ(begin_s({{.path = "/data/a", .read = 1, .first_s = 4.5}}), 5);
  EXPECT_EQ(begin_s({{.path = "/data/a", .open = 1, .first_s = 4.5}}), 5);
  EXPECT_EQ(begin_s({{.path = "/data/a", .read = 1, .open = 1, .first_s = 5.5}}), 6);
  EXPECT_EQ(begin_s({{.path = "/data/a", .read = 1, .first_s = 4.5},
                     {.path = "/data/b", .read = 1, .first_s = 3.5},
                     {.path = "/data/c", .read = 1, .first_s = 6.5},
                     {.path = "/data/d", .open = 1},
                     {.path = "/data/e", .named = 9, .first_s = 1.5}}),
            4)
      << "not when it was named, or is not known to have been read";
}

TEST(Roles, WorkersThatCameLaterOrWentEarlierAreFewerAtATime) {
  Training job;
  job.recording.processes[1].first_s = 3.25;
  job.recording.processes[2].last_s = 6.5;
  EXPECT_DOUBLE_EQ(job.roles().workers_at_once, (6.75 + 5.5) / 9);
  job.recording.processes[2] = {.parent = 0, .first_s = 4.25, .last_s = 4.5};
  EXPECT_DOUBLE_EQ(job.roles().workers_at_once, (6.75 + 0.25) / 9);
  Training brief({1000}, 0.5);
  brief.takes(0);
  for (const std::size_t i : {4, 5}) brief.at(i, 0).takes = 5;
  EXPECT_DOUBLE_EQ(brief.roles().workers_at_once, 1) << "half a second is enough";
  brief.at(5, 0).takes = 0;
  EXPECT_EQ(brief.roles().workers_at_once, 0) << "no time at all is not";
  EXPECT_EQ(brief.roles().consumers_at_once, 1);
}

TEST(Roles, AProcessThatEndedBeforeBatchesWereTakenIsALauncher) {
  Training job;
  const std::uint32_t launcher = job.process(-1);
  job.reads(job.process(static_cast<int>(launcher)), 1000);
  for (const std::uint32_t one : {launcher, launcher + 1}) job.recording.processes[one].last_s = 1;
  EXPECT_EQ(job.roles().consumers, (Numbers{0, launcher})) << "when batches were first taken it was there";
  for (const std::uint32_t one : {launcher, launcher + 1}) job.recording.processes[one].last_s = 0.9;
  EXPECT_EQ(job.roles().consumers, Numbers{0});
  EXPECT_EQ(job.roles().workers, (Numbers{1, 2}));
  job.takes(0);
  job.at(3, 0).takes = 5;
  EXPECT_EQ(job.roles().consumers, (Numbers{0, launcher})) << "one second of batches shows no order";
}

/// One process that reads itself: in the sixth second its first thread had so many stretches on a processor between two reads.
struct Making {
  std::vector<std::pair<std::size_t, std::uint32_t>> stretches;  // by the logarithm of their length
  std::uint32_t pauses = 0, sleeps = 0, gpu = 0;
};
std::size_t making(const Making& made, std::size_t second = 5) {
  Story story;
  const std::uint32_t train = story.process(-1);
  story.reads(train, 1000);
  story.reads(story.process(-1), 1);
  story.waits(train, {});
  for (std::size_t i = 0; i < 10; ++i) story.at(i, train).counted.read_calls = 1;
  for (const std::uint32_t process : {0u, 1u}) story.at(second, process).stretches[0] = 0;
  ProcessSlice& one = story.at(second, train);
  for (const auto& [bin, count] : made.stretches)
    one.stretches[bin] = bin == 0 ? count : count * 3 << (bin - 1);  // one and a half times the shortest of them
  one.pauses = made.pauses;
  one.lead = {};
  one.lead[static_cast<std::size_t>(Wait::sleep)] = made.sleeps;
  one.lead[static_cast<std::size_t>(Wait::gpu)] = made.gpu;
  one.lead[static_cast<std::size_t>(Wait::running)] = 1000 - made.sleeps - made.gpu;
  ProcessSlice& other = story.at(second, 1);
  other.stretches[11] = 1 << 20;
  other.pauses = 1000;
  other.lead[static_cast<std::size_t>(Wait::sleep)] = 1000;
  return story.roles().making;
}

TEST(Making, IsOfShortStretchesWhereLongOnesHoldTheSteps) {
  EXPECT_EQ(making({{{2, 16}, {8, 8}}}), 5u) << "up to four times as long as the middle one";
  EXPECT_EQ(making({{{2, 16}, {8, 8}}}, 0), 0u) << "while the pipeline fills";
  EXPECT_EQ(making({{{2, 16}, {8, 4}}}), 5u);
  EXPECT_EQ(making({{{2, 16}, {8, 3}}}), 0u) << "three are no steps";
  EXPECT_EQ(making({{{2, 8}, {8, 4}}}), 5u);
  EXPECT_EQ(making({{{2, 7}, {8, 4}}}), 0u) << "nor are seven samples";
  EXPECT_EQ(making({{{0, 8}, {11, 4}}}), 3u);
  EXPECT_EQ(making({{{0, 4}, {11, 4}}}), 0u);
  EXPECT_EQ(making({{{1, 8}, {3, 8}, {11, 4}}}), 6u);
  EXPECT_EQ(making({{{2, 12}, {8, 8}}}), 5u);
  EXPECT_EQ(making({{{2, 11}, {8, 8}}}), 0u) << "fewer than one and a half for each step";
  EXPECT_EQ(making({{{2, 16}, {4, 2}, {8, 6}}}), 5u);
  EXPECT_EQ(making({{{2, 16}, {4, 3}, {8, 8}}}), 0u) << "one kind, of which some took longer";
  EXPECT_EQ(making({{{2, 16}, {3, 4}, {8, 8}}}), 5u) << "twice as long is alike";
  EXPECT_EQ(making({{{1, 8}, {3, 4}, {11, 4}}}), 0u) << "half are the short ones: four times as long is in between";
  EXPECT_EQ(making({{{11, 16}}}), 0u);
}

TEST(Making, IsEndedByPauses) {
  EXPECT_EQ(making({.stretches = {{2, 16}}, .pauses = 4, .sleeps = 20}), 5u);
  EXPECT_EQ(making({.stretches = {{2, 16}}, .pauses = 3, .sleeps = 20}), 0u);
  EXPECT_EQ(making({.stretches = {{2, 16}}, .pauses = 4, .sleeps = 11, .gpu = 9}), 5u);
  EXPECT_EQ(making({.stretches = {{2, 16}}, .pauses = 4, .sleeps = 10, .gpu = 9}), 0u) << "less than a fiftieth";
  EXPECT_EQ(making({.stretches = {{2, 15}}, .pauses = 10, .sleeps = 20}), 5u);
  EXPECT_EQ(making({.stretches = {{2, 16}}, .pauses = 11, .sleeps = 20}), 0u) << "too few between two of them";
  EXPECT_EQ(making({.stretches = {{11, 16}}, .pauses = 4, .sleeps = 20}), 12u);
  EXPECT_EQ(making({.stretches = {{2, 7}}, .pauses = 4, .sleeps = 20}), 0u);
}

TEST(Generations, BeginWhereWorkersAreStartedThatMeetNoOthers) {
  const auto sizes = [](std::vector<ProcessSeen> processes) {
    Recording recording;
    recording.processes = std::move(processes);
    Numbers workers(recording.processes.size());
    for (std::uint32_t i = 0; i < workers.size(); ++i) workers[i] = i;
    std::vector<std::size_t> found;
    for (const Generation& one : generations_of(recording, workers)) found.push_back(one.workers.size());
    return found;
  };
  using Sizes = std::vector<std::size_t>;
  EXPECT_EQ(sizes({}), Sizes{});
  EXPECT_EQ(sizes({{.first_s = 2, .last_s = 3}, {.first_s = 2.9, .last_s = 4}, {.first_s = 3.8, .last_s = 9}}),
            Sizes{3})
      << "each within a second of the one before";
  EXPECT_EQ(sizes({{.first_s = 2, .last_s = 3}, {.first_s = 3.1, .last_s = 9}}), (Sizes{1, 1}));
  EXPECT_EQ(sizes({{.first_s = 2, .last_s = 5.9}, {.first_s = 5, .last_s = 9}}), (Sizes{1, 1}));
  EXPECT_EQ(sizes({{.first_s = 2, .last_s = 6.1}, {.first_s = 5, .last_s = 9}}), Sizes{2})
      << "the other is still there";
  EXPECT_EQ(sizes({{.first_s = 2, .last_s = 9}, {.first_s = 2.1, .last_s = 3}, {.first_s = 5, .last_s = 9}}), Sizes{3});
  EXPECT_EQ(sizes({{.first_s = 2, .last_s = 4}, {.first_s = 5, .last_s = 9, .age_s = 2.5}}), Sizes{2})
      << "noticed late, and started with the first";
  EXPECT_EQ(sizes({{.first_s = 5, .last_s = 5.2, .age_s = 3}, {.first_s = 5.5, .last_s = 9}}), Sizes{2})
      << "noticed with the first, which was noticed late";
  EXPECT_EQ(
      sizes({{.first_s = 5, .last_s = 5.2, .age_s = 3}, {.first_s = 2.5, .last_s = 3}, {.first_s = 5.8, .last_s = 9}}),
      Sizes{3})
      << "so of the last that was noticed";
  EXPECT_EQ(sizes({{.first_s = 2, .last_s = 3, .age_s = 0.1},
                   {.first_s = 6, .last_s = 8.9},
                   {.first_s = 9, .last_s = 12},
                   {.first_s = 9.5, .last_s = 12}}),
            (Sizes{1, 1, 2}));
  Recording late;
  late.processes = {{.first_s = 3, .last_s = 9, .age_s = 1}, {.first_s = 2.5, .last_s = 9}};
  EXPECT_EQ(generations_of(late, {0, 1})[0].begin_s, 2.5) << "when the first was noticed";
}

}  // namespace
}  // namespace headrace::observe::observe_roles_test
