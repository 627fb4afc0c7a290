// headrace clean: removes what headrace itself made: generated data, and run folders when asked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/checkpoint/folder.h"
#include "harness/comparison/blocks.h"
#include "harness/comparison/output.h"
#include "harness/data_set.h"
#include "harness/diagnostics.h"
#include "harness/fleet/fleet.h"
#include "harness/history/history.h"
#include "harness/marked_folder.h"
#include "harness/name_tree.h"
#include "harness/node.h"
#include "harness/results/result_store.h"
#include "harness/sizing/sizing.h"
#include "harness/units.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

void tell(const std::string& folder, const CleanReport& report) {
  print_line(Text::format("{}: removed {} files, {}{}", folder, report.files,
                          format_quantity(static_cast<double>(report.bytes), Dimension::bytes),
                          report.gone ? ", and the folder" : ""));
  for (const std::string& left : report.left) print_line(Text::format("  left: {}", left));
}

/// Files that a folder of results of this kind may hold; none for other kinds.
std::span<const std::string_view> result_files(std::string_view kind) {
  if (kind == "run") return results::run_file_names();
  if (kind == "comparison") return comparison::kFileNames;
  if (kind == "sizing") return sizing::kFileNames;
  if (kind == "fleet") return fleet::kFileNames;
  if (kind == "history") return history::kFileNames;
  return {};
}

void add(CleanReport& to, const CleanReport& more) {
  to.files += more.files;
  to.bytes += more.bytes;
  to.left.insert(to.left.end(), more.left.begin(), more.left.end());
}

/// What a run that was killed left there.
CleanReport remove_left_over(const std::string& folder) {
  CleanReport report = checkpoint::remove_left_over(folder);
  add(report, remove_left_over_names(folder));
  return report;
}

/// The folders of ranks in a scratch folder that several processes used.
std::vector<std::string> rank_folders(const std::string& scratch) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(scratch)) {
    const std::string path = entry.path().string();
    if (entry.path().filename().string().starts_with(kRankFolder) &&
        MarkedFolder::kind_of(path) == "scratch")
      found.push_back(path);
  }
  return found;
}

int clean(const std::string& folder, bool yes) {
  if (!fs::exists(folder)) {
    print_line(Text::format("{}: nothing there", folder));
    return 0;
  }
  const std::string kind = MarkedFolder::kind_of(folder);
  if (kind == "scratch") {
    CleanReport report = remove_data_sets(folder);
    for (const std::string& of_rank : rank_folders(folder)) {
      add(report, remove_left_over(of_rank));
      remove_marked(of_rank, {});
    }
    add(report, remove_left_over(folder));
    const CleanReport rest = remove_marked(folder, {});
    report.gone = rest.gone;
    // What lies in the way of the folder itself was told by the first look already, where it was
    // told.
    for (const std::string& left : rest.left) {
      if (std::find(report.left.begin(), report.left.end(), left) == report.left.end())
        report.left.push_back(left);
    }
    tell(folder, report);
    return 0;
  }
  if (kind == comparison::kBlocksKind) {
    if (!yes)
      throw UsageError(
          fmt::format("clean: {} holds a comparison's results; add --yes to remove them", folder));
    tell(folder, comparison::remove_blocks(folder));
    return 0;
  }
  if (const auto files = result_files(kind); !files.empty()) {
    if (!yes)
      throw UsageError(
          fmt::format("clean: {} holds a {}'s results; add --yes to remove them", folder, kind));
    tell(folder, remove_marked(folder, files));
    return 0;
  }
  throw UsageError(fmt::format("clean: {} is not a folder that headrace made ({})", folder,
                               kind.empty() ? "it has no mark" : "its mark says: " + kind));
}

void add_clean(Verbs& verbs, Shared&) {
  Verb verb =
      verbs.add("clean", "Remove data that headrace generated; nothing else is ever touched");
  auto folder = std::make_shared<std::string>("headrace-scratch");
  auto yes = std::make_shared<bool>(false);
  verb.option("DIR", *folder, "A scratch folder, or with --yes a run folder").shows_default();
  verb.flag("--yes", *yes, "Remove a run folder's results too");
  verb.does([folder, yes] { return clean(*folder, *yes); });
}

const RegisterVerb registered{100, add_clean};

}  // namespace
}  // namespace headrace::cli
