#include "harness/workload/data/data_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set/block_pattern.h"
#include "harness/workload/data/data_set/layout.h"
#include "harness/workload/data/data_set/manifest.h"
#include "harness/workload/data/data_set/sample.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::data_set_test {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

class DataSetTest : public ::testing::Test {
 protected:
  DataSetTest() {
    spec_.files = 23;
    spec_.file_size = 10'000;
    spec_.file_size_spread = 2'000;
    spec_.files_per_folder = 10;
  }
  std::shared_ptr<DataSet> open() { return DataSet::open(spec_, node_, {}); }
  std::string folder() const { return tmp_ / ("scratch/data/" + spec_.id()); }
  std::string file(std::uint64_t number) const { return folder() + "/" + DataSetLayout(spec_).path(number); }

  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void overwrite(const std::string& path, std::uint64_t at, const std::string& bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    file << bytes;
  }
  std::string failure() {
    try {
      open();
    } catch (const RunError& e) {
      return e.what();
    }
    return "";
  }

  TemporaryFolder tmp_;
  Node node_{tmp_ / "scratch"};
  DataSetSpec spec_;
};

TEST_F(DataSetTest, SizesHaveTheMeanAndTheSpread) {
  spec_.files = 20'000;
  const DataSetLayout layout(spec_);
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < spec_.files; ++i) {
    const double size = static_cast<double>(layout.size(i));
    EXPECT_LE(std::abs(size - 10'000), 6'000);
    sum += size;
    squares += (size - 10'000) * (size - 10'000);
  }
  EXPECT_NEAR(sum / 20'000, 10'000, 5 * 2'000 / std::sqrt(20'000));
  EXPECT_NEAR(std::sqrt(squares / 20'000), 2'000, 60);
  EXPECT_EQ(layout.total_bytes(), static_cast<std::uint64_t>(sum));
}

TEST_F(DataSetTest, GeneratesAndVerifies) {
  const auto data = open();
  ASSERT_EQ(data->files().count(), 23u);
  EXPECT_TRUE(data->generated());
  std::uint64_t total = 0;
  for (std::uint32_t i = 0; i < 23; ++i) {
    EXPECT_EQ(fs::file_size(data->files().full_path(i)), data->files().size(i));
    total += data->files().size(i);
  }
  EXPECT_EQ(total, data->files().total_bytes());
  EXPECT_STREQ(data->files().path(12), "d001/f000012.bin");
  EXPECT_TRUE(data->verify({}).empty());
}

TEST_F(DataSetTest, LargeFilesNeedNotEndOnABlock) {
  spec_.files = 2;
  spec_.file_size = (5 << 20) + 123;
  spec_.file_size_spread = 0;
  const auto data = open();
  EXPECT_EQ(fs::file_size(file(1)), (5u << 20) + 123);
  EXPECT_TRUE(data->verify({}).empty());
}

TEST_F(DataSetTest, IsMadeOnceAndMendedWhenPartsAreMissing) {
  open();
  const auto made = fs::last_write_time(file(0));
  fs::remove(file(5));
  fs::resize_file(file(6), 100);
  const auto again = open();
  EXPECT_EQ(fs::last_write_time(file(0)), made);
  EXPECT_TRUE(again->verify({}).empty());
}

/// As a run leaves it whose time was up after `made` files.
class ShortSetTest : public DataSetTest {
 protected:
  void shorten(std::uint64_t made) {
    open();
    const Node node(tmp_ / "scratch");
    for (std::uint64_t i = made; i < spec_.files; ++i) fs::remove(file(i));
    std::string text = content(folder() + "/manifest.json");
    for (const auto& [from, to] : {std::pair<std::string, std::string>{R"("complete")", R"("making")"},
                                   {R"("made": 23)", fmt::format(R"("made": {})", made)}}) {
      ASSERT_NE(text.find(from), text.npos) << text;
      text.replace(text.find(from), from.size(), to);
    }
    std::ofstream(folder() + "/manifest.json") << text;
  }
};

