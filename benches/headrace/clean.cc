// headrace clean: removes headrace's own files: generated data, and run folders when asked.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/blocks.h"
#include "harness/backends/engines.h"
#include "harness/backends/loader.h"
#include "harness/backends/object_store.h"
#include "harness/backends/objects/scratch.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/observe/replay/laid_files.h"
#include "harness/workload/data/checkpoint/folder.h"
#include "harness/workload/data/checkpoint/objects.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/data_set/object_set.h"
#include "harness/workload/data/local_tier.h"
#include "harness/workload/data/name_tree.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

/// Kinds of folders that hold results, and are removed only on request.
constexpr std::string_view kResults[] = {
    "run", "comparison", comparison::kBlocksKind, "sizing", "fleet", "history", "observation", "bringup", "simulation"};

void print_cleaned(const std::string& folder, const CleanReport& report) {
  print_line(Text::format("{}: removed {} files, {}{}", folder, report.files,
                          format_quantity(static_cast<double>(report.bytes), Dimension::bytes),
                          report.gone ? ", and the folder" : ""));
  for (const std::string& left : report.left)
    print_line(Text::format("  left: {}", (fs::absolute(folder).lexically_normal() / left).string()));
}

/// The rest of a killed run.
CleanReport remove_left_over(const files::Folder& folder) {
  CleanReport report = checkpoint::remove_left_over(folder);
  report.add(remove_left_over_names(folder));
  report.add(remove_left_over_tier(folder));
  return report;
}

/// The folders of ranks in a scratch folder that several processes used.
CleanReport remove_rank_folders(const files::Folder& scratch) {
  CleanReport report;
  for (const std::string& name : scratch.entries()) {
    if (!name.starts_with(kRankFolder)) continue;
    if (const auto of_rank = MarkedFolder::find(scratch, name); of_rank && of_rank->kind() == kScratchKind)
      report.add(remove_left_over(of_rank->folder()));
    remove_marked(scratch, name);
  }
  return report;
}

CleanReport remove_scratch(const MarkedFolder& scratch) {
  CleanReport report = remove_data_sets(scratch);
  report.add(remove_rank_folders(scratch.folder()));
  report.add(remove_left_over(scratch.folder()));
  const CleanReport rest = scratch.remove();
  report.gone = rest.gone;
  // An obstacle to the folder itself was already reported by the first look.
  for (const std::string& left : rest.left) {
    if (std::find(report.left.begin(), report.left.end(), left) == report.left.end()) report.left.push_back(left);
  }
  return report;
}

/// Objects below a marked prefix. `far_too`: those, too, that a process of another machine marks as used.
int clean_objects(const std::string& url, bool far_too) {
  Node node("");
  ObjectStore* store = node.backends().storage(object_engine()).object_store();
  const auto scratch = objects::Scratch::find(*store, url);
  if (!scratch) throw UsageError(fmt::format("clean: {} is not a prefix that headrace marked", url));
  CleanReport report = checkpoint::remove_left_objects(*scratch, far_too);
  const bool in_use = !scratch->users().empty();
  if (in_use) {
    report.left.push_back(scratch->data() + ": in use" +
                          (far_too ? "" : "; what another machine's says it uses goes with --yes, if that is gone"));
  } else {
    report.add(remove_object_sets(*scratch));
    const CleanReport rest = scratch->remove_mark();
    report.gone = rest.gone;
    for (const std::string& left : rest.left)
      // Its content was reported already; the lists of a set stay with the rest of it.
      if (!left.starts_with(scratch->data() + "/") && !left.starts_with(scratch->of_run("")))
        report.left.push_back(left);
  }
  print_line(Text::format("{}: removed {} objects and open uploads, {}{}", url, report.files,
                          format_quantity(static_cast<double>(report.bytes), Dimension::bytes),
                          report.gone ? ", and the mark" : ""));
  for (const std::string& left : report.left) print_line(Text::format("  left: {}", left));
  return 0;
}

int clean(const std::string& given, bool yes) {
  if (is_object_path(given)) return clean_objects(given, yes);
  const std::string folder = own_place(given);
  if (!fs::exists(fs::symlink_status(folder))) {
    print_line(Text::format("{}: nothing there", folder));
    return 0;
  }
  const auto marked = MarkedFolder::find(folder);
  if (!marked) {
    const CleanReport report = remove_marked(folder);
    if (!report.gone)
      throw UsageError(fmt::format("clean: {} is not a folder that headrace made (it has no mark)", folder));
    print_cleaned(folder, report);
  } else if (marked->kind() == kScratchKind) {
    print_cleaned(folder, remove_scratch(*marked));
  } else if (marked->kind() == observe::replay::kReplayKind) {
    print_cleaned(folder, observe::replay::remove_laid(*marked));
  } else if (std::find(std::begin(kResults), std::end(kResults), marked->kind()) == std::end(kResults)) {
    throw UsageError(
        fmt::format("clean: {} is not a folder that headrace made (its mark says: {})", folder, marked->kind()));
  } else if (!yes) {
    throw UsageError(fmt::format("clean: {} holds a {}'s results; add --yes to remove them", folder,
                                 marked->kind() == comparison::kBlocksKind ? "comparison" : marked->kind()));
  } else {
    print_cleaned(folder,
                  marked->kind() == comparison::kBlocksKind ? comparison::remove_blocks(*marked) : marked->remove());
  }
  return 0;
}

void add_clean(Verbs& verbs, Shared&) {
  Verb verb = verbs.add("clean", "Remove data that headrace generated; nothing else is ever touched");
  auto folder = std::make_shared<std::string>("headrace-scratch");
  auto yes = std::make_shared<bool>(false);
  verb.option("DIR", *folder,
              "A scratch folder, a prefix s3://bucket/prefix that headrace marked, or with --yes a run folder")
      .shows_default();
  verb.flag("--yes", *yes,
            "Remove a run folder's results too; of a prefix, also data in use by a process of another machine");
  verb.example("headrace clean headrace-scratch", "Generated data is removed; files that headrace did not make stay");
  verb.does([folder, yes] { return clean(*folder, *yes); });
}

const RegisterVerb registered_clean{100, add_clean};

}  // namespace
}  // namespace headrace::cli
