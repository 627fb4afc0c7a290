// Shards as they are written, cut off, and damaged: what is whole is found, what is not is reported with its place.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "harness/backends/formats/crc32c.h"
#include "harness/backends/formats/format.h"
#include "harness/backends/formats/sample_parser.h"
#include "harness/backends/formats/shard_samples.h"
#include "harness/backends/formats/tar.h"
#include "harness/backends/formats/tfrecord.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::formats::formats_test {
namespace {

using Kind = Found::Kind;

std::span<const unsigned char> bytes_of(const std::string& text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

/// All that a parser finds in a shard given `chunk` bytes at a time, up to what ends the shard.
std::vector<Found> found_in(SampleParser& parser, const std::string& shard, std::size_t chunk = 10240) {
  std::vector<Found> all;
  parser.begin();
  for (std::size_t at = 0; at < shard.size();) {
    const Found next = parser.take(bytes_of(shard).subspan(at, std::min(chunk, shard.size() - at)));
    if (next.used > 0 || next.kind != Kind::more) at += next.used;
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

void add(std::string& tar, const std::string& name, std::size_t size, char fill = 'x') {
  put_tar_header(name, size, tar);
  tar.append(size, fill).append(tar_padding(size), '\0');
}
std::string ended(std::string tar) { return tar.append(kTarEnd, '\0'); }

std::string tar_of(int samples) {
  std::string tar;
  for (int i = 0; i < samples; ++i) {
    const std::string key = "n" + std::to_string(i % 3) + "/image_" + std::to_string(i);
    add(tar, key + ".jpg", static_cast<std::size_t>(700 * i + 1));
    add(tar, key + ".cls", 3);
  }
  return ended(tar);
}
/// What `look` says of a file that holds `text`.
template <class Look>
auto in_file(const std::string& text, Look look) {
  const int fd = ::memfd_create("shard", MFD_CLOEXEC);
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  const auto said = look(fd);
  ::close(fd);
  return said;
}

const std::vector<std::string> kParts{"cls", "image"};

std::string records_of(int records) {
  std::string out;
  for (int i = 0; i < records; ++i) put_record(std::string(static_cast<std::size_t>(1000 * i), char('a' + i)), out);
  return out;
}

TEST(FormatTest, NamesByProductsAndSideFiles) {
  for (const char* name :
       {".DS_Store", "._a.jpg", "_SUCCESS", ".nfs0001", "Thumbs.db", "_committed_12", "@eaDir", ".gitkeep"})
    EXPECT_NE(by_product(name), "") << name;
  for (const char* name : {"0.tar.part", "i.jpg.crdownload", "x.incomplete", "1.0.0.incompleteAB12CD",
                           "incomplete.0123456789abcdef0123456789abcdef.1.0.0"})
    EXPECT_EQ(by_product(name), kUnfinished) << name;
  for (const char* name : {"a.jpg", "_a.jpg", "SUCCESS", "thumbs.jpg", "committed", "part", "a.part.tar",
                           "incomplete.tar", "x.incompletely"})
    EXPECT_EQ(by_product(name), "") << name;
  EXPECT_EQ(by_product_on_path("set/"), "the marker of a folder");
  EXPECT_EQ(by_product_on_path("set/.cache/x"), "hidden");
  EXPECT_EQ(by_product_on_path("set//x+%20"), "");
  EXPECT_TRUE(is_side_file("a/0.JSON"));
  EXPECT_FALSE(is_side_file("json"));
  EXPECT_TRUE(has_image_extension("a.b/c.JPEG"));
  EXPECT_FALSE(has_image_extension("jpg"));
}

TEST(FormatTest, NamesUnparsedFormats) {
  const auto foreign = [](const std::string& name, const std::string& text) {
    return std::string(in_file(text, [&](int fd) { return foreign_format(name, bytes_of_file(fd)); }).name);
  };
  const std::string rest(64, 'x');
  EXPECT_EQ(foreign("a", std::string("\x89HDF\r\n\x1a\n") + rest), "HDF5");
  EXPECT_EQ(foreign("a", std::string(16, '\0') + "\xde\xc0\xef\xbe" + rest), "LMDB");
  EXPECT_EQ(foreign("a", "\x0a\x23\xd7\xce" + rest), "RecordIO");
  EXPECT_EQ(foreign("a", "PAR1" + rest), "Parquet");
  EXPECT_EQ(foreign("set.zarr/c/0/1", rest), "Zarr");
  EXPECT_EQ(foreign("train.beton", rest), "FFCV");
  EXPECT_EQ(foreign("c4.array_record-00000-of-00008", rest), "ArrayRecord");
  EXPECT_EQ(foreign("data-00000-of-00001.arrow", rest), "Arrow IPC");
  EXPECT_EQ(foreign("a", "\x1f\x8b" + rest), "compressed as a whole");
  EXPECT_EQ(foreign("a.jpg", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a"), "Git LFS pointers");
  EXPECT_EQ(foreign("a.jpg", "version https://example.org/" + rest), "");
  EXPECT_EQ(foreign("a.bin", rest), "");
  EXPECT_EQ(foreign("a.bin", ""), "");
}

/// A member with holes, as GNU tar -S writes it: a map that goes on in a block of its own, then the bytes between them.
std::string sparse_member(const std::string& name, std::size_t bytes) {
  std::string header;
  put_tar_header(name, bytes, header);
  header[156] = 'S';
  header[kSparseGoesOn] = 1;
  std::fill_n(header.begin() + 148, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(&header[148], 8, "%06o", sum);
  return header + std::string(kTarBlock, '\0') + std::string(bytes + tar_padding(bytes), 'q');
}

TEST(TarParserTest, SparseMembersArePartsOfTheirSamples) {
  std::string tar;
  for (const char* key : {"a", "b"}) {
    add(tar, std::string(key) + ".jpg", 700);
    tar += sparse_member(std::string(key) + ".npy", 1000);
  }
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{512}, tar.size()}) {
    const auto found = found_in(*tar_parser({"image", "npy"}), ended(tar), chunk);
    ASSERT_EQ(found.size(), 2u) << chunk;
    EXPECT_EQ(found[1].kind, Kind::sample);
    EXPECT_EQ(found[1].bytes, 1700u);
  }
  const std::string whole = ended(tar);
  EXPECT_EQ(in_file(whole, [&](int fd) { return parts_of_first_samples(bytes_of_file(fd), whole.size()); }),
            (std::vector<std::string>{"image", "npy"}));
}

TEST(TarParserTest, AnImageOfAnotherCodecIsDecodedWhereNoOtherPartIs) {
  const auto kept = [](const std::string& first, const std::string& second) {
    std::string tar;
    put_tar_header("a.0.img", first.size(), tar);
    tar += first + std::string(tar_padding(first.size()), '\0');
    put_tar_header("a.1.img", second.size(), tar);
    tar += second + std::string(tar_padding(second.size()), '\0');
    Payload keep({"JPG"}, 64, {"PNG"});
    const auto parser = tar_parser({}, &keep);
    const std::string whole = ended(tar);
    parser->begin();
    EXPECT_EQ(parser->take(bytes_of(whole)).kind, Kind::sample);
    if (keep.flaw() != Flaw::none) return std::string(to_string(keep.flaw()));
    EXPECT_EQ(tar.compare(keep.offset(), keep.bytes().size(), std::string(keep.bytes().begin(), keep.bytes().end())),
              0);
    return std::string(keep.bytes().begin(), keep.bytes().end());
  };
  EXPECT_EQ(kept("PNG one", "JPG two"), "JPG two");
  EXPECT_EQ(kept("JPG one", "PNG two"), "JPG one");
  EXPECT_EQ(kept("PNG one", "PNG two"), "PNG one");
  EXPECT_EQ(kept("text", "PNG two"), "PNG two");
  EXPECT_EQ(kept("PNG one", "text"), "PNG one");
  EXPECT_EQ(kept("PNG" + std::string(9000, 'x'), "text"), "PNG" + std::string(9000, 'x'));
  EXPECT_EQ(kept("text", "more"), std::string(to_string(Flaw::nothing_to_decode)));
}

TEST(Crc32cTest, IsTheOneOfTheStandard) {
  EXPECT_EQ(crc32c(bytes_of(std::string(32, '\0'))), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  std::string text(1000, 'q');
  std::iota(text.begin(), text.end(), 0);
  for (std::size_t cut = 0; cut < 40; ++cut) {
    EXPECT_EQ(crc32c(bytes_of(text).subspan(cut)), crc32c_by_tables(bytes_of(text).subspan(cut)));
    EXPECT_EQ(crc32c(bytes_of(text).subspan(cut), crc32c(bytes_of(text).first(cut))), crc32c(bytes_of(text)));
  }
}

TEST(Crc32cTest, IsTheSameOfEveryLengthAndChangesWithEveryBit) {
  std::string text(20'000, 'q');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i >> 3);
  // Around one, two and three times what is taken at once.
  for (const std::size_t around : {6144u, 12'288u, 18'432u})
    for (std::size_t length = around - 9; length < around + 9; ++length)
      EXPECT_EQ(crc32c(bytes_of(text).first(length), 7u), crc32c_by_tables(bytes_of(text).first(length), 7u)) << length;
  const std::uint32_t whole = crc32c(bytes_of(text));
  for (std::size_t at = 0; at < text.size(); at += 997) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 1 << at % 8);
    EXPECT_NE(crc32c(bytes_of(other)), whole) << at;
  }
}

TEST(TarParserTest, FindsEverySampleHoweverItsBytesCome) {
  const std::string tar = tar_of(20);
  const auto parser = tar_parser(kParts);
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{511}, std::size_t{512}, std::size_t{10240}, tar.size()}) {
    const auto found = found_in(*parser, tar, chunk);
    ASSERT_EQ(found.size(), 20u) << chunk;
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(found[i].kind, Kind::sample);
      EXPECT_EQ(found[i].bytes, 700 * i + 4);
      EXPECT_EQ(found[i].offset, offset) << "the header of its first part";
      offset += 2 * kTarBlock + 512 + (700 * i + 1 + 511) / 512 * 512;
    }
  }
}

TEST(TarParserTest, ReadsLongNamesOfEveryKind) {
  const std::string folder(120, 'd'), name(90, 'n'), longer(240, 'l');
  for (const std::string& key : {folder + "/" + name, longer, folder + "/" + longer, std::string(5000, 'v')}) {
    std::string tar;
    add(tar, key + "1.jpg", 10);
    add(tar, key + "1.cls", 1);
    add(tar, key + "2.jpg", 10);
    add(tar, key + "2.cls", 1);
    EXPECT_EQ(samples_of(found_in(*tar_parser(kParts), ended(tar))), 2u) << key.size();
  }
}

TEST(TarParserTest, ASampleWithoutItsLabelIsReported) {
  std::string tar;
  add(tar, "a.jpg", 10);
  add(tar, "a.cls", 1);
  const std::size_t second = tar.size();
  add(tar, "b.JPEG", 10);
  add(tar, "c.png", 10);
  add(tar, "c.CLS", 1);
  const auto found = found_in(*tar_parser(kParts), ended(tar));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[1].flaw, Flaw::missing_part);
  EXPECT_EQ(found[1].offset, second);
  EXPECT_EQ(samples_of(found), 2u);
  EXPECT_EQ(samples_of(found_in(*tar_parser({}), ended(tar))), 3u) << "where nothing must be there, nothing is missing";
}

TEST(TarParserTest, APartThatIsThereTwiceIsReported) {
  std::string tar;
  add(tar, "a.jpg", 10);
  add(tar, "a.jpg", 10);
  const auto found = found_in(*tar_parser({}), ended(tar));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].flaw, Flaw::duplicate_part);
}

