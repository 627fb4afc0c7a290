// Shards that are read on from where the last repetition ended.
#include <gtest/gtest.h>

#include <set>

#include "harness/backends/read_profiles.h"
#include "tests/unit/temporary_files.h"
#include "workloads/storage/input_pipeline/own_shards.h"

namespace headrace {
namespace {

/// Three tar shards with that many samples each, of 3 to 40 kB, whose first bytes are their number.
class Tars {
 public:
  explicit Tars(int samples) {
    for (int shard = 0; shard < 3; ++shard) {
      std::string text;
      for (int i = 0; i < samples; ++i) {
        std::string number = std::to_string(100 + shard * samples + i);
        std::string data = number + std::string(static_cast<std::size_t>(3000 + (i * 7919) % 37000), 'x');
        add(text, number + ".bin", data);
        add(text, number + ".cls", "7");
      }
      text.append(1024, '\0');
      text.resize((text.size() + 10239) / 10240 * 10240);
      files_.add(std::to_string(shard) + ".tar", text);
      all_.files.push_back(static_cast<std::uint32_t>(shard));
    }
    all_.format = formats::Format::tar;
  }
  const FileTable& table() const { return files_.table(); }

  std::unique_ptr<SampleSource> source(bool continued) {
    return own_shards_source(profile_block_reader(ReadProfile::wds, table(), all_.files, kTarRecord), table(),
                             all_.files, kTarRecord, all_, std::make_unique<formats::Payload>(1 << 20), continued);
  }

 private:
  static void add(std::string& text, const std::string& name, const std::string& data) {
    std::string header(512, '\0');
    const auto put = [&header](std::size_t at, const std::string& what) { header.replace(at, what.size(), what); };
    char size[12];
    std::snprintf(size, sizeof size, "%011zo", data.size());
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, size);
    put(136, "00000000000");
    put(148, "        ");
    put(156, "0");
    put(257, std::string("ustar\00000", 8));
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    char check[8];
    std::snprintf(check, sizeof check, "%06o", sum);
    put(148, std::string(check, 7) + " ");
    text += header + data;
    text.resize((text.size() + 511) / 512 * 512);
  }

  testing::TemporaryFiles files_;
  OwnShards all_;
};

/// The numbers of the next samples, at most that many of them; 0: all that there are.
std::vector<int> taken(SampleSource& source, std::size_t most, std::uint64_t seed) {
  std::vector<int> numbers;
  source.rewind(seed);
  source.attach();
  while ((most == 0 || numbers.size() < most) && source.has(0)) {
    const SampleRead one = source.read(0, 0);
    if (one.over) break;
    EXPECT_EQ(one.error.code, 0);
    if (one.error.code != 0) break;
    numbers.push_back(std::stoi(std::string(reinterpret_cast<const char*>(one.data.data()), 3)));
  }
  source.detach();
  return numbers;
}

TEST(ContinuedShards, GoOnWhereTheLastRepetitionEnded) {
  Tars tars(20);
  const auto source = tars.source(true);
  std::vector<int> all;
  for (std::uint64_t seed = 0; all.size() < 60; ++seed)
    for (const int one : taken(*source, 7, seed)) all.push_back(one);
  EXPECT_EQ(std::set<int>(all.begin(), all.begin() + 60).size(), 60u);  // none twice, none left out
  EXPECT_EQ(all[60], all[0]);                                           // and around
}

TEST(ContinuedShards, GiveEverySampleOnceInARepetitionOfAll) {
  Tars tars(20);
  const auto source = tars.source(true);
  taken(*source, 7, 1);  // the next one begins within a shard
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    const std::vector<int> all = taken(*source, 0, seed);
    EXPECT_EQ(all.size(), 60u);
    EXPECT_EQ(std::set<int>(all.begin(), all.end()).size(), 60u);
  }
}

TEST(ContinuedShards, AreNotThoseOfAWorkloadThatBeginsAnew) {
  Tars tars(20);
  const auto source = tars.source(false);
  const std::vector<int> first = taken(*source, 7, 1);
  EXPECT_EQ(taken(*source, 7, 1), first);
  bool another = false;  // in another order
  for (std::uint64_t seed = 2; seed < 20; ++seed) another = another || taken(*source, 7, seed) != first;
  EXPECT_TRUE(another);
}

TEST(ContinuedShards, WithoutSamplesOfTheirOwnAreReadOnceAround) {
  testing::TemporaryFiles files;
  files.add(100'000);
  files.add(50'000);
  const std::vector<std::uint32_t> shards{0, 1};
  const auto source = shards_source(profile_block_reader(ReadProfile::wds, files.table(), shards, kTarRecord),
                                    files.table(), shards, kTarRecord, 5000, 1, true, true);
  const auto read = [&](int most) {
    std::vector<unsigned char> first_bytes;
    source->rewind(0);
    source->attach();
    for (; most != 0 && source->has(0); --most) {
      const SampleRead one = source->read(0, 0);
      EXPECT_EQ(one.error.code, 0);
      first_bytes.push_back(one.data[0]);
    }
    source->detach();
    return first_bytes;
  };
  const auto at = [](std::uint64_t offset) { return testing::TemporaryFiles::byte(0, offset); };
  EXPECT_EQ(read(2), (std::vector{at(0), at(5000)}));  // all of the first block
  EXPECT_EQ(read(1), (std::vector{at(10240)}));        // the next
  EXPECT_EQ(read(-1).size(), 30u);                     // all 150,000 bytes, from there
}

}  // namespace
}  // namespace headrace
