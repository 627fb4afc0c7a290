// MDS shards as streaming's writer makes them, cut off and damaged: what is whole is found, what is not is reported with its place.
#include "harness/backends/formats/mds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "harness/backends/formats/format.h"
#include "harness/backends/formats/sample_parser.h"

namespace headrace::formats::mds_test {
namespace {

using Kind = Found::Kind;

const std::string kSettings =
    R"({"column_encodings": ["int", "bytes"], "column_names": ["id", "image"], "column_sizes": [8, null], )"
    R"("compression": null, "format": "mds", "hashes": [], "size_limit": 65536, "version": 2})";

void put(std::string& out, std::size_t number) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(number >> 8 * i));
}

/// Sample i: a number of 8 bytes and an image of 100 i bytes.
std::string shard_of(std::size_t samples, const std::string& settings = kSettings) {
  std::string shard;
  put(shard, samples);
  std::size_t at = 8 + 4 * samples + settings.size();
  for (std::size_t i = 0; i <= samples; ++i) {
    put(shard, at);
    at += 12 + 100 * i;
  }
  shard += settings;
  for (std::size_t i = 0; i < samples; ++i) {
    put(shard, 100 * i);
    shard.append(8 + 100 * i, static_cast<char>(i));
  }
  return shard;
}

std::vector<Found> found_in(SampleParser& parser, const std::string& shard, std::size_t chunk = 10240) {
  std::vector<Found> all;
  parser.begin();
  const auto* data = reinterpret_cast<const unsigned char*>(shard.data());
  for (std::size_t at = 0; at < shard.size();) {
    const Found next = parser.take({data + at, std::min(chunk, shard.size() - at)});
    at += next.used;
    if (next.kind == Kind::more) continue;
    all.push_back(next);
    if (rest_is_lost(next.flaw)) return all;
  }
  for (Found next = parser.end(); next.kind != Kind::over; next = parser.end()) all.push_back(next);
  return all;
}

std::size_t samples_of(const std::vector<Found>& found) {
  return static_cast<std::size_t>(
      std::count_if(found.begin(), found.end(), [](const Found& f) { return f.kind == Kind::sample; }));
}

TEST(MdsParserTest, FindsEverySampleHoweverItsBytesCome) {
  const auto parser = mds_parser(mds_columns(kSettings));
  const std::string shard = shard_of(5);
  const std::size_t head = 8 + 4 * 5 + kSettings.size();
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{13}, std::size_t{4096}, shard.size()}) {
    const auto found = found_in(*parser, shard, chunk);
    ASSERT_EQ(found.size(), 5u) << chunk;
    ASSERT_EQ(samples_of(found), 5u) << chunk;
    EXPECT_EQ(found[3].bytes, 308u);
    EXPECT_EQ(found[3].offset, head + 3 * 12 + 300);
  }
  EXPECT_EQ(samples_of(found_in(*parser, shard + "what follows")), 5u);
}

TEST(MdsParserTest, ColumnsThatDoNotAddUpAreOneBadSample) {
  const std::size_t head = 8 + 4 * 5 + kSettings.size();
  std::string damaged = shard_of(5);
  damaged[head + 12] = static_cast<char>(damaged[head + 12] ^ 1);
  const auto found = found_in(*mds_parser(mds_columns(kSettings)), damaged);
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(samples_of(found), 4u);
  EXPECT_EQ(found[1].flaw, Flaw::column_sizes);
  EXPECT_EQ(found[1].offset, head + 12);
  EXPECT_EQ(samples_of(found_in(*mds_parser(std::nullopt), damaged)), 5u) << "the columns are not known";
  EXPECT_EQ(samples_of(found_in(*mds_parser(mds_columns(kSettings)), shard_of(5, kSettings + " "))), 5u)
      << "settings of another shard say nothing of this one";
}

TEST(MdsParserTest, ACutAnywhereIsReported) {
  const std::string shard = shard_of(4);
  const auto parser = mds_parser(mds_columns(kSettings));
  for (std::size_t length = 1; length < shard.size(); ++length) {
    const auto found = found_in(*parser, shard.substr(0, length));
    ASSERT_EQ(found.size() - samples_of(found), 1u) << length;
    EXPECT_EQ(found.back().flaw, Flaw::truncated) << length;
    EXPECT_EQ(samples_of(found_in(*parser, shard)), 4u) << "what is left of a shard is no part of the next";
  }
}

TEST(MdsParserTest, ATableThatContradictsItselfEndsTheShard) {
  const auto flaw = [](const std::string& shard) {
    const auto found = found_in(*mds_parser(std::nullopt), shard);
    return found.size() == 1 ? found[0].flaw : Flaw::none;
  };
  std::string backwards = shard_of(4);
  std::swap_ranges(backwards.begin() + 8, backwards.begin() + 12, backwards.begin() + 16);
  EXPECT_EQ(flaw(backwards), Flaw::bad_table);
  std::string inside = shard_of(4);
  std::memset(inside.data() + 4, 0, 4);  // a sample in the table itself
  EXPECT_EQ(flaw(inside), Flaw::bad_table);
  EXPECT_EQ(flaw("\xff\xff\xff\xff" + std::string(100, 'x')), Flaw::bad_table);
  EXPECT_EQ(flaw("\x28\xb5\x2f\xfd" + std::string(100, 'x')), Flaw::compressed);
  EXPECT_EQ(flaw(std::string("\x1f\x8b\x08\x00", 4) + std::string(10, '\0')), Flaw::compressed);
  EXPECT_EQ(flaw(shard_of(0)), Flaw::no_sample);
}

TEST(MdsTest, ColumnsAreThoseOfTheSettings) {
  const auto columns = mds_columns(kSettings);
  ASSERT_TRUE(columns);
  EXPECT_EQ(columns->fixed, 8u);
  EXPECT_EQ(columns->variable, 1u);
  for (const char* no : {"", "[]", "{}", R"({"format": "json", "column_sizes": []})", R"({"format": "mds"})",
                         R"({"format": "mds", "column_sizes": [-1]})", R"({"format": "mds", "column_sizes": ["8"]})"})
    EXPECT_FALSE(mds_columns(no)) << no;
  EXPECT_EQ(format_by_name("a/shard.00000.mds"), Format::mds);
  EXPECT_EQ(format_by_name("a/shard.00000.mds.zstd"), Format::mds);
  EXPECT_EQ(format_by_name("a/shard.mdsx"), Format::none);
}

}  // namespace
}  // namespace headrace::formats::mds_test