/// webdataset 1.0, tariterators.base_plus_ext: r"^((?:.*[/]|)[^.]+)[.]([^/]*)$".
TEST(TarParserTest, NamesAreCutAsWebDatasetCutsThem) {
  const struct {
    const char *path, *key, *part;
  } kCases[] = {{"a.jpg", "a", "jpg"},
                {"d.1/a.seg.png", "d.1/a", "seg.png"},
                {".a.jpg", "", ""},
                {"._a.jpg", "", ""},
                {"d/._a.jpg", "d/", "_a.jpg"},
                {"./._a.jpg", "", ""},
                {"./d/._a.jpg", "./d/", "_a.jpg"},
                {"d.1/._a.jpg", "", ""},
                {"d.1/e/.a", "d.1/e/", "a"},
                {"README", "", ""},
                {"d.1/README", "", ""}};
  for (const auto& one : kCases) {
    EXPECT_EQ(sample_name(one.path).key, one.key) << one.path;
    EXPECT_EQ(sample_name(one.path).part, one.part) << one.path;
  }
}

TEST(TarParserTest, FilesThatMacOsAddsInAFolderAreNamedAndAtTheTopPassedBy) {
  for (const std::string folder : {"", "./", "d/"}) {
    std::string tar;
    for (const char* name : {"1.jpg", "1.cls", "2.jpg", "2.cls"}) {
      add(tar, folder + "._" + name, 163);
      add(tar, folder + name, 10);
    }
    const std::string whole = ended(tar);
    EXPECT_EQ(in_file(whole, [&](int fd) { return parts_of_first_samples(bytes_of_file(fd), whole.size()); }), kParts);
    const auto found = found_in(*tar_parser(kParts), whole);
    EXPECT_EQ(samples_of(found), folder == "d/" ? 0u : 2u) << folder;
    EXPECT_EQ(found[0].flaw, folder == "d/" ? Flaw::apple_double : Flaw::none) << folder;
  }
  EXPECT_NE(to_string(Flaw::apple_double).find("COPYFILE_DISABLE=1 tar"), std::string_view::npos);
}