TEST_F(ShortSetTest, ServesWhereThereIsNoTimeForMore) {
  shorten(5);
  const auto made = fs::last_write_time(file(4));
  node_.limit_making(0);
  const auto data = open();
  EXPECT_EQ(data->files().count(), 5u);
  EXPECT_EQ(data->missing(), 18u);
  EXPECT_TRUE(data->verify({}).empty());
  EXPECT_FALSE(fs::exists(file(5)));
  EXPECT_EQ(fs::last_write_time(file(4)), made);
}

TEST_F(ShortSetTest, IsNeverTakenForTheWholeOne) {
  shorten(5);
  const auto made = fs::last_write_time(file(4));
  const auto data = open();
  EXPECT_EQ(data->files().count(), 23u);
  EXPECT_EQ(data->missing(), 0u);
  EXPECT_TRUE(data->verify({}).empty());
  EXPECT_EQ(fs::last_write_time(file(4)), made);  // used again
  node_.limit_making(0);
  EXPECT_EQ(open()->files().count(), 23u);
}

TEST_F(ShortSetTest, EndsAtAFileThatIsGone) {
  shorten(5);
  fs::remove(file(3));
  node_.limit_making(0);
  EXPECT_EQ(open()->files().count(), 3u);
  node_.limit_making(600);
  EXPECT_EQ(open()->files().count(), 23u);
}

TEST_F(ShortSetTest, HasAtLeastOneFile) {
  node_.limit_making(0);
  EXPECT_THROW(open(), Unsupported);
  node_.limit_making(600);
  EXPECT_EQ(open()->files().count(), 23u);
}

TEST_F(ShortSetTest, IsMadeForAsLongAsThereIsTimeAndThenLonger) {
  spec_ = DataSetSpec{};
  spec_.files = 40'000;
  spec_.file_size = 50'000;  // 2 GB: more than any machine makes in the times below
  std::uint64_t first = 0;
  double limit_s = 0.02;
  for (; first == 0; limit_s *= 2) {
    node_.limit_making(limit_s);
    try {
      const auto data = open();
      first = data->files().count();
      EXPECT_EQ(data->missing(), spec_.files - first);
      EXPECT_LE(*node_.making_left(), limit_s);
    } catch (const Unsupported&) {  // not even one file yet, beside other programs
    }
  }
  if (first == spec_.files) GTEST_SKIP() << "the machine was kept from noticing its time";
  node_.limit_making(limit_s);
  const auto data = open();
  EXPECT_GE(data->files().count(), first);
  EXPECT_TRUE(wrong_in_sample(*data, 1).empty());
}

TEST_F(DataSetTest, ContinuesACutSet) {
  open();
  const auto made = fs::last_write_time(file(0));
  std::string manifest = content(folder() + "/manifest.json");
  manifest.replace(manifest.find("complete"), 8, "making");
  manifest.replace(manifest.find("\"made\": 23"), 10, "\"made\": 0");
  std::ofstream(folder() + "/manifest.json") << manifest;
  fs::resize_file(file(3), 4096);
  overwrite(file(4), fs::file_size(file(4)) - 50, std::string(50, '\0'));  // never reached the storage
  const auto data = open();
  EXPECT_EQ(fs::last_write_time(file(0)), made);
  EXPECT_TRUE(data->verify({}).empty());
}

TEST_F(DataSetTest, TouchesNoFileOfAnotherMaker) {
  open();
  fs::remove(file(5));
  std::ofstream(file(5)) << "precious";
  EXPECT_EQ(failure(), "create " + file(5) + ": refusing to overwrite: headrace did not make this file");
  EXPECT_EQ(content(file(5)), "precious");
  fs::remove(file(5));
  std::ofstream(tmp_ / "outside") << "precious";
  fs::create_symlink(tmp_ / "outside", file(5));
  EXPECT_NE(failure(), "");
  EXPECT_EQ(content(tmp_ / "outside"), "precious");
}

