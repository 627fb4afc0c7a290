// Interleaved blocks: order, what blocks.json keeps, and what is refused of it.
#include "harness/analysis/comparison/blocks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/files/marked_folder.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::comparison::blocks_test {
namespace {

namespace fs = std::filesystem;

Blocks two_blocks() {
  Blocks blocks{"node",     6, {{"A", "a.yaml", {"headrace", "run"}}, {"B", "b", {"x"}}}, {"device"}, {"engine"},
                {"*.rate"}, {}};
  for (const unsigned block : {1u, 2u})
    for (const Turn& turn : turns_of_block(block)) blocks.turns.push_back(turn);
  return blocks;
}

void write(const std::string& folder, const std::string& text) {
  std::ofstream(fs::path(folder) / kBlocksFile) << text;
}

TEST(Blocks, EverySecondBlockIsTurnedRound) {
  std::string order;
  for (unsigned block = 1; block <= 3; ++block)
    for (const Turn& turn : turns_of_block(block)) order += turn.side == 0 ? 'A' : 'B';
  EXPECT_EQ(order, "ABBABAABABBA");
}

TEST(Blocks, AFolderNamesBlockTurnAndSide) {
  const Blocks blocks = two_blocks();
  EXPECT_EQ(blocks.turns[0].folder(blocks.sides), "block-01/1-A");
  EXPECT_EQ(blocks.turns[4].folder(blocks.sides), "block-02/1-B");
}

TEST(Blocks, ABlockIsFinishedWithItsLastTurn) {
  Blocks blocks = two_blocks();
  EXPECT_EQ(blocks.finished(), 2u);
  blocks.turns.pop_back();
  EXPECT_EQ(blocks.finished(), 1u);
}

TEST(Blocks, AreReadBackAsTheyWereWritten) {
  const headrace::testing::TemporaryFolder folder;
  EXPECT_FALSE(holds_blocks(folder.path()));
  const Blocks blocks = two_blocks();
  write(folder.path(), blocks_json(blocks));
  ASSERT_TRUE(holds_blocks(folder.path()));
  const Blocks read = read_blocks(folder.path());
  EXPECT_EQ(read.sides, blocks.sides);
  EXPECT_EQ(read.declared, blocks.declared);
  EXPECT_EQ(read.across, blocks.across);
  EXPECT_EQ(read.gates, blocks.gates);
  EXPECT_EQ(read.finished(), 2u);
  EXPECT_EQ(blocks_json(read), blocks_json(blocks));
}

TEST(Blocks, RefusesMisfitsWithTheirPlace) {
  const headrace::testing::TemporaryFolder folder;
  const std::string good = blocks_json(two_blocks());
  const auto describe = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    write(folder.path(), text);
    try {
      read_blocks(folder.path());
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(describe("\"turn\": 1", "\"turn\": 5").find("turns[0].turn: from 1 to 4"), std::string::npos);
  EXPECT_NE(describe("\"block\": 1", "\"block\": 0").find("turns[0].block"), std::string::npos);
  EXPECT_NE(describe("\"block\": 1", "\"block\": 10000").find("turns[0].block: from 1 to 9999"), std::string::npos);
  EXPECT_EQ(describe("\"block\": 1", "\"block\": 9999"), "accepted");
  EXPECT_NE(describe("\"side\": \"A\"", "\"side\": \"B\"").find("not whose turn it is"), std::string::npos);
  EXPECT_NE(describe("\"label\": \"A\"", "\"label\": \"../x\"").find("a letter from A to Z"), std::string::npos);
  EXPECT_NE(describe("\"schema\": 1", "\"schema\": 9").find("schema 9"), std::string::npos);
}

TEST(Blocks, RemovesNothingThatIsNotItsOwn) {
  const headrace::testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/blocks";
  const MarkedFolder whole = MarkedFolder::make(path, kBlocksKind);
  const Blocks blocks = two_blocks();
  whole.write(kBlocksFile, blocks_json(blocks));
  for (const Turn& turn : blocks.turns)
    MarkedFolder::make(whole.folder().make(block_folder(turn.block)), turn.name(blocks.sides), "run");
  MarkedFolder::make(path + "/block-01/2-B", "run").write("run.json", "{}");
  std::ofstream(path + "/block-02/2-A/notes.txt") << "mine";
  const CleanReport report = remove_blocks(whole);
  EXPECT_FALSE(report.gone);
  EXPECT_FALSE(fs::exists(path + "/block-01"));
  EXPECT_TRUE(fs::exists(path + "/block-02/2-A/notes.txt"));
  ASSERT_FALSE(report.left.empty());
  fs::remove(path + "/block-02/2-A/notes.txt");
  EXPECT_TRUE(remove_blocks(whole).gone);
}

}  // namespace
}  // namespace headrace::comparison::blocks_test