TEST(TarParserTest, OtherMembersAreNoSamples) {
  std::string tar;
  add(tar, "__about__", 10);
  add(tar, "README", 10);
  add(tar, "a.jpg", 10);
  EXPECT_EQ(samples_of(found_in(*tar_parser({}), ended(tar))), 1u);
  std::string none;
  add(none, "README", 10);
  ASSERT_EQ(found_in(*tar_parser({}), ended(none)).size(), 1u);
  EXPECT_EQ(found_in(*tar_parser({}), ended(none))[0].flaw, Flaw::no_sample);
  EXPECT_TRUE(found_in(*tar_parser({}), ended("")).empty());  // an archive of nothing, which tarfile passes by
}

TEST(TarParserTest, ACutAnywhereIsReportedOnce) {
  const std::string tar = tar_of(4);
  const std::size_t content = tar.size() - kTarEnd;
  const auto whole = found_in(*tar_parser(kParts), tar);
  for (std::size_t length = 1; length < content; ++length) {
    const auto found = found_in(*tar_parser(kParts), tar.substr(0, length));
    const std::size_t samples = samples_of(found), bad = found.size() - samples;
    ASSERT_LE(bad, 1u) << length;
    // Up to where a sample ends, padding or not, nothing is wrong with it.
    std::size_t done = 0;
    while (done < 4 && (done + 1 < 4 ? whole[done + 1].offset : content) - (kTarBlock - 3) <= length) ++done;
    ASSERT_EQ(samples, done) << length;
    const std::size_t end = done == 0 ? 0 : done < 4 ? whole[done].offset : content;
    ASSERT_EQ(bad, length > end ? 1u : 0u) << length;
    if (bad > 0) {
      EXPECT_TRUE(found.back().flaw == Flaw::truncated || found.back().flaw == Flaw::missing_part) << length;
    }
  }
}

