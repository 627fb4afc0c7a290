#include "harness/base/system/kernel_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace headrace::system::kernel_files_test {
namespace {

constexpr const char* kMeminfo = "MemTotal:       24684092 kB\nMemAvailable:   100 kB\nMem:  7\n";

TEST(KernelFiles, MissingFileIsAnAnswer) {
  EXPECT_FALSE(read_text("/no/such/file"));
  EXPECT_FALSE(read_line("/no/such/file"));
  EXPECT_FALSE(read_number("/no/such/file"));
}

TEST(KernelFiles, AFileThatRefusesToBeReadIsNone) {
  EXPECT_FALSE(read_text("/proc/self/mem"));  // its first page is mapped nowhere: EIO
  EXPECT_FALSE(read_text("/proc/self"));
}

TEST(KernelFiles, NumbersAreNumbersOnly) {
  const std::string path = std::filesystem::temp_directory_path() / "headrace_kernel_files_test";
  const auto number = [&](const char* text) {
    std::ofstream(path) << text;
    return read_number(path);
  };
  EXPECT_EQ(number("128\n"), 128u);
  EXPECT_EQ(number("  42 rest"), 42u);
  EXPECT_FALSE(number("max\n"));
  EXPECT_FALSE(number("-1\n"));
  EXPECT_FALSE(number(""));
  std::filesystem::remove(path);
}

TEST(KernelFiles, FieldsByTheirWholeKey) {
  EXPECT_EQ(number_field(kMeminfo, "MemTotal"), 24684092u);
  EXPECT_EQ(number_field(kMeminfo, "Mem"), 7u);
  EXPECT_EQ(field(kMeminfo, "MemAvailable"), "100 kB");
  EXPECT_EQ(number_field("inactive_file 12\n", "inactive_file"), 12u);
  EXPECT_FALSE(field(kMeminfo, "Swap"));
}

TEST(KernelFiles, ChoiceInBrackets) {
  EXPECT_EQ(chosen_of("always [madvise] never"), "madvise");
  EXPECT_EQ(chosen_of("none"), "none");
}

TEST(KernelFiles, SplitLeavesOutEmptyParts) {
  EXPECT_EQ(split("a,,b,", ','), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(split("", ',').empty());
}

}  // namespace
}  // namespace headrace::system::kernel_files_test
