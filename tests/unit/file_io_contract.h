// What every storage engine must do, whatever it is: called with readers of each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/record/recorder.h"
#include "tests/unit/temporary_files.h"

namespace headrace::testing {

using MakeWhole = std::function<std::unique_ptr<WholeFileReader>(const FileTable&, const ReaderOptions&)>;
using MakeBlocks =
    std::function<std::unique_ptr<BlockReader>(const FileTable&, std::span<const std::uint32_t>, const ReaderOptions&)>;

/// Reads `wanted` with the queue kept full and returns one completion per file read.
inline std::map<std::uint32_t, FileCompletion> read_files(
    WholeFileReader& reader, std::vector<std::uint32_t> wanted,
    const std::function<void(const FileCompletion&)>& look = [](const FileCompletion&) {}) {
  std::map<std::uint32_t, FileCompletion> result;
  std::size_t next = 0;
  while (result.size() < wanted.size()) {
    const std::size_t n = std::min<std::size_t>(reader.free_slots(), wanted.size() - next);
    const auto done = reader.exchange({wanted.data() + next, n}, 1);
    next += n;
    if (done.empty()) break;
    for (const FileCompletion& c : done) {
      look(c);
      EXPECT_TRUE(result.emplace(c.file, c).second) << "file " << c.file << " came twice";
    }
  }
  EXPECT_TRUE(reader.exchange({}, 1).empty());
  return result;
}

/// Files smaller than, as large as, and larger than a block arrive whole, with times in order.
inline void reads_whole_files(const MakeWhole& make, ReaderOptions options) {
  TemporaryFiles files;
  options.block_size = 64 << 10;
  std::vector<std::uint32_t> wanted;
  for (const std::uint64_t size : {1, 4096, 5000, 64 << 10, (64 << 10) + 1, 300'000})
    for (int i = 0; i < 9; ++i) wanted.push_back(files.add(size));
  const auto reader = make(files.table(), options);
  reader->attach();
  const auto done = read_files(*reader, wanted, [&](const FileCompletion& c) {
    if (c.bytes <= options.block_size) {
      EXPECT_TRUE(TemporaryFiles::holds(reader->data(c.slot), c.file, 0, c.bytes));
    }
  });
  ASSERT_EQ(done.size(), wanted.size());
  for (const auto& [file, c] : done) {
    EXPECT_EQ(c.error, 0) << file;
    EXPECT_EQ(c.bytes, files.table().size(file));
    EXPECT_EQ(c.requests, (c.bytes + options.block_size - 1) / options.block_size);
    EXPECT_LE(c.begin_ns, c.opened_ns);
    EXPECT_LE(c.opened_ns, c.read_ns);
    EXPECT_LE(c.read_ns, c.end_ns);
    EXPECT_LT(c.begin_ns, c.end_ns);
  }
}

/// Each failure says its part, its errno and its offset; the files around it arrive.
inline void reports_failures(const MakeWhole& make, ReaderOptions options) {
  TemporaryFiles files;
  options.block_size = 64 << 10;
  const std::uint32_t good = files.add(100'000), gone = files.add(5000), shrunk = files.add(200'000);
  const std::uint32_t empty = files.add(5000), folder = files.add(5000), last = files.add(4096);
  std::filesystem::remove(files.path(gone));
  std::filesystem::resize_file(files.path(shrunk), 70'000);
  std::filesystem::resize_file(files.path(empty), 0);
  std::filesystem::remove(files.path(folder));
  std::filesystem::create_directory(files.path(folder));
  const auto reader = make(files.table(), options);
  reader->attach();
  auto done = read_files(*reader, {gone, good, shrunk, empty, folder, last});
  ASSERT_EQ(done.size(), 6u);
  EXPECT_EQ(done[good].error, 0);
  EXPECT_EQ(done[last].error, 0);
  EXPECT_EQ(done[gone].error, ENOENT);
  EXPECT_EQ(done[gone].failed_part, 1);
  EXPECT_EQ(done[shrunk].error, OperationError::kShortRead);
  EXPECT_EQ(done[shrunk].failed_part, 2);
  EXPECT_EQ(done[shrunk].failed_offset, 70'000u);
  EXPECT_EQ(done[empty].error, OperationError::kShortRead);
  EXPECT_EQ(done[empty].failed_offset, 0u);
  EXPECT_EQ(done[folder].error, EISDIR);
  EXPECT_EQ(done[folder].failed_part, 2);
  // No descriptor stays behind, and the places can be used again.
  EXPECT_EQ(read_files(*reader, {good, last}).size(), 2u);
}

/// Blocks arrive in any order with what is at their offset; the last is short; past the end is
/// nothing.
inline void reads_blocks(const MakeBlocks& make, ReaderOptions options) {
  TemporaryFiles files;
  options.block_size = 8192;
  files.add(10);  // not selected: positions are those of the selection
  const std::vector<std::uint32_t> selected{files.add(100'000), files.add(40'960)};
  const auto reader = make(files.table(), selected, options);
  reader->attach();
  std::vector<BlockRequest> wanted;
  for (std::uint32_t position = 0; position < 2; ++position)
    for (std::uint64_t offset = 0; offset < files.table().size(selected[position]); offset += 8192)
      wanted.push_back({position, 0, offset, 8192});
  std::vector<std::uint32_t> free;
  for (std::uint32_t i = 0; i < options.queue_depth; ++i) free.push_back(i);
  std::size_t next = 0, seen = 0;
  while (seen < wanted.size()) {
    std::vector<BlockRequest> batch;
    for (; next < wanted.size() && !free.empty(); ++next, free.pop_back()) {
      batch.push_back(wanted[next]);
      batch.back().slot = free.back();
    }
    const auto done = reader->exchange(batch, 1);
    ASSERT_FALSE(done.empty());
    for (const BlockCompletion& c : done) {
      const std::uint64_t rest = files.table().size(selected[c.file]) - c.offset;
      EXPECT_EQ(c.result, static_cast<std::int64_t>(std::min<std::uint64_t>(rest, 8192)));
      EXPECT_TRUE(TemporaryFiles::holds(reader->data(c.slot), selected[c.file], c.offset,
                                        static_cast<std::uint64_t>(std::max<std::int64_t>(c.result, 0))));
      EXPECT_LT(c.begin_ns, c.end_ns);
      free.push_back(c.slot);
      ++seen;
    }
  }
  EXPECT_TRUE(reader->exchange({}, 1).empty());
  const BlockRequest beyond{1, 0, 81'920, 4096};
  EXPECT_EQ(reader->exchange({&beyond, 1}, 1).front().result, 0);
  std::filesystem::resize_file(files.path(selected[1]), 4096);
  const BlockRequest shrunk{1, 0, 0, 8192};
  EXPECT_EQ(reader->exchange({&shrunk, 1}, 1).front().result, 4096);
}

/// Waiting brings what has finished, never more than is in flight, and ends when asked.
inline void waits(const MakeBlocks& make, const MakeWhole& make_whole, ReaderOptions options) {
  TemporaryFiles files;
  options.block_size = 8192;
  const std::vector<std::uint32_t> selected{files.add(100'000)};
  const auto reader = make(files.table(), selected, options);
  reader->attach();
  const auto soon = [] { return now_ns() + 1'000'000; };
  EXPECT_TRUE(reader->wait_until(soon()).empty());
  EXPECT_TRUE(reader->wait_until(0).empty());
  std::vector<BlockRequest> batch;
  for (std::uint32_t slot = 0; slot < options.queue_depth; ++slot) batch.push_back({0, slot, 8192u * slot, 8192});
  std::size_t seen = reader->exchange(batch, 0).size();
  while (seen < batch.size()) {
    for (const BlockCompletion& c : reader->wait_until(soon())) {
      EXPECT_EQ(c.result, 8192);
      EXPECT_TRUE(TemporaryFiles::holds(reader->data(c.slot), selected[0], c.offset, 8192));
      ++seen;
    }
  }
  EXPECT_EQ(seen, batch.size());

  const auto whole = make_whole(files.table(), options);
  whole->attach();
  EXPECT_TRUE(whole->wait_until(soon()).empty());
  for (int time = 0; time < 3; ++time) {
    std::size_t came = whole->exchange(selected, 0).size();
    while (came == 0) came += whole->wait_until(soon()).size();
    EXPECT_EQ(came, 1u);
    EXPECT_EQ(whole->free_slots(), options.queue_depth);
  }
}

}  // namespace headrace::testing
