// The page of keys is the table of keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "harness/analysis/simulate/sheet.h"
#include "tests/unit/source_dir.h"

namespace headrace::simulate {
namespace {

TEST(SheetKeys, AreOnThePageWithUnitAndMeaning) {
  std::ifstream file(source_dir() + "/docs/reference/simulate.md");
  std::ostringstream page;
  page << file.rdbuf();
  for (const SheetKey& key : sheet_keys()) {
    const std::string row = "| `" + std::string(key.path) + "` | " + std::string(unit_name(key.dimension)) + " | ";
    const std::size_t at = page.str().find(row);
    ASSERT_NE(at, std::string::npos) << row;
    std::string line = page.str().substr(at, page.str().find('\n', at) - at);
    std::erase(line, '`');
    EXPECT_NE(line.find(std::string(key.help)), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace headrace::simulate