TEST(TarParserTest, TheRestOfAShardIsNoPartOfTheNext) {
  const std::string tar = tar_of(4);
  std::string unlabelled;
  add(unlabelled, "a.jpg", 10);
  const auto parser = tar_parser(kParts);
  const auto same = [](const Found& a, const Found& b) {
    return a.kind == b.kind && a.flaw == b.flaw && a.bytes == b.bytes && a.offset == b.offset;
  };
  const auto whole = found_in(*parser, tar), bad = found_in(*parser, ended(unlabelled));
  for (std::size_t length = 1; length < tar.size(); ++length) {
    found_in(*parser, tar.substr(0, length));
    ASSERT_TRUE(std::ranges::equal(found_in(*parser, tar), whole, same)) << length;
    found_in(*parser, tar.substr(0, length));
    ASSERT_TRUE(std::ranges::equal(found_in(*parser, ended(unlabelled)), bad, same)) << length;
  }
}

TEST(TarParserTest, ADamagedHeaderEndsTheShard) {
  const std::string tar = tar_of(3);
  const auto whole = found_in(*tar_parser(kParts), tar);
  for (const std::size_t at : {0, 100, 124, 156, 300}) {
    std::string damaged = tar;
    damaged[whole[1].offset + at] ^= 1;
    const auto found = found_in(*tar_parser(kParts), damaged);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.back().flaw, Flaw::bad_header) << at;
    EXPECT_EQ(found.back().offset, whole[1].offset);
    EXPECT_EQ(samples_of(found), 1u) << "the one before is whole";
  }
}

