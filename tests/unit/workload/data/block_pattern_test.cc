#include "harness/workload/data/data_set/block_pattern.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

namespace headrace::block_pattern_test {
namespace {

using Block = std::array<unsigned char, kBlock>;

Block block(const BlockLabel& label) {
  Block data;
  fill_block(label, data.data());
  return data;
}

TEST(BlockPattern, SaysWhereItBelongs) {
  const BlockLabel label{7, 3, 17};
  const Block data = block(label);
  EXPECT_EQ(read_label(data.data()), label);
  EXPECT_EQ(data, block(label));
  EXPECT_FALSE(read_label(Block{}.data()));
}

/// Data sets stay on disk and are read by later versions: what a block holds never changes.
TEST(BlockPattern, IsTheSameForEveryVersion) {
  // splitmix64's first draws of seed 0, as its authors have them: mix() of multiples of its increment.
  EXPECT_EQ(mix(0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(mix(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);
}

TEST(BlockPattern, OneBitOfTheLabelIsEnoughToRefuseIt) {
  for (std::size_t byte = 0; byte < kLabelBytes; ++byte) {
    Block data = block({7, 3, 17});
    data[byte] ^= 1;
    EXPECT_FALSE(read_label(data.data())) << byte;
  }
}

TEST(BlockPattern, NoTwoBlocksAlike) {
  const Block one = block({7, 3, 17});
  for (const BlockLabel& other : {BlockLabel{8, 3, 17}, BlockLabel{7, 4, 17}, BlockLabel{7, 3, 18}}) {
    const Block two = block(other);
    int same = 0;
    for (std::size_t i = kLabelBytes; i < kBlock; ++i) same += one[i] == two[i];
    EXPECT_LT(same, 60);  // 16 expected by chance
  }
}

TEST(BlockPattern, IncompressibleByByteFrequencies) {
  std::vector<double> counts(256);
  constexpr std::uint64_t kBlocks = 64;
  for (std::uint64_t number = 0; number < kBlocks; ++number) {
    const Block data = block({1, 2, number});
    for (std::size_t i = kLabelBytes; i < kBlock; ++i) ++counts[data[i]];
  }
  double entropy = 0;
  for (const double count : counts) {
    const double p = count / (kBlocks * (kBlock - kLabelBytes));
    entropy -= p * std::log2(p);
  }
  EXPECT_GT(entropy, 7.998);
}

TEST(BlockPattern, RangesAreCutsOfBlocks) {
  std::vector<unsigned char> whole(3 * kBlock), part(kBlock);
  fill_range(9, 1, 0, whole.data(), whole.size());
  for (const std::uint64_t offset : {0, 1, 100, 4000, 4096, 5000, 8191}) {
    fill_range(9, 1, offset, part.data(), part.size());
    EXPECT_EQ(std::memcmp(part.data(), whole.data() + offset, part.size()), 0) << offset;
  }
}

}  // namespace
}  // namespace headrace::block_pattern_test
