// What a collective must give, held against adding it up element by element.
#include "workloads/network/expected_sums.h"

#include <gtest/gtest.h>

namespace headrace::network {
namespace {

float added_up(unsigned ranks, std::uint64_t i) {
  double sum = 0;
  for (unsigned r = 0; r < ranks; ++r) sum += rank_value(r, i);
  return static_cast<float>(sum);
}

TEST(ExpectedSums, AreWhatAddingUpGives) {
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
  EXPECT_FALSE(data.wrong(out.data(), 0, count));
  out[54321] += 1;
  const auto why = data.wrong(out.data(), 0, count);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("element 54321 is"), std::string::npos) << *why;
}

TEST(ExpectedSums, NoTwoRanksSendsAreMistakenForEachOther) {
  // What a ring hands on is its left neighbour's, not its own.
  const ExpectedSums data(Collective::send_recv, 2, 4, 8);
  std::vector<float> own(8);
  data.fill(own.data(), false);
  EXPECT_TRUE(data.wrong(own.data(), 0, 8));
}

}  // namespace
}  // namespace headrace::network
