// docs/reference/job-keys.md has the key tables of the program, and docs/reference/needs.md every need that a job can have.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "harness/job/formula_output.h"
#include "harness/job/job_keys.h"
#include "harness/job/needs.h"
#include "tests/unit/source_dir.h"

namespace headrace::job::job_page_test {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(source_dir() + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Job> shipped_jobs() {
  std::vector<Job> jobs;
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/configs/jobs"))
    jobs.push_back(load_job(file.path()));
  return jobs;
}

/// Every section with a table of its keys: unit, allowed values, default, meaning.
std::string job_keys_markdown() {
  std::string out;
  for (const JobSection& section : all_job_sections()) {
    out += section.name.empty() ? fmt::format("### At the top\n\n")
                                : fmt::format("\n### `{}`: {}\n\n", section.name, section.help);
    out += "| key | unit | allowed | default | meaning |\n|---|---|---|---|---|\n";
    for (const JobKey& key : job_keys()) {
      if (key.section() != section.name) continue;
      std::string allowed = key.allowed();
      for (std::size_t at = 0; (at = allowed.find(" | ", at)) != std::string::npos;) allowed.replace(at, 3, ", ");
      out +=
          fmt::format("| `{}` | {} | {} | {} | {} |\n", key.name(), key.unit(), allowed, key.shown_default(), key.help);
    }
  }
  return out;
}

TEST(JobPage, ReportsEveryKey) {
  EXPECT_NE(read("/docs/reference/job-keys.md").find(job_keys_markdown()), std::string::npos)
      << "the key tables are not those of the program:\n"
      << job_keys_markdown();
}

TEST(JobPage, ReportsEveryNeed) {
  const std::string page = read("/docs/reference/needs.md");
  std::set<std::string> ids;
  for (const Job& job : shipped_jobs()) {
    for (const Need& need : derive_needs(job)) ids.insert(need.id);
    for (const LockedNeed& need : locked_needs(job)) ids.insert(need.id);
  }
  EXPECT_GT(ids.size(), 40u);
  for (const std::string& id : ids) EXPECT_NE(page.find('`' + id + '`'), std::string::npos) << id;
}

TEST(ClaimsPage, ItsCommandsRun) {
  const std::string page = read("/docs/explanation/claims.md"), lead = "`headrace require --formula ";
  int commands = 0;
  for (std::size_t at = 0; (at = page.find(lead, at)) != std::string::npos;) {
    at += lead.size();
    std::string words = page.substr(at, page.find('`', at) - at);
    std::vector<std::string> parts;
    for (std::size_t start = 0; start < words.size();) {
      const std::size_t end = std::min(words.find_first_of(" \n", start), words.size());
      if (end > start) parts.push_back(words.substr(start, end - start));
      start = end + 1;
    }
    const Formula* formula = find_formula(parts.at(0));
    ASSERT_NE(formula, nullptr) << words;
    parts.erase(parts.begin());
    if (parts.empty()) continue;
    Diagnostics problems;
    const auto arguments = parse_arguments(*formula, parts, problems);
    EXPECT_TRUE(problems.empty()) << words;
    EXPECT_NO_THROW(evaluate(*formula, arguments)) << words;
    ++commands;
  }
  EXPECT_GT(commands, 10);
}

TEST(ShippedJobs, AreRealAndReportTheirSources) {
  EXPECT_GE(shipped_jobs().size(), 10u);
  for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/configs/jobs")) {
    const std::string text = read("/configs/jobs/" + file.path().filename().string());
    EXPECT_TRUE(text.starts_with("# ")) << file.path();
    EXPECT_NE(text.find("job: " + file.path().stem().string() + "\n"), std::string::npos) << file.path();
  }
}

}  // namespace
}  // namespace headrace::job::job_page_test
