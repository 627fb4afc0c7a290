// headrace pack: a folder of images, or other shards, into shards.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "benches/headrace/console.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/backends/engines.h"
#include "harness/backends/loader.h"
#include "harness/backends/object_store.h"
#include "harness/base/diagnostics.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/machine/node.h"
#include "harness/pack/gain.h"
#include "harness/pack/pack.h"

namespace headrace::cli {
namespace {

struct PackArguments {
  std::string source, target, format = "tar", shard_size = "1GiB", order = "shuffled";
  bool dry_run = false, rehearse = false, follow_links = false;
};

std::string bytes(std::uint64_t value) { return format_quantity(static_cast<double>(value), Dimension::bytes); }

/// How far it is: a live line on a terminal, elsewhere a line every 30 seconds.
class PackProgress {
 public:
  explicit PackProgress(const Shared& shared)
      : silent_(shared.progress == "none" || shared.verbosity < 0),
        live_(shared.progress == "auto" && Terminal(stderr, shared).interactive()) {}
  ~PackProgress() { clear(); }

  void operator()(std::uint64_t done, std::uint64_t total, std::string_view what) {
    if (silent_) return;
    const double now = elapsed_s();
    if (begun_s_ < 0 && done > 0 && total > 0 && !what.starts_with("listing")) {
      begun_s_ = now;
      first_ = done;
    }
    if (now - reported_s_ < (live_ ? 0.1 : 30)) return;
    reported_s_ = now;
    Text line = Text::format("{}", what);
    if (what.starts_with("listing")) {
      line += Text::format(": {}", done);
    } else if (total > 0) {
      line += Text::format(" {} %: {} of {}", 100 * done / total, bytes(done), bytes(total));
      const double seconds = now - begun_s_, rate = static_cast<double>(done - first_) / seconds;
      if (seconds > 1 && done > first_)
        line += Text::format(", {}, ETA {}", format_quantity(rate, Dimension::bytes_per_second),
                             format_duration(static_cast<double>(total - done) / rate));
    }
    if (!live_) return print_stderr_line(line);
    print_stderr("\r\033[K" + line);
    dirty_ = true;
  }
  void clear() {
    if (dirty_) print_stderr("\r\033[K");
    dirty_ = false;
  }

