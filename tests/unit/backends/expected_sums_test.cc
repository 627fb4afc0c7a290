// What a collective must give, compared with adding it up element by element.
#include "harness/backends/expected_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace headrace::expected_sums_test {
namespace {

float added_up(unsigned ranks, std::uint64_t i) {
  double sum = 0;
  for (unsigned r = 0; r < ranks; ++r) sum += rank_value(r, i);
  return static_cast<float>(sum);
}

TEST(ExpectedSums, EqualActualSums) {
  for (const unsigned ranks : {1u, 2u, 7u, 8u, 110u, 4096u, 1000003u}) {
    const SumOfRanks sum(ranks);
    for (const std::uint64_t i :
         {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{6}, std::uint64_t{7}, (std::uint64_t{1} << 32) + 5})
      EXPECT_EQ(sum(i), added_up(ranks, i)) << ranks << " ranks, element " << i;
  }
}

TEST(ExpectedSums, ARankOfAReduceScatterHasItsOwnPart) {
  const ExpectedSums second(Collective::reduce_scatter, 1, 4, 40);
  EXPECT_EQ(second.results(), 10u);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(second.result(i), added_up(4, 10 + i));
}

TEST(ExpectedSums, OneWrongElementOfManyRanksIsNamed) {
  const std::uint64_t count = 1 << 16;
  const ExpectedSums data(Collective::all_reduce, 0, 4096, count);
  std::vector<float> out(count);
  for (std::uint64_t i = 0; i < count; ++i) out[i] = data.result(i);
  EXPECT_EQ(data.wrong(out.data()).count, 0u);
  out[54321] += 1;
  out[60000] += 1;
  EXPECT_EQ(data.wrong(out.data()).count, 2u);
  EXPECT_EQ(data.wrong(out.data()).first, 54321u);
}

const std::vector kAllTypes{NcclElement::f32, NcclElement::f16, NcclElement::bf16, NcclElement::f8e4m3,
                            NcclElement::f8e5m2};

TEST(Elements, HaveEveryWholeNumberUpToTheLargest) {
  for (const NcclElement e : kAllTypes) {
    std::set<std::uint32_t> seen;
    const std::uint64_t most = std::min<std::uint64_t>(largest_whole(e), 5000);
    for (std::uint64_t i = 0; i <= most; ++i) {
      const std::uint32_t bits = element_bits(static_cast<float>(i), e);
      EXPECT_EQ(element_value(bits, e), static_cast<float>(i));
      EXPECT_TRUE(seen.insert(bits).second) << i;
      EXPECT_EQ(bits >> (8 * layout_of(e).bytes - 1), 0u);
    }
  }
  // As IEEE 754, bfloat16 and OCP's 8-bit formats have them.
  EXPECT_EQ(element_bits(1, NcclElement::f16), 0x3c00u);
  EXPECT_EQ(element_bits(3, NcclElement::bf16), 0x4040u);
  EXPECT_EQ(element_bits(7, NcclElement::f8e4m3), 0x4eu);
  EXPECT_EQ(element_bits(7, NcclElement::f8e5m2), 0x47u);
  EXPECT_EQ(element_bits(6, NcclElement::f32), 0x40c00000u);
}

TEST(ExpectedSums, OfEveryTypeNeverLeaveItsWholeNumbers) {
  for (const NcclElement e : kAllTypes) {
    for (const NcclReduction reduction : {NcclReduction::sum, NcclReduction::max, NcclReduction::min}) {
      for (const unsigned ranks : {2u, 36u, 37u, 300u}) {
        std::vector<double> sum(40), largest(40), smallest(40, 1e9);
        for (unsigned r = 0; r < ranks; ++r) {
          const ExpectedSums data(Collective::all_reduce, r, ranks, 40, {e, reduction});
          for (std::size_t i = 0; i < 40; ++i) {
            const double own = data.brought(i, true);
            sum[i] += own;
            largest[i] = std::max(largest[i], own);
            smallest[i] = std::min(smallest[i], own);
          }
        }
        const ExpectedSums data(Collective::all_reduce, 0, ranks, 40, {e, reduction});
        const auto& right = reduction == NcclReduction::sum   ? sum
                            : reduction == NcclReduction::max ? largest
                                                              : smallest;
        for (std::size_t i = 0; i < 40; ++i) {
          EXPECT_EQ(data.result(i), right[i]);
          EXPECT_LE(right[i], static_cast<double>(largest_whole(e)));
        }
      }
    }
  }
}

TEST(ExpectedSums, NoTwoRanksSendsAreMistakenForEachOther) {
  // What a ring hands on is its left neighbour's, not its own.
  const ExpectedSums data(Collective::send_recv, 2, 4, 8);
  std::vector<float> own(8);
  data.fill(own.data(), false);
  EXPECT_EQ(data.wrong(own.data()).first, 0u);
}

/// Elements that each rank gets, in the mean of all and at most.
TEST(UnevenParts, AreAsUnevenAsAskedAndSpreadOverTheRanks) {
  for (const unsigned ranks : {2u, 3u, 8u, 16u, 64u, 1000u}) {
    for (const double imbalance : {1.0, 1.3, 2.0, 8.0}) {
      const std::uint64_t count = std::uint64_t{1} << 30;
      const auto begins = uneven_parts(count, ranks, std::min<double>(imbalance, ranks));
      ASSERT_EQ(begins.size(), ranks + 1);
      EXPECT_TRUE(std::is_sorted(begins.begin(), begins.end()));
      EXPECT_EQ(begins.front(), 0u);
      EXPECT_EQ(begins.back(), count);
      const double largest = static_cast<double>(largest_part(begins)) * ranks / static_cast<double>(count);
      EXPECT_NEAR(largest, std::min<double>(imbalance, ranks), 1e-3) << ranks << " ranks, " << imbalance;
    }
  }
  const auto begins = uneven_parts(64'000, 64, 4);
  std::uint64_t half = begins[32];
  EXPECT_NEAR(static_cast<double>(half), 32'000, 6'400) << "the ranks of one half of the nodes get about a half";
  EXPECT_EQ(uneven_parts(5, 8, 1).back(), 5u) << "fewer elements than ranks: some get none";
}

}  // namespace
}  // namespace headrace::expected_sums_test