TEST(TarParserTest, ACompressedShardIsReported) {
  const auto found = found_in(*tar_parser({}), "\x1f\x8b" + std::string(2000, 'z'));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].flaw, Flaw::compressed);
}

TEST(TarTest, PartsAreThoseThatMostFirstSamplesHave) {
  const auto parts = [](const std::string& tar) {
    return in_file(tar, [&](int fd) { return parts_of_first_samples(bytes_of_file(fd), tar.size()); });
  };
  EXPECT_EQ(parts(tar_of(20)), kParts);
  std::string mixed;
  add(mixed, "a.jpg", 10);  // whose label is missing
  for (const char* key : {"b", "c", "d"}) {
    add(mixed, std::string(key) + ".png", 10);
    add(mixed, std::string(key) + ".Txt", 10);
  }
  EXPECT_EQ(parts(ended(mixed)), (std::vector<std::string>{"image", "txt"}));
  EXPECT_EQ(parts("no tar"), std::vector<std::string>{});
}

TEST(RecordParserTest, FindsEveryRecordHoweverItsBytesCome) {
  const std::string records = records_of(6);
  const auto parser = tfrecord_parser();
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{13}, std::size_t{4096}, records.size()}) {
    const auto found = found_in(*parser, records, chunk);
    ASSERT_EQ(samples_of(found), 6u) << chunk;
    EXPECT_EQ(found[5].bytes, 5000u);
    EXPECT_EQ(found[2].offset, 2 * 16 + 1000u);
  }
}

TEST(RecordParserTest, EveryWrongBitIsFound) {
  const std::string records = records_of(3);
  for (std::size_t at = 0; at < records.size(); ++at) {
    std::string damaged = records;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    const auto found = found_in(*tfrecord_parser(), damaged);
    const auto bad = std::find_if(found.begin(), found.end(), [](const Found& f) { return f.kind == Kind::bad; });
    ASSERT_NE(bad, found.end()) << at;
    const std::size_t record = at < 16 ? 0 : at < 1032 ? 1 : 2, begin = record == 0 ? 0 : record == 1 ? 16 : 1032;
    EXPECT_EQ(bad->offset, begin) << at;
    EXPECT_EQ(bad->flaw, at - begin < kRecordHead ? Flaw::length_crc : Flaw::data_crc) << at;
    EXPECT_EQ(samples_of(found), at - begin < kRecordHead ? record : 2) << at;
  }
}

