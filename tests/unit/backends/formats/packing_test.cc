// Packing without the command: which files are a sample, what one becomes in a shard, which shards there will be, and that a
// shard without a name is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "harness/backends/formats/tar.h"
#include "harness/backends/formats/tfrecord.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/pack/encoder.h"
#include "harness/pack/gain.h"
#include "harness/pack/pack.h"
#include "harness/pack/sample_reader.h"
#include "harness/pack/shard_file.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::pack::packing_test {
namespace {

namespace fs = std::filesystem;
using formats::Format;
using headrace::testing::TemporaryFolder;

const Encoding kTar{.format = Format::tar, .columns = {}}, kRecord{.format = Format::tfrecord, .columns = {}};

class PackingTest : public ::testing::Test {
 protected:
  void put(const std::string& name, std::size_t size, char byte = 'x') {
    const fs::path path = fs::path(source_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << std::string(size, byte);
  }
  std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ImageFolder listed() { return list_images(source_, {}); }
  Options options(std::uint64_t shard_size, bool shuffled = false, Format format = Format::tar) {
    return {.source = source_, .target = target_, .format = format, .shard_size = shard_size, .shuffled = shuffled};
  }
  template <class Thrown>
  std::string thrown_by(const std::function<void()>& what) {
    try {
      what();
    } catch (const Thrown& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

  TemporaryFolder folder_;
  const std::string source_ = folder_.path() + "/images", target_ = folder_.path() + "/shards";
};

TEST(ExampleFeaturesTest, AreThoseThatWereWrittenAndNoneOfADamagedRecord) {
  formats::Example example;
  example.add_number("label", -3);
  example.add_bytes("image", "abc");
  const std::string text = example.serialized();
  const std::span record(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  const auto found = formats::example_features(record);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].name, "image");
  ASSERT_EQ((*found)[0].bytes.size(), 1u);
  EXPECT_EQ(std::string((*found)[0].bytes[0].begin(), (*found)[0].bytes[0].end()), "abc");
  EXPECT_EQ((*found)[1].numbers, std::vector<std::int64_t>{-3});
  for (std::size_t length = 1; length < record.size(); ++length)
    EXPECT_FALSE(formats::example_features(record.first(length))) << length;
}

TEST_F(PackingTest, FilesWithOneStemAreASample) {
  put("dog/b.v2.JPEG", 5);
  put("cat/a.jpg", 3);
  put("cat/a.json", 2);
  put("cat/.hidden.jpg", 1);
  put("cat/README", 1);
  put("cat/none.", 1);
  const ImageFolder from = listed();
  ASSERT_EQ(from.samples.size(), 2u);
  EXPECT_EQ(from.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(from.key(from.samples[0]), "cat/a");
  EXPECT_EQ(from.samples[0].count, 2u);
  EXPECT_EQ(from.bytes(from.samples[0]), 5u);
  EXPECT_EQ(from.samples[0].label, 0);
  EXPECT_EQ(from.key(from.samples[1]), "dog/b_v2") << "loaders cut names at the first dot";
  EXPECT_EQ(from.samples[1].label, 1);
  std::uint64_t left = 0;
  for (const auto& [why, count] : from.left_out) left += count;
  EXPECT_EQ(left, 3u);
}

TEST_F(PackingTest, AChangedFolderHasAnotherMark) {
  put("a/1.jpg", 10);
  put("a/2.jpg", 10);
  const std::uint64_t before = listed().mark;
  EXPECT_EQ(listed().mark, before);
  fs::last_write_time(source_ + "/a/2.jpg", fs::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_NE(listed().mark, before);
}

TEST_F(PackingTest, TwoSamplesOfOneKeyAreRefused) {
  put("a/x.y.jpg", 1);
  put("a/x_y.jpg", 1);
  const std::string reported = thrown_by<UsageError>([&] { listed(); });
  EXPECT_NE(reported.find("would be one sample"), std::string::npos) << reported;
}

/// Of two files that one reader or the other would take for one, both are named; of what is left out, the reason is.
TEST_F(PackingTest, TwoFilesNeverBecomeOnePart) {
  const struct {
    std::vector<const char*> names;
    const char* refused;  // "" = the first two are packed
  } kCases[] = {
      {{"a/x.jpg", "a/x.JPG"}, "the image of one sample"},
      {{"a/x.jpg", "a/x.jpeg"}, "the image of one sample"},
      {{"a/x.jpg", "a/x.png"}, "the image of one sample"},
      {{"a/x.json", "a/x.JSON", "a/x.jpg"}, "the .json of one sample"},
      {{"a/x.y.jpg", "a/x_y.jpg"}, "would be one sample"},
      {{"a/x\ny.jpg", "a/x_y.jpg"}, "would be one sample"},
      {{"__a__/x.jpg", "_a__/x.jpg"}, "would be one sample"},
      {{"___a__/x.jpg", "__a__/x.jpg"}, "would be one sample"},
      {{"a/x.jpg", "b/x.jpg"}, ""},
      {{"a/x.jpg", "a/X.jpg"}, ""},
      {{"a/x.jpg", "a/x/x.jpg"}, ""},
      {{"a.b\n/x.jpg", "__b__/y.jpg"}, ""},
  };
  for (const auto& one : kCases) {
    fs::remove_all(source_);
    for (const char* name : one.names) put(name, 1);
    const std::string thrown = thrown_by<UsageError>([&] { listed(); });
    if (one.refused[0] == '\0') {
      ASSERT_EQ(thrown, "nothing was thrown");
      EXPECT_EQ(listed().samples.size(), 2u);
      continue;
    }
    for (const char* const part : {one.names[0], one.names[1], one.refused})
      EXPECT_NE(thrown.find(part), std::string::npos) << part << ": " << thrown;
  }
}

TEST_F(PackingTest, AKeyIsReadBackByWebDataset) {
  put("a.b\n/x.y.jpg", 1);
  for (const char* name : {"____/z.jpg", "____x__/1.jpg", "___c__/1.jpg", "__b__/__y__.jpg"}) put(name, 1);
  const ImageFolder from = listed();
  std::set<std::string> keys;
  for (const Sample& sample : from.samples) keys.insert(from.key(sample));
  EXPECT_EQ(keys, (std::set<std::string>{"_/z", "_x__/1", "_c__/1", "_b__/__y__", "a.b_/x_y"}));
}

/// As torchvision's find_classes: every folder has a number, in the order of Python's sorted().
TEST_F(PackingTest, ClassesAreNumberedByFolders) {
  for (const char* name : {"b/1.jpg", "\xf0\x9f\x98\x80/1.jpg", "\xff/1.jpg", "B/1.jpg", "z/deep/1.jpg"}) put(name, 1);
  fs::create_directories(source_ + "/a/empty");
  put("c/README", 1);
  const ImageFolder from = listed();
  EXPECT_EQ(from.classes, (std::vector<std::string>{"B", "a", "b", "c", "z", "\xff", "\xf0\x9f\x98\x80"}));
  EXPECT_EQ(from.empty_classes(), (std::vector<std::string>{"a", "c"}));
  std::map<std::string, int> labels;
  for (const Sample& sample : from.samples) labels[from.key(sample)] = sample.label;
  EXPECT_EQ(labels, (std::map<std::string, int>{
                        {"B/1", 0}, {"b/1", 2}, {"z/deep/1", 4}, {"\xff/1", 5}, {"\xf0\x9f\x98\x80/1", 6}}));
}

TEST_F(PackingTest, LostSamplesOrShiftedClassesAreRefused) {
  put("a/1.jpg", 1);
  put("elsewhere/1.jpg", 1);
  const std::string elsewhere = folder_.path() + "/elsewhere";
  fs::rename(source_ + "/elsewhere", elsewhere);
  const struct {
    const char* name;
    std::function<void(const std::string& path)> make;
    const char* why;
  } kCases[] = {
      {"linked", [&](const std::string& path) { fs::create_directory_symlink(elsewhere, path); }, "symbolic link"},
      {"a/linked.jpg", [&](const std::string& path) { fs::create_symlink(elsewhere + "/1.jpg", path); },
       "symbolic link"},
      {"a/dangling.jpg", [](const std::string& path) { fs::create_symlink("nowhere", path); }, "symbolic link"},
      {".ipynb_checkpoints", [](const std::string& path) { fs::create_directory(path); }, "hidden folder"},
      {".linked", [&](const std::string& path) { fs::create_directory_symlink(elsewhere, path); }, "hidden folder"},
  };
  for (const auto& one : kCases) {
    const std::string path = source_ + "/" + one.name;
    one.make(path);
    const std::string thrown = thrown_by<UsageError>([&] { listed(); });
    EXPECT_NE(thrown.find(path), std::string::npos) << thrown;
    EXPECT_NE(thrown.find(one.why), std::string::npos) << thrown;
    fs::remove(path);
  }
  fs::create_symlink("nowhere", source_ + "/a/.hidden.jpg");
  fs::create_directory(source_ + "/a/.hidden");
  EXPECT_EQ(listed().left_out, (std::vector<std::pair<std::string, std::uint64_t>>{{"hidden", 2}}));
}

TEST_F(PackingTest, FilesWithoutAByteArePacked) {
  put("a/1.jpg", 0);
  put("a/2.jpg", 1);
  put("a/2.txt", 0);
  const ImageFolder from = listed();
  EXPECT_EQ(from.files.count(), 3u);
  EXPECT_EQ(from.empty_files, (std::vector<std::string>{"a/1.jpg", "a/2.txt"}));
  EXPECT_TRUE(from.left_out.empty());
}

TEST_F(PackingTest, NothingIsReadThroughALinkThatCameLater) {
  put("a/b/1.jpg", 10);
  const ImageFolder from = listed();
  for (const char* const folder : {"/a", "/a/b"}) {
    fs::rename(source_ + folder, folder_.path() + "/aside");
    fs::create_directory_symlink(folder_.path() + "/aside", source_ + folder);
    std::string out;
    const std::string thrown = thrown_by<RunError>([&] { encode({from}, from.samples[0], kTar, out); });
    EXPECT_NE(thrown.find("/a/b/1.jpg: was changed while it was packed"), std::string::npos) << thrown;
    fs::remove(source_ + folder);
    fs::rename(folder_.path() + "/aside", source_ + folder);
  }
}

TEST_F(PackingTest, AFileNextToTheClassesIsRefusedAndAFolderWithoutClassesIsNot) {
  put("loose.jpg", 1);
  EXPECT_EQ(listed().samples.front().label, -1);
  put("a/1.jpg", 1);
  const std::string reported = thrown_by<UsageError>([&] { listed(); });
  EXPECT_NE(reported.find("loose.jpg is in no folder of a class"), std::string::npos) << reported;
}

TEST_F(PackingTest, NothingToPackIsReported) {
  put("a/README", 1);
  EXPECT_NE(thrown_by<RunError>([&] { listed(); }).find("holds no file that can be read (left out: no extension 1)"),
            std::string::npos);
}

/// Shards are planned by what samples will take: of tar to the byte, whatever their size, names and parts.
TEST_F(PackingTest, ASampleTakesThePlannedSize) {
  for (const std::size_t size : {0u, 1u, 511u, 512u, 513u, 100'000u})
    put("cat/s" + std::to_string(size) + ".jpg", size);
  put("cat/s1.json", 700);
  put("cat/s2.cls", 3);
  put("cat/" + std::string(180, 'n') + ".jpg", 20);  // does not fit a ustar header's name
  const ImageFolder from = listed();
  for (const Sample& sample : from.samples) {
    std::string out = "what was there before";
    encode({from}, sample, kTar, out);
    EXPECT_EQ(out.size() % formats::kTarBlock, 0u);
    EXPECT_LE(out.size(), encoded_bytes(from, sample, kTar)) << from.key(sample);
    EXPECT_GE(out.size() + 2 * formats::kTarBlock, encoded_bytes(from, sample, kTar)) << from.key(sample);
    encode({from}, sample, kRecord, out);
    EXPECT_LE(out.size(), encoded_bytes(from, sample, kRecord)) << from.key(sample);
  }
}

TEST_F(PackingTest, AnMdsSampleTakesThePlannedBytes) {
  for (const std::size_t size : {1u, 7u, 100'000u}) {
    put("cat/s" + std::to_string(size) + ".jpg", size);
    put("cat/s" + std::to_string(size) + ".json", size + 7);
  }
  const ImageFolder from = listed();
  const Encoding as = encoding_of(from, Format::mds);
  for (const Sample& sample : from.samples) {
    std::string out = "what was there before";
    encode({from}, sample, as, out);
    EXPECT_EQ(out.size(), encoded_bytes(from, sample, as)) << from.key(sample);
  }
}

TEST_F(PackingTest, AFileThatChangedSinceItWasListedIsNamed) {
  put("a/1.jpg", 10);
  const ImageFolder from = listed();
  put("a/1.jpg", 11);
  std::string out;
  const std::string reported = thrown_by<RunError>([&] { encode({from}, from.samples[0], kTar, out); });
  EXPECT_NE(reported.find("/a/1.jpg: was changed while it was packed"), std::string::npos) << reported;
  fs::remove(source_ + "/a/1.jpg");
  EXPECT_NE(thrown_by<RunError>([&] { encode({from}, from.samples[0], kTar, out); }).find("/a/1.jpg"),
            std::string::npos);
}

TEST_F(PackingTest, SamplesComeInTheirOrderHoweverManyThreadsReadThem) {
  for (int i = 0; i < 60; ++i) put("a/" + std::to_string(i) + ".jpg", static_cast<std::size_t>(1 + 1000 * (i % 7)));
  const ImageFolder from = listed();
  std::vector<std::uint32_t> order(from.samples.size());
  std::iota(order.rbegin(), order.rend(), 0u);
  SampleReader reader(from, order, kTar);
  std::string sample;
  for (const std::uint32_t number : order) {
    std::string expected;
    encode({from}, from.samples[number], kTar, expected);
    reader.next(sample);
    EXPECT_EQ(sample, expected);
  }
}

TEST_F(PackingTest, AReaderRethrowsAndEndsBeforeItsSamplesDo) {
  for (int i = 0; i < 40; ++i) put("a/" + std::to_string(i) + ".jpg", 100);
  const ImageFolder from = listed();
  std::vector<std::uint32_t> order(from.samples.size());
  std::iota(order.begin(), order.end(), 0u);
  fs::remove(from.files.full_path(from.order[from.samples[1].first]));
  SampleReader reader(from, order, kTar);
  std::string sample;
  reader.next(sample);
  EXPECT_THROW(reader.next(sample), RunError);
}

TEST_F(PackingTest, ShardsHoldNoMoreThanTheirSizeButForALargerSample) {
  for (int i = 0; i < 30; ++i) put("a/" + std::to_string(i) + ".jpg", 50'000);
  put("a/huge.jpg", 3 << 20);
  const Plan made = plan(options(1 << 20), {});
  std::uint64_t samples = 0, next = 0, larger = 0;
  for (const Shard& shard : made.shards) {
    EXPECT_EQ(shard.first, next) << "one behind the other";
    next += shard.samples;
    samples += shard.samples;
    if (shard.bytes > 1 << 20) {
      ++larger;
      EXPECT_EQ(shard.samples, 1u);
    }
  }
  EXPECT_EQ(samples, 31u);
  EXPECT_EQ(larger, 1u);
  EXPECT_EQ(made.name(3), "shard-000003.tar");
  EXPECT_FALSE(fs::exists(target_)) << "a plan only reads";
}

TEST_F(PackingTest, AShuffledOrderIsTheSameEachTime) {
  for (int i = 0; i < 50; ++i) put("a/" + std::to_string(i) + ".jpg", 10);
  const Plan one = plan(options(1 << 20, true), {}), other = plan(options(1 << 20, true), {});
  EXPECT_EQ(one.order, other.order);
  EXPECT_FALSE(std::ranges::is_sorted(one.order));
  EXPECT_TRUE(std::ranges::is_sorted(plan(options(1 << 20, false), {}).order));
}

TEST_F(PackingTest, PackingTakesThePlannedSizeAndHappensOnce) {
  for (int i = 0; i < 60; ++i) put("a/" + std::to_string(i) + ".jpg", 40'000, static_cast<char>(i));
  const Plan made = plan(options(1 << 20), {});
  const Packed first = pack(made, {});
  EXPECT_EQ(first.samples, 60u);
  EXPECT_EQ(first.shards, made.shards.size());
  EXPECT_EQ(first.bytes, made.bytes);
  for (std::size_t i = 0; i < made.shards.size(); ++i)
    EXPECT_EQ(fs::file_size(target_ + "/" + made.name(i)), made.shards[i].bytes);
  const Packed again = pack(made, {});
  EXPECT_EQ(again.shards, 0u);
  EXPECT_EQ(again.kept, made.shards.size());
  fs::remove(target_ + "/" + made.name(1));
  const Packed repaired = pack(made, {});
  EXPECT_EQ(repaired.shards, 1u) << "what is missing is made once more";
}

/// Three shards of which a few bytes of one are changed in place.
TEST_F(PackingTest, AShardThatWasChangedIsRefusedAndStays) {
  for (int i = 0; i < 60; ++i) put("a/" + std::to_string(i) + ".jpg", 40'000);
  for (const Format format : {Format::tar, Format::mds}) {
    fs::remove_all(target_);
    const Plan made = plan(options(1 << 20, false, format), {});
    pack(made, {});
    const std::string shard = target_ + "/" + made.name(1), original = read(shard);
    const auto packed_at = fs::last_write_time(shard);
    std::string changed = original;
    changed[100'000] ^= 1;
    const auto overwrite = [&](const std::string& text, int later_s) {
      std::ofstream(shard, std::ios::binary) << text;
      fs::last_write_time(shard, packed_at + std::chrono::seconds(later_s));
    };
    overwrite(changed, 1);
    for (int i = 0; i < 2; ++i) {
      const std::string thrown = thrown_by<RunError>([&] { pack(made, {}); });
      EXPECT_NE(thrown.find(made.name(1) + ": is not the shard that was packed there"), std::string::npos) << thrown;
      EXPECT_NE(thrown.find("remove it and pack again, or name another --to"), std::string::npos) << thrown;
      EXPECT_TRUE(read(shard) == changed) << "it is never replaced";
    }
    fs::remove(shard);
    EXPECT_EQ(pack(made, {}).shards, 1u) << "the remedy";
    EXPECT_TRUE(read(shard) == original);
  }
}

TEST_F(PackingTest, OnlyShardsWithAnotherTimeAreRead) {
  for (int i = 0; i < 60; ++i) put("a/" + std::to_string(i) + ".jpg", 40'000);
  const Plan made = plan(options(1 << 20), {});
  pack(made, {});
  const std::string shard = target_ + "/" + made.name(1);
  const auto packed_at = fs::last_write_time(shard);
  int compared = 0;
  const DataProgress progress = [&](std::uint64_t, std::uint64_t, std::string_view what) {
    compared += what == "comparing shards that were touched";
  };
  EXPECT_EQ(pack(made, progress).kept, made.shards.size());
  EXPECT_EQ(compared, 0);
  fs::last_write_time(shard, packed_at + std::chrono::hours(1));
  EXPECT_EQ(pack(made, progress).kept, made.shards.size()) << "the same bytes at another time are the shard";
  EXPECT_EQ(compared, 1);
  EXPECT_EQ(pack(made, progress).kept, made.shards.size());
  EXPECT_EQ(compared, 1) << "its new time is stored";
  std::string changed = read(shard);
  changed[100'000] ^= 1;
  std::ofstream(shard, std::ios::binary) << changed;
  fs::last_write_time(shard, packed_at + std::chrono::hours(1));
  EXPECT_EQ(pack(made, progress).kept, made.shards.size()) << "it is not read where size and time are the same";
}

/// As a version that stored no times left it.
TEST_F(PackingTest, AListWithoutTimesIsComparedByContent) {
  put("a/1.jpg", 10'000);
  const Plan made = plan(options(1 << 20), {});
  pack(made, {});
  const std::string list = target_ + "/.headrace-pack.json", text = read(list), key = "\"modified_ns\"";
  ASSERT_NE(text.find(key), std::string::npos);
  std::ofstream(list, std::ios::binary) << std::string(text).replace(text.find(key), key.size(), "\"older\"");
  std::string changed = read(target_ + "/" + made.name(0));
  changed[600] ^= 1;
  std::ofstream(target_ + "/" + made.name(0), std::ios::binary) << changed;
  const std::string thrown = thrown_by<RunError>([&] { pack(made, {}); });
  EXPECT_NE(thrown.find("is not the shard that was packed there"), std::string::npos) << thrown;
}

/// In the list of shards these two names were once the same.
TEST_F(PackingTest, ClassesOfAnyBytesAreDistinguished) {
  put("caf\xe9/1.jpg", 10);
  pack(plan(options(1 << 20), {}), {});
  const std::string list = read(target_ + "/.headrace-pack.json");
  EXPECT_NE(list.find("\"hex\": \"636166e9\""), std::string::npos) << list;
  EXPECT_EQ(pack(plan(options(1 << 20), {}), {}).kept, 1u);
  fs::rename(source_ + "/caf\xe9", source_ + "/caf\xe8");
  const std::string thrown = thrown_by<UsageError>([&] { pack(plan(options(1 << 20), {}), {}); });
  EXPECT_NE(thrown.find("its classes changed"), std::string::npos) << thrown;
}

/// A kill between a shard's new name and its new mode leaves headrace's mark on it.
TEST_F(PackingTest, AShardThatHadJustGotItsNameIsHandedOver) {
  put("a/1.jpg", 10);
  const Plan made = plan(options(1 << 20), {});
  pack(made, {});
  const fs::path shard = target_ + "/" + made.name(0);
  fs::permissions(shard, fs::perms::sticky_bit, fs::perm_options::add);
  EXPECT_EQ(pack(made, {}).kept, 1u);
  EXPECT_EQ(fs::status(shard).permissions() & fs::perms::sticky_bit, fs::perms::none);
}

/// Killed at each of its steps: the list that it left lets the next one go on.
TEST_F(PackingTest, AWholePackingMayBeStoppedAgainAndAgain) {
  for (int i = 0; i < 60; ++i) put("a/" + std::to_string(i) + ".jpg", 40'000);
  for (const Format format : {Format::tar, Format::mds}) {
    fs::remove_all(target_);
    const Plan made = plan(options(1 << 20, false, format), {});
    pack(made, {});
    fs::remove(target_ + "/" + made.name(1));
    const auto stop = [](std::uint64_t, std::uint64_t, std::string_view) { throw RunError("stopped"); };
    for (int i = 0; i < 2; ++i) EXPECT_EQ(thrown_by<RunError>([&] { pack(made, stop); }), "stopped");
    EXPECT_EQ(pack(made, {}).kept, made.shards.size() - 1);
  }
}

TEST_F(PackingTest, ShardsWithOtherClassesAreNotContinued) {
  put("b/1.jpg", 10);
  pack(plan(options(1 << 20), {}), {});
  fs::create_directory(source_ + "/a");  // numbers shift, and no file changed
  const std::string thrown = thrown_by<UsageError>([&] { pack(plan(options(1 << 20), {}), {}); });
  EXPECT_NE(thrown.find("its classes changed"), std::string::npos) << thrown;
}

TEST_F(PackingTest, ATargetInALinkedFolderIsRefused) {
  put("a/1.jpg", 10);
  const std::string elsewhere = folder_.path() + "/elsewhere";
  for (const char* name : {"deep", "empty"}) fs::create_directories(elsewhere + "/" + name);
  std::ofstream(elsewhere + "/deep/1.jpg") << "x";
  fs::create_directory_symlink(elsewhere + "/deep", source_ + "/deep");
  fs::create_directory_symlink(elsewhere + "/empty", source_ + "/empty");
  Options linked = options(1 << 20);
  linked.follow_links = true;
  for (const char* name : {"/elsewhere/deep/shards", "/elsewhere/empty/shards", "/elsewhere/empty"}) {
    linked.target = folder_.path() + name;
    const std::string thrown = thrown_by<UsageError>([&] { plan(linked, {}); });
    EXPECT_NE(thrown.find("lie in each other"), std::string::npos) << name << ": " << thrown;
  }
  linked.target = elsewhere + "/shards";
  EXPECT_EQ(pack(plan(linked, {}), {}).samples, 2u);
  // Those shards are no samples of another packing.
  fs::create_directory_symlink(elsewhere + "/shards", source_ + "/shards");
  linked.target = target_;
  const std::string thrown = thrown_by<UsageError>([&] { plan(linked, {}); });
  EXPECT_NE(thrown.find("/images/shards is headrace's own folder"), std::string::npos) << thrown;
}

TEST_F(PackingTest, ARefusedPackingLeavesNoFolder) {
  put("a/1.jpg", 10);
  Plan large = plan(options(1 << 20), {});
  large.shards.front().bytes = std::uint64_t{1} << 60;
  const auto refused = [&] { return thrown_by<RunError>([&] { pack(large, {}); }); };
  EXPECT_NE(refused().find("the shards need"), std::string::npos);
  EXPECT_FALSE(fs::exists(target_));
  fs::create_directory(target_);
  EXPECT_NE(refused().find("the shards need"), std::string::npos);
  EXPECT_TRUE(fs::exists(target_) && fs::is_empty(target_)) << "it was the user's before";
}

TEST_F(PackingTest, ARehearsalReadsFilesAndShardsAndLeavesNothing) {
  for (int i = 0; i < 200; ++i) put("a/" + std::to_string(i) + ".jpg", 20'000);
  const auto written = fs::last_write_time(source_ + "/a/7.jpg");
  const Gain gain = rehearse_gain(plan(options(1 << 20), {}), {.bytes = 1 << 20, .workers = 4, .turns = 3}, {});
  EXPECT_EQ(gain.of, 200u);
  EXPECT_GE(gain.samples * 20'000, 900'000u);
  EXPECT_LE(gain.samples, 53u) << "no more than was asked for";
  EXPECT_EQ(gain.bytes, gain.samples * 20'000);
  EXPECT_GE(gain.shards, 4u) << "one for each worker";
  EXPECT_EQ(gain.as_files.size(), 3u);
  EXPECT_EQ(gain.as_shards.size(), 3u);
  EXPECT_FALSE(fs::exists(target_));
  EXPECT_FALSE(fs::exists(target_ + ".rehearsal"));
  EXPECT_EQ(fs::last_write_time(source_ + "/a/7.jpg"), written);
}

TEST_F(PackingTest, TheRestOfAStoppedRehearsalGoesAndForeignFilesStay) {
  for (int i = 0; i < 50; ++i) put("a/" + std::to_string(i) + ".jpg", 20'000);
  Options stopped = options(1 << 20);
  stopped.target += ".rehearsal";
  stopped.kind = kRehearsalKind;
  pack(plan(stopped, {}), {});
  ASSERT_TRUE(fs::exists(target_ + ".rehearsal/shard-000000.tar"));
  rehearse_gain(plan(options(1 << 20), {}), {.bytes = 1 << 18, .workers = 2, .turns = 2}, {});
  EXPECT_FALSE(fs::exists(target_ + ".rehearsal"));
  // Shards of the user's own that happen to lie there.
  Options own = options(1 << 20);
  own.target += ".rehearsal";
  pack(plan(own, {}), {});
  EXPECT_THROW(rehearse_gain(plan(options(1 << 20), {}), {.bytes = 1 << 18, .workers = 2, .turns = 2}, {}), UsageError);
  EXPECT_TRUE(fs::exists(target_ + ".rehearsal/shard-000000.tar"));
}

/// The user writes a file into its folder.
TEST_F(PackingTest, ARehearsalThatCannotBeRemovedIsReported) {
  for (int i = 0; i < 50; ++i) put("a/" + std::to_string(i) + ".jpg", 20'000);
  const std::string notes = target_ + ".rehearsal/notes";
  std::vector<std::string> stayed;
  const GainOptions little{
      .bytes = 1 << 18, .workers = 2, .turns = 2, .stays = [&](const std::string& why) { stayed.push_back(why); }};
  const auto annoyed = [&](bool fails) {
    return [&, fails](std::uint64_t, std::uint64_t, std::string_view what) {
      if (what != "reading by turns") return;
      std::ofstream(notes) << "mine";
      if (fails) throw RunError("stopped");
    };
  };
  const std::vector<std::string> once{target_ + ".rehearsal: notes: not made by headrace"};
  EXPECT_EQ(rehearse_gain(plan(options(1 << 20), {}), little, annoyed(false)).as_shards.size(), 2u);
  EXPECT_EQ(stayed, once);
  EXPECT_EQ(read(notes), "mine");
  EXPECT_FALSE(fs::exists(target_ + ".rehearsal/shard-000000.tar"));
  stayed.clear();
  EXPECT_THROW(rehearse_gain(plan(options(1 << 20), {}), little, annoyed(true)), RunError);
  EXPECT_EQ(stayed, once) << "after an error, too";
  stayed.clear();
  fs::remove(notes);
  rehearse_gain(plan(options(1 << 20), {}), little, {});
  EXPECT_EQ(stayed, std::vector<std::string>{});
  EXPECT_FALSE(fs::exists(target_ + ".rehearsal"));
}

TEST_F(PackingTest, AChangedShardOfAStoppedRehearsalStays) {
  for (int i = 0; i < 50; ++i) put("a/" + std::to_string(i) + ".jpg", 20'000);
  Options stopped = options(1 << 20);
  stopped.target += ".rehearsal";
  stopped.kind = kRehearsalKind;
  pack(plan(stopped, {}), {});
  const std::string shard = stopped.target + "/shard-000000.tar";
  const auto packed_at = fs::last_write_time(shard);
  std::string changed = read(shard);
  changed[10'000] ^= 1;
  std::ofstream(shard, std::ios::binary) << changed;
  fs::last_write_time(shard, packed_at + std::chrono::hours(1));
  const std::string thrown = thrown_by<RunError>(
      [&] { rehearse_gain(plan(options(1 << 20), {}), {.bytes = 1 << 18, .workers = 2, .turns = 2}, {}); });
  EXPECT_NE(thrown.find("shard-000000.tar: is not the shard that was packed there"), std::string::npos) << thrown;
  EXPECT_TRUE(read(shard) == changed);
}

Gain gained(std::vector<double> as_files, std::vector<double> as_shards) {
  Gain gain;
  gain.samples = gain.of = 100;
  gain.workers = 8;
  gain.as_files = std::move(as_files);
  gain.as_shards = std::move(as_shards);
  return gain;
}

TEST(PackingGainTest, IsReportedWhereTheBoundsShowIt) {
  const std::vector<double> files{100, 102, 98, 101, 99, 100};
  const auto last = [](const Gain& gain) { return describe(gain).back(); };
  const auto times = [&](double factor) {
    std::vector<double> shards;
    for (const double one : files) shards.push_back(factor * one + (shards.size() % 2 ? 1 : -1));
    return shards;
  };
  EXPECT_NE(last(gained(files, times(8))).find("packing gains: "), std::string::npos);
  EXPECT_NE(describe(gained(files, times(8))).front().find("8 times as many samples ["), std::string::npos);
  EXPECT_NE(last(gained(files, times(0.5))).find("packing loses"), std::string::npos);
  EXPECT_NE(last(gained(files, times(1))).find("gains nothing"), std::string::npos);
  EXPECT_NE(last(gained(files, {50, 200, 90, 300, 70, 110})).find("is not known: the bounds"), std::string::npos);
  EXPECT_NE(last(gained({100}, {800})).find("is not known"), std::string::npos) << "one turn has no bounds";
  Gain warm = gained(files, times(8));
  warm.not_seen = "the client's cache is not seen";
  EXPECT_NE(last(warm).find("is not known: memory may have given some of it (the client's"), std::string::npos)
      << last(warm);
  warm.in_memory = "100 % of the bytes stayed in the page cache";
  EXPECT_NE(last(warm).find("is not known: memory gave some of it (100 %"), std::string::npos) << last(warm);
}

class ShardFileTest : public PackingTest {
 protected:
  const bool made_ = fs::create_directories(target_);
  const files::Folder at_ = files::Folder::at(target_);
  std::vector<std::string> there() { return at_.entries(); }
};

TEST_F(ShardFileTest, HasItsNameOnceItWasReadBack) {
  ShardFile shard(at_, "one.tar", 20'000'000);
  std::string bytes;  // more than memory holds at once, and no multiple of what direct writes take
  for (std::uint64_t i = 0; bytes.size() < 49'999'999; ++i) bytes += std::to_string(i * i);
  for (std::size_t at = 0; at < bytes.size(); at += 99'991) shard.append(std::string_view(bytes).substr(at, 99'991));
  shard.append("end");
  EXPECT_EQ(shard.bytes(), bytes.size() + 3);
  shard.finish();
  EXPECT_FALSE(fs::exists(target_ + "/one.tar"));
  shard.read_back();
  shard.publish();
  EXPECT_TRUE(read(target_ + "/one.tar") == bytes + "end");
  EXPECT_EQ(there(), (std::vector<std::string>{"one.tar"}));
}

TEST_F(ShardFileTest, LeavesNothingWhereItDidNotBecomeOne) {
  {
    ShardFile shard(at_, "one.tar", 1000);
    shard.append("half");
  }
  EXPECT_TRUE(there().empty());
}

TEST_F(ShardFileTest, OnlyItsOwnAsidesAreRemoved) {
  at_.create(".headrace-one.tar.part");
  at_.create("shard.part");
  std::ofstream(target_ + "/.headrace-two.tar.part") << "mine";
  remove_asides(at_);
  EXPECT_EQ(there(), (std::vector<std::string>{".headrace-two.tar.part", "shard.part"}));
}

TEST_F(ShardFileTest, ChangesByTheStorageAreFound) {
  ShardFile shard(at_, "one.tar", 1000);
  shard.append(std::string(100'000, 'q'));
  shard.finish();
  ASSERT_EQ(there().size(), 1u);
  std::fstream file(target_ + "/" + there().front(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(70'000);
  file << 'Q';
  file.close();
  const std::string reported = thrown_by<RunError>([&] { shard.read_back(); });
  EXPECT_NE(reported.find("one.tar: read back, it differs from the written data (100000 of 100000 bytes"),
            std::string::npos)
      << reported;
  fs::resize_file(target_ + "/" + there().front(), 99'999);
  EXPECT_NE(thrown_by<RunError>([&] { shard.read_back(); }).find("99999 of 100000"), std::string::npos);
}

TEST_F(ShardFileTest, AForeignFileStays) {
  std::ofstream(target_ + "/one.tar") << "mine";
  EXPECT_NE(thrown_by<RunError>([&] { ShardFile(at_, "one.tar", 10); }).find("is in the way"), std::string::npos);
  EXPECT_EQ(read(target_ + "/one.tar"), "mine");
  std::ofstream(target_ + "/.headrace-two.tar.part") << "mine";
  EXPECT_NE(thrown_by<RunError>([&] { ShardFile(at_, "two.tar", 10); }).find("did not make"), std::string::npos);
  EXPECT_EQ(read(target_ + "/.headrace-two.tar.part"), "mine");
  ShardFile three(at_, "three.tar", 10);
  three.append("x");
  three.finish();
  std::ofstream(target_ + "/three.tar") << "mine";
  EXPECT_THROW(three.publish(), RunError);
  EXPECT_EQ(read(target_ + "/three.tar"), "mine") << "it is never replaced";
}

}  // namespace
}  // namespace headrace::pack::packing_test