TEST_F(DataSetTest, NamesWrongBlocks) {
  spec_.file_size_spread = 0;
  spec_.file_size = 3 * kBlock + 7;
  const auto data = open();
  const std::string zero(kBlock, '\0');
  const std::string other = content(file(3)).substr(kBlock, kBlock), own = content(file(2)).substr(0, kBlock);
  overwrite(file(1), kBlock, zero);
  overwrite(file(2), 2 * kBlock, other);
  overwrite(file(4), 1024, std::string(512, '\0'));
  overwrite(file(5), 3 * kBlock, "x");
  overwrite(file(6), 0, own.substr(0, 2048) + zero.substr(2048));
  unsigned char stale[kBlock];
  fill_block({1234, 7, 0}, stale);
  overwrite(file(7), 0, std::string(reinterpret_cast<char*>(stale), kBlock));
  fs::resize_file(file(8), kBlock);
  fs::remove(file(9));

  const auto wrong = data->verify({}, 100);
  std::vector<std::string> reported;
  for (const WrongBlock& block : wrong)
    reported.push_back(fs::path(block.file).filename().string() + "@" + std::to_string(block.offset) + " " + block.why);
  EXPECT_EQ(reported, (std::vector<std::string>{
                          "f000001.bin@4096 all zero",
                          "f000002.bin@8192 holds block 1 of d000/f000003.bin",
                          "f000004.bin@0 torn: 1 of 8 sectors are wrong (zero)",
                          "f000005.bin@12288 holds something that headrace did not write",
                          "f000006.bin@0 torn: starts as block 0 of d000/f000002.bin",
                          "f000007.bin@0 stale: holds a block of another data set",
                          "f000008.bin@4096 the file ends here",
                          "f000009.bin@0 open : No such file or directory (ENOENT)",
                      }));
  EXPECT_EQ(data->verify({}, 3).size(), 3u);
  fill_block({data_set_key(spec_.id()), spec_.files, 0}, stale);
  overwrite(file(7), 0, std::string(reinterpret_cast<char*>(stale), kBlock));
  for (const WrongBlock& block : data->verify({}, 100)) {
    if (block.file != file(7)) continue;
    EXPECT_EQ(block.why, "holds block 0 of file 23");  // the set ends with 22
  }
}

TEST_F(DataSetTest, ASampleIsOfWrittenBytes) {
  const auto data = open();
  EXPECT_TRUE(wrong_in_sample(*data, 1).empty());
  for (std::uint64_t number = 0; number < spec_.files; ++number)
    overwrite(file(number), 0, std::string(fs::file_size(file(number)), 'x'));
  EXPECT_FALSE(wrong_in_sample(*data, 1).empty());
}

TEST_F(DataSetTest, AForeignFileAtTheManifestStays) {
  open();
  fs::remove(folder() + "/" + std::string(Manifest::kFile));
  fs::create_directory(folder() + "/" + std::string(Manifest::kFile));
  EXPECT_NO_THROW(remove_data_sets(*MarkedFolder::find(tmp_ / "scratch")));
  EXPECT_TRUE(fs::is_directory(folder() + "/" + std::string(Manifest::kFile)));
}

TEST_F(DataSetTest, WithoutDataNothingIsRemoved) {
  const MarkedFolder empty = MarkedFolder::make(tmp_ / "other", "scratch");
  const CleanReport report = remove_data_sets(empty);
  EXPECT_EQ(report.files, 0u);
  EXPECT_TRUE(report.left.empty());
}

TEST_F(DataSetTest, ChecksAnyRange) {
  const auto data = open();
  const std::string bytes = content(file(0));
  const auto* start = reinterpret_cast<const unsigned char*>(bytes.data());
  EXPECT_TRUE(data->check(0, 0, start, bytes.size(), nullptr));
  EXPECT_TRUE(data->check(0, 5000, start + 5000, 3, nullptr));
  EXPECT_FALSE(data->check(0, 5001, start + 5000, 3, nullptr));
  EXPECT_FALSE(data->check(1, 0, start, kBlock, nullptr));
}