TEST(RecordParserTest, ACutAnywhereIsReported) {
  const std::string records = records_of(3);
  const auto parser = tfrecord_parser();
  for (std::size_t length = 1; length < records.size(); ++length) {
    const auto found = found_in(*parser, records.substr(0, length));
    EXPECT_EQ(samples_of(found_in(*parser, records)), 3u) << "what is left of a shard is no part of the next";
    const bool between = length == 16 || length == 1032;
    ASSERT_EQ(found.size() - samples_of(found), between ? 0u : 1u) << length;
    EXPECT_EQ(found.back().flaw, between ? Flaw::none : Flaw::truncated);
  }
  EXPECT_EQ(found_in(*tfrecord_parser(), "")[0].flaw, Flaw::no_sample);
}

TEST(CountSamplesTest, CountsSamplesWithTheBytesThatHoldThem) {
  const headrace::testing::TemporaryFolder folder;
  const std::string tar = tar_of(40), records = records_of(30);
  folder.write("a.tar", tar);
  folder.write("a.tfrecord", records);
  folder.write("a.mds", std::string("\x07\0\0\0", 4) + std::string(96, 'x'));
  folder.write("cut.tar", tar.substr(0, 500));
  folder.write("empty.tar", "");
  const auto counted = [&](const char* name, Format format, std::uint64_t most = UINT64_MAX) {
    const CountedSamples all = count_samples(folder / name, format, most);
    return std::pair{all.samples, all.bytes};
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(counted("a.tar", Format::tar), (Pair{40, tar.size()}));
  EXPECT_EQ(counted("a.tfrecord", Format::tfrecord), (Pair{30, records.size()}));
  EXPECT_EQ(counted("a.mds", Format::mds), (Pair{7, 100}));
  EXPECT_EQ(counted("cut.tar", Format::tar).first, 0u);
  EXPECT_EQ(counted("empty.tar", Format::tar), (Pair{0, 0}));
  EXPECT_EQ(counted("none.tar", Format::tar), (Pair{0, 0}));
  EXPECT_EQ(counted("a.tar", Format::none), (Pair{0, 0}));
  // Of the beginning alone: whole samples, and what holds them.
  std::string large;
  for (int i = 0; i < 40; ++i)
    add(large, std::to_string(i) + ".bin", 99'488), add(large, std::to_string(i) + ".cls", 1);
  folder.write("large.tar", ended(large));
  const auto [samples, bytes] = counted("large.tar", Format::tar, 1 << 20);
  EXPECT_GT(samples, 5u);
  EXPECT_LT(samples, 40u);
  EXPECT_NEAR(double(bytes) / double(samples), 99'488 + 512 + 480 + 1024, 1100.0 / double(samples) * 2);
}

TEST(FormatTest, IsReportedByNameElseByContent) {
  EXPECT_EQ(format_by_name("a/b-000.tar"), Format::tar);
  EXPECT_EQ(format_by_name("a.tfrecord"), Format::tfrecord);
  EXPECT_EQ(format_by_name("train-00001-of-01024"), Format::none);
  EXPECT_EQ(format_by_name("imagenet2012-train.tfrecord-00001-of-01024"), Format::tfrecord);
  EXPECT_EQ(format_by_name("a.tar-00001-of-x"), Format::none);
  EXPECT_EQ(format_by_name("a.array_record-00001-of-01024"), Format::none);
  const auto format = [](const std::string& text) {
    return in_file(text, [](int fd) { return format_by_content(bytes_of_file(fd)); });
  };
  EXPECT_EQ(format(tar_of(1)), Format::tar);
  EXPECT_EQ(format(records_of(2).substr(16)), Format::tfrecord);
  EXPECT_EQ(format(std::string(5000, '\0')), Format::none);
  EXPECT_EQ(format("short"), Format::none);
}

}  // namespace
}  // namespace headrace::formats::formats_test