 private:
  double elapsed_s() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  const bool silent_, live_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double reported_s_ = 0, begun_s_ = -1;
  std::uint64_t first_ = 0;  // that was there when it began
  bool dirty_ = false;
};

pack::Options options_of(const PackArguments& given) {
  const Parsed size = parse_quantity(given.shard_size, Dimension::bytes);
  if (!size) throw UsageError(fmt::format("--shard-size: '{}' {}", given.shard_size, size.error));
  constexpr double kLeast = 1 << 20, kMost = 0x1p44;
  if (size.value < kLeast || size.value > kMost) throw UsageError("--shard-size: must be 1MiB..16TiB");
  return {.source = given.source,
          .target = given.target,
          .format = given.format == "tar"   ? formats::Format::tar
                    : given.format == "mds" ? formats::Format::mds
                                            : formats::Format::tfrecord,
          .shard_size = static_cast<std::uint64_t>(size.value),
          .shuffled = given.order == "shuffled",
          .follow_links = given.follow_links};
}

void report_plan(const pack::Plan& plan) {
  std::uint64_t files = 0, size = 0;
  for (const auto& sample : plan.from.samples) files += sample.count, size += plan.from.bytes(sample);
  print_line(plan.from.in_shards()
                 ? Text::format("{}: {} samples in {} {} shards, {}", plan.options.source, plan.order.size(),
                                plan.from.shards.count(), formats::to_string(plan.from.format), bytes(size))
                 : Text::format("{}: {} samples of {} classes in {} files, {}", plan.options.source, plan.order.size(),
                                plan.from.classes.size(), files, bytes(size)));
  for (const auto& [why, count] : plan.from.left_out) print_line(Text::format("  left out: {} ({})", count, why));
  if (plan.as.own_classes) print_line("  classes: the numbers in the .cls files, not those of the folders");
  for (const std::string& name : plan.from.empty_files)
    print_line(Text::format("  0 bytes, packed as it is: {}", name));
  if (!plan.from.no_image.empty()) print_line(Text::format("  no image, packed as it is: {}", plan.from.no_image));
  for (const std::string& name : plan.from.empty_classes())
    print_line(Text::format("  class without a file: {}", name));
  print_line(Text::format("{}: {} shards of at most {}, at most {} in all, {} to {}", plan.options.target,
                          plan.shards.size(), bytes(plan.options.shard_size), bytes(plan.bytes), plan.name(0),
                          plan.name(plan.shards.size() - 1)));
}

int pack(const Shared& shared, const PackArguments& given) {
  PackProgress progress(shared);
  const DataProgress reported = [&](std::uint64_t done, std::uint64_t total, std::string_view what) {
    progress(done, total, what);
  };
  if (given.dry_run && given.rehearse)
    throw UsageError("pack: --dry-run writes nothing, and --rehearse packs a sample");
  pack::Options options = options_of(given);
  Node node("");
  if (is_object_path(options.source)) options.store = node.backends().storage(object_engine()).object_store();
  const auto refuse_rehearsal = [&given](const char* of) {
    if (given.rehearse)
      throw UsageError(
          fmt::format("pack: --rehearse reads files of a folder; for {} compare `headrace measure` of both", of));
  };
  if (options.store != nullptr) refuse_rehearsal("objects");
  if (is_object_path(given.target)) throw UsageError("pack: --to is a folder: copy finished shards into the store");
  pack::Plan plan = pack::plan(options, reported);
  progress.clear();
  if (plan.from.in_shards()) refuse_rehearsal("shards");
  report_plan(plan);
  if (given.dry_run) return 0;
  if (given.rehearse) {
    pack::GainOptions rehearsal;
    rehearsal.stays = [&](const std::string& why) {
      progress.clear();
      print_stderr_line(Text::format("warning: the packed sample was not removed: {}", why));
    };
    const pack::Gain gain = pack::rehearse_gain(std::move(plan), rehearsal, reported);
    progress.clear();
    for (const std::string& line : pack::describe(gain)) print_line(line);
    return 0;
  }
  const pack::Packed packed = pack::pack(plan, reported);
  progress.clear();
  if (packed.kept > 0)
    print_line(Text::format("{} shards were there already, as an earlier try left them", packed.kept));
  if (packed.shards == 0) return 0;
  print_line(
      Text::format("packed {} samples into {} shards: {} in {}, {}; each was read back from the storage",
                   packed.samples, packed.shards, bytes(packed.bytes), format_duration(packed.seconds),
                   format_quantity(static_cast<double>(packed.bytes) / packed.seconds, Dimension::bytes_per_second)));
  return 0;
}

void add_pack(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("pack", "Pack a folder of images, or other shards, into shards; the folder is only read");
  auto given = std::make_shared<PackArguments>();
  verb.option("DIR", given->source,
              "The images, each class in a folder of its own, or s3://bucket/prefix; files of the same name are packed "
              "with their image. Or tar, TFRecord or MDS shards")
      .required();
  verb.option("--to DIR", given->target,
              "Where shards go: a new or empty folder, or one that an earlier try left, which is continued")
      .required();
  verb.option("--format FORMAT", given->format,
              "tar: as WebDataset reads; tfrecord: of tf.train.Example; mds: as StreamingDataset reads")
      .one_of({"tar", "tfrecord", "mds"})
      .shows_default();
  verb.option("--shard-size SIZE", given->shard_size, "Most bytes of one shard").shows_default();
  verb.option("--order ORDER", given->order, "Of the samples: shuffled, the same each time, or listed, by name")
      .one_of({"shuffled", "listed"})
      .shows_default();
  verb.flag("--follow-links", given->follow_links,
            "Take what symbolic links lead to, as in a snapshot of Hugging Face; without it, one is an error");
  verb.flag("--dry-run", given->dry_run, "Show what would be written, and write nothing");
  verb.flag("--rehearse", given->rehearse,
            "Measure the gain without packing: pack a sample of 256 MiB next to SHARDS, read it as files and as shards "
            "in turns, and remove it");
  verb.example("headrace pack images --to shards --shard-size 256MiB",
               "Shards get their names once they are whole and were read back; run again, it goes on where it ended");
  verb.does([&shared, given] { return pack(shared, *given); });
}

const RegisterVerb registered_pack{95, add_pack};

}  // namespace
}  // namespace headrace::cli