TEST_F(DataSetTest, TooLittleSpaceIsFoundBeforehand) {
  spec_.file_size = 1'000'000'000'000'000;
  for (const std::uint64_t spread : {2'000, 0}) {
    spec_.file_size_spread = spread;
    EXPECT_NE(failure().find("the data set needs 23.0 PB; only"), std::string::npos) << failure();
  }
  spec_.file_size = 10'000;
  node_.limit_writes(50'000);
  EXPECT_NE(failure().find("max_write allows 50.0 kB"), std::string::npos) << failure();
  EXPECT_FALSE(fs::exists(file(0)));
}

TEST_F(DataSetTest, ProgressCanStopIt) {
  struct Stopped {};
  EXPECT_THROW(DataSet::open(spec_, node_, [](auto, auto, auto) { throw Stopped(); }), Stopped);
  EXPECT_TRUE(open()->verify({}).empty());
}

TEST_F(DataSetTest, RemovalTakesOnlyItsOwn) {
  open();
  std::ofstream(folder() + "/d001/notes.txt") << "precious";
  std::ofstream(tmp_ / "scratch/data/mine.txt") << "precious";
  fs::remove(file(3));
  std::ofstream(file(3)) << std::string(fs::file_size(file(2)), 'x');  // of a likely size
  fs::remove(file(4));
  fs::create_symlink(file(0), file(4));
  const CleanReport report = remove_data_sets(*MarkedFolder::find(tmp_ / "scratch"));
  EXPECT_EQ(report.files, 21u);
  EXPECT_EQ(report.left, (std::vector<std::string>{
                             folder() + "/d000/f000003.bin: not as headrace made it",
                             folder() + "/d000/f000004.bin: not as headrace made it",
                             folder() + "/d001/notes.txt: not made by headrace",
                             tmp_ / "scratch/data/mine.txt" + ": not made by headrace",
                         }));
  EXPECT_TRUE(fs::exists(folder() + "/d001/notes.txt"));
  for (const char* name : {"/d000/f000003.bin", "/d000/f000004.bin", "/d001/notes.txt"}) fs::remove(folder() + name);
  fs::remove(tmp_ / "scratch/data/mine.txt");
  EXPECT_TRUE(remove_data_sets(*MarkedFolder::find(tmp_ / "scratch")).left.empty());
  EXPECT_FALSE(fs::exists(folder()));
  EXPECT_TRUE(fs::exists(tmp_ / "scratch/data")) << "this node uses the scratch folder";
  EXPECT_TRUE(MarkedFolder::is_marked(tmp_ / "scratch"));
}

TEST_F(DataSetTest, RemovalLeavesDataInUse) {
  const auto data = open();
  const CleanReport report = remove_data_sets(*MarkedFolder::find(tmp_ / "scratch"));
  ASSERT_EQ(report.left.size(), 1u);
  EXPECT_TRUE(report.left[0].starts_with(folder() + ": in use by another headrace"));
  EXPECT_TRUE(data->verify({}).empty());
}

TEST_F(DataSetTest, WalksTheUsersFiles) {
  tmp_.write("mine/b/2.txt", "22");
  tmp_.write("mine/a/1.txt", "1");
  tmp_.write("mine/empty", "");
  fs::create_symlink("b", tmp_ / "mine/link");
  ::mkfifo((tmp_ / "mine/pipe").c_str(), 0600);
  spec_.path = tmp_ / "mine";
  const auto data = open();
  ASSERT_EQ(data->files().count(), 3u);
  EXPECT_STREQ(data->files().path(0), "a/1.txt");
  EXPECT_STREQ(data->files().path(1), "b/2.txt");
  EXPECT_EQ(data->files().name(2), "link/2.txt");
  EXPECT_EQ(data->files().path(2), fs::canonical(tmp_ / "mine/b/2.txt").string());
  EXPECT_EQ(data->files().total_bytes(), 5u);
  EXPECT_FALSE(data->generated());
  const std::vector<std::pair<std::string, std::uint64_t>> left{{"empty", 1}, {"not a regular file", 1}};
  EXPECT_EQ(data->left_out(), left);
  EXPECT_FALSE(fs::exists(tmp_ / "scratch"));
}

TEST_F(DataSetTest, LinksLeadIntoNoFolderThatTheyLieIn) {
  tmp_.write("elsewhere/blob", "12345");
  tmp_.write("mine/a/1.txt", "1");
  fs::create_symlink(tmp_ / "elsewhere/blob", tmp_ / "mine/a/2.tar");
  fs::create_directory_symlink("..", tmp_ / "mine/a/up");
  fs::create_symlink("nowhere", tmp_ / "mine/dangling");
  spec_.path = tmp_ / "mine";
  const auto data = open();
  ASSERT_EQ(data->files().count(), 2u);
  EXPECT_EQ(data->files().name(1), "a/2.tar");
  EXPECT_EQ(data->files().full_path(1), spec_.path + "/a/2.tar");
  EXPECT_EQ(data->whole(1), (std::vector<unsigned char>{'1', '2', '3', '4', '5'}));
  const std::vector<std::pair<std::string, std::uint64_t>> left{{"symbolic link to a folder that it lies in", 1},
                                                                {"symbolic link to nothing", 1}};
  EXPECT_EQ(data->left_out(), left);
}

TEST_F(DataSetTest, LeavesByProductsOut) {
  for (const char* name :
       {"a/1.txt", "a/._1.txt", "a/.DS_Store", "_SUCCESS", ".part-0.crc", ".cache/x", "@eaDir/x", "_metadata"})
    tmp_.write(std::string("mine/") + name, "1");
  spec_.path = tmp_ / "mine";
  const auto data = open();
  ASSERT_EQ(data->files().count(), 1u);
  const std::vector<std::pair<std::string, std::uint64_t>> left{{"hidden", 2},
                                                                {"of a desktop or a scheduler, no data", 5}};
  EXPECT_EQ(data->left_out(), left);
}

TEST_F(DataSetTest, TakesPatternsAsLoadersDo) {
  for (const char* name : {"0.tar", "1.tar", "2.tar", "3.json"}) tmp_.write(std::string("mine/") + name, "1");
  const auto names = [&](const std::string& pattern) {
    spec_.path = tmp_ / pattern;
    std::string all;
    const auto data = open();
    for (std::uint32_t i = 0; i < data->files().count(); ++i) all += std::string(data->files().name(i)) + " ";
    return all;
  };
  EXPECT_EQ(names("mine/{0..1}.tar"), "0.tar 1.tar ");
  EXPECT_EQ(names("mine/*.tar"), "0.tar 1.tar 2.tar ");
  EXPECT_EQ(names("m{ine,one}/[12].tar").substr(0, 11), "mine/1.tar ");
  spec_.path = tmp_ / "mine/{0..4}.tar";
  try {
    open();
    FAIL() << "two shards are missing";
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("2 of 5 files that it names are missing"), std::string::npos) << e.what();
  }
}

TEST_F(DataSetTest, WalksASingleFile) {
  tmp_.write("mine/one.tar", "12345");
  spec_.path = tmp_ / "mine/one.tar";
  const auto data = open();
  ASSERT_EQ(data->files().count(), 1u);
  EXPECT_EQ(data->files().full_path(0), spec_.path);
  EXPECT_EQ(data->files().size(0), 5u);
}

TEST_F(DataSetTest, SaysWhyThereIsNothingToRead) {
  spec_.path = tmp_ / "nothing";
  EXPECT_EQ(failure(), "open " + spec_.path + ": No such file or directory (ENOENT)");
  fs::create_directory(spec_.path);
  EXPECT_EQ(failure(), spec_.path + ": holds no file that can be read");
  tmp_.write("nothing/empty", "");
  EXPECT_EQ(failure(), spec_.path + ": holds no file that can be read (left out: empty 1)");
}

}  // namespace
}  // namespace headrace::data_set_test
