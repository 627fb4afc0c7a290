#include "harness/observe/sampling/trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "harness/observe/learning/learned.h"

namespace headrace::observe {
namespace {

namespace fs = std::filesystem;

struct TracedFile {
  std::uint64_t opens = 0, reads = 0, read_bytes = 0, attributes = 0, closes = 0;
  std::uint64_t writes = 0, written_bytes = 0, syncs = 0;
  std::uint64_t opens_within = 0, bytes_within = 0;  // read while batches were taken
  double read_s = 0, open_s = 0;                     // spent in these calls
  std::string renamed_to{};
};

struct Trace {
  std::map<std::string, TracedFile> files;
  std::map<std::uint64_t, std::uint64_t> read_sizes;  // asked for, of files that are data
  std::uint64_t opens_in_order = 0,
                opens_followed = 0;  // opens of data by a process after another: by name behind that
  std::uint64_t calls = 0, dropped = 0;
};

/// Sums up the calls on each file.
Trace summed(const calls::Log& log, const Roles& roles, double began_s) {
  Trace trace;
  trace.calls = log.calls.size();
  trace.dropped = log.dropped;
  std::vector<TracedFile> files(log.files.size());
  std::vector<bool> program(log.files.size());
  for (std::size_t f = 0; f < files.size(); ++f) program[f] = is_program_file(log.files[f]);
  std::map<std::uint32_t, std::uint32_t> last;  // by process
  for (const calls::Call& call : log.calls) {
    if (call.file == calls::kNoFile || call.bytes < 0) continue;
    TracedFile& file = files[call.file];
    const double at_s = call.begin_s + began_s;
    const bool within = at_s >= roles.begin_s && at_s <= roles.end_s;
    switch (call.kind) {
      case calls::Kind::open: {
        ++file.opens;
        file.opens_within += within;
        file.open_s += call.seconds;
        if (!call.to_read || program[call.file]) break;
        const auto [before, first] = last.emplace(log.threads[call.thread].process, call.file);
        if (!first) {
          ++trace.opens_followed;
          trace.opens_in_order += log.files[call.file] > log.files[before->second];
        }
        before->second = call.file;
        break;
      }
      case calls::Kind::read:
        ++file.reads;
        file.read_bytes += static_cast<std::uint64_t>(call.bytes);
        file.bytes_within += within ? static_cast<std::uint64_t>(call.bytes) : 0;
        file.read_s += call.seconds;
        if (!program[call.file]) ++trace.read_sizes[call.asked];
        break;
      case calls::Kind::write:
        ++file.writes;
        file.written_bytes += static_cast<std::uint64_t>(call.bytes);
        break;
      case calls::Kind::stat:
        ++file.attributes;
        break;
      case calls::Kind::close:
        ++file.closes;
        break;
      case calls::Kind::sync:
        ++file.syncs;
        break;
      case calls::Kind::change:
        if (call.renamed_to != calls::kNoFile) file.renamed_to = log.files[call.renamed_to];
        break;
      default:
        break;
    }
  }
  for (std::size_t f = 0; f < files.size(); ++f) trace.files.emplace(log.files[f], files[f]);
  return trace;
}

bool has(const Observation& seen, const std::string& key) {
  return std::ranges::any_of(seen.learned, [&](const Learned& one) { return one.key == key; });
}

Learned& known(Observation& seen, const std::string& key) {
  const auto found =
      std::find_if(seen.learned.begin(), seen.learned.end(), [&](const Learned& one) { return one.key == key; });
  if (found != seen.learned.end()) return *found;
  seen.learned.push_back({.key = key, .text = {}, .evidence = {}});
  return seen.learned.back();
}

void put(Observation& seen, const std::string& key, double value, Dimension dimension, const std::string& evidence) {
  std::string text = compact_quantity(value, dimension, 4);
  std::erase(text, ' ');
  known(seen, key) = {.key = key,
                      .text = text,
                      .dimension = dimension,
                      .value = value,
                      .low = value,
                      .high = value,
                      .confidence = Confidence::high,
                      .evidence = evidence};
}

/// The files of data. Where looks saw none, those below the folder that nine tenths of the bytes are read from.
std::vector<std::string> data_files(const Trace& trace, const std::vector<std::string>& commands, Observation& seen) {
  std::vector<std::string> found;
  std::vector<std::pair<std::string, std::uint64_t>> read;
  std::uint64_t bytes = 0;
  // Looks may have seen a part of the folders; of files that were only open they prove nothing.
  const std::vector<std::string> ends = seen.data.read ? seen.data.extensions : std::vector<std::string>{};
  for (const auto& [path, file] : trace.files) {
    if (file.opens == 0 || file.read_bytes == 0 || file.written_bytes > 0 || is_program_file(path)) continue;
    if (!ends.empty() && std::find(ends.begin(), ends.end(), fs::path(path).extension().string()) == ends.end())
      continue;
    if (is_script(path, commands)) continue;
    found.push_back(path);
    read.emplace_back(path, file.read_bytes);
    bytes += file.read_bytes;
  }
  const bool has_folder = seen.data.read && !seen.data.folder.empty() && has(seen, "dataset.path");
  if (has_folder || known(seen, "dataset.layout").text != "files") return found;
  const std::string folder = common_folder(read, bytes);
  if (folder.empty() || folder == "/") return found;
  std::erase_if(found, [&](const std::string& path) { return !path.starts_with(folder + "/"); });
  std::erase_if(seen.learned, [](const Learned& one) { return one.key == "dataset.path"; });
  learn_path(seen, folder, found.size() < 5 ? Confidence::low : Confidence::medium,
             "traced: where nine tenths of the bytes were read");
  return found;
}

/// Do opens count samples? A file that is read over many steps counts none.
bool opens_count(const TracedFile& sum, Observation& seen) {
  const double gpus = known(seen, "cluster.gpus_per_node").value;
  return seen.steps == 0 || static_cast<double>(sum.opens_within) >= 0.5 * seen.steps * gpus;
}

/// Samples were of a guessed size, and bytes gave their rate: opens of files replace that.
void count_samples(const TracedFile& sum, double guessed_size, Observation& seen) {
  const double gpus = known(seen, "cluster.gpus_per_node").value;
  const double seconds = seen.roles.end_s - seen.roles.begin_s, opens = static_cast<double>(sum.opens_within);
  if (opens == 0 || seconds <= 0 || gpus == 0) return;
  const std::string what = fmt::format("traced: {:.0f} opens in {}", opens, format_duration(seconds));
  if (seen.steps > 0) {
    const double each = opens / seen.steps / gpus;
    put(seen, "step.micro_batch", std::max(1.0, std::round(each)), Dimension::count,
        fmt::format("{}, in {:.0f} steps", what, seen.steps));
    const Learned time = known(seen, "step.time");  // its bounds are those of the steps, too
    Learned& batch = known(seen, "step.micro_batch");
    batch.confidence = Confidence::low;
    batch.low = each * ratio(time.low, time.value);
    batch.high = each * ratio(time.high, time.value);
  } else {
    const double share =
        guessed_size > 0 ? known(seen, "step.time").value * ratio(seen.bytes_per_s, guessed_size * gpus) : 1;
    put(seen, "step.time", share * gpus * seconds / opens, Dimension::seconds,
        fmt::format("steps could not be counted; with a batch of 1 this gives {}{}", what,
                    share < 1 ? "; the time of waits is left out" : ""));
    known(seen, "step.time").confidence = Confidence::guess;
    put(seen, "step.micro_batch", 1, Dimension::count, "steps could not be counted: see step.time");
    known(seen, "step.micro_batch").confidence = Confidence::guess;
  }
  seen.samples_per_s = opens / seconds;
  seen.bytes_per_s = static_cast<double>(sum.bytes_within) / seconds;
}

}  // namespace

void apply_trace(const calls::Log& log, Observation& seen, double began_s, const std::vector<std::string>& commands) {
  const Trace trace = summed(log, seen.roles, began_s);
  if (trace.dropped > 0)
    seen.notes.push_back(fmt::format("of {} calls {} were traced: there was no room for more",
                                     trace.calls + trace.dropped, trace.calls));
  if (trace.calls == 0) {
    seen.notes.push_back(
        "nothing was traced: the command is linked statically, changed its user, or cleaned its environment");
    return;
  }
  TracedFile sum;
  std::uint64_t files = 0, here = 0, read_whole = 0, once = 0;
  std::set<std::string> folders;
  for (const std::string& path : data_files(trace, commands, seen)) {
    const TracedFile& file = trace.files.at(path);
    ++files;
    folders.insert(fs::path(path).parent_path().string());
    sum.opens += file.opens;
    sum.opens_within += file.opens_within;
    sum.bytes_within += file.bytes_within;
    sum.reads += file.reads;
    sum.read_bytes += file.read_bytes;
    sum.attributes += file.attributes;
    sum.closes += file.closes;
    sum.open_s += file.open_s;
    sum.read_s += file.read_s;
    once += file.opens == 1;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) continue;
    ++here;
    read_whole += file.read_bytes >= file.opens * static_cast<std::uint64_t>(status.st_size);
  }
  for (const auto& [path, file] : trace.files)
    if (file.written_bytes >= (1 << 20))
      seen.notes.push_back(fmt::format("{} was written: {} in {} calls, synced {} times{}", path,
                                       format_quantity(static_cast<double>(file.written_bytes), Dimension::bytes),
                                       file.writes, file.syncs,
                                       file.renamed_to.empty() ? "" : ", renamed to " + file.renamed_to));
  if (files == 0) {
    seen.notes.push_back("no file of a data set was read by calls that are traced");
    return;
  }
  const std::string what = fmt::format(
      "{} of {} {} opened {} time{}{}{}", counted(files, "file"), counted(folders.size(), "folder"),
      files == 1 ? "was" : "were", sum.opens, sum.opens == 1 ? "" : "s",
      here > 0 ? fmt::format(", {} of them read whole each time", read_whole) : "", once == files ? ", each once" : "");
  seen.notes.push_back(fmt::format(
      "traced: {}; an open took {}, a read {} on average", what,
      format_quantity(sum.open_s / static_cast<double>(sum.opens), Dimension::seconds),
      format_quantity(sum.read_s / static_cast<double>(std::max<std::uint64_t>(1, sum.reads)), Dimension::seconds)));
  const double opens = static_cast<double>(sum.opens);
  put(seen, "dataset.metadata_ops_per_open", static_cast<double>(sum.opens + sum.attributes + sum.closes) / opens,
      Dimension::ratio,
      fmt::format("traced: {} opens, {} questions for attributes, {} closes", sum.opens, sum.attributes, sum.closes));
  Learned& layout = known(seen, "dataset.layout");
  if (layout.text != "files") return;
  if (layout.confidence == Confidence::guess) {
    layout.confidence = Confidence::low;
    layout.evidence = "traced: " + what;
  }
  const Learned size = known(seen, "dataset.sample_size");
  const bool guessed = size.confidence == Confidence::guess;
  if (!guessed || opens_count(sum, seen))
    put(seen, "dataset.sample_size", static_cast<double>(sum.read_bytes) / opens, Dimension::bytes, "traced: " + what);
  if (guessed && opens_count(sum, seen)) count_samples(sum, size.known ? size.value : 0, seen);
  if (!seen.data.complete || seen.data.files < files || !has(seen, "dataset.samples"))
    put(seen, "dataset.samples", static_cast<double>(files), Dimension::count, "traced: " + what);
  if (sum.reads > 0) {
    std::uint64_t small = 0, all = 0;
    for (const auto& [size, times] : trace.read_sizes) {
      all += times;
      small += size <= 65536 ? times : 0;
    }
    const bool pieces = static_cast<double>(sum.reads) > 3 * opens && small * 10 > all * 9;
    Learned& profile = known(seen, "dataset.read_profile");
    profile = {.key = "dataset.read_profile",
               .text = pieces ? "pil" : "whole",
               .confidence = Confidence::high,
               .evidence = fmt::format("traced: {:.1f} reads for an open, {:.0f} % of them for 64 KiB or less",
                                       static_cast<double>(sum.reads) / opens,
                                       all > 0 ? 100.0 * static_cast<double>(small) / static_cast<double>(all) : 0)};
  }
  if (trace.opens_followed >= 20) {
    const double in_order = static_cast<double>(trace.opens_in_order) / static_cast<double>(trace.opens_followed);
    seen.notes.push_back(in_order > 0.9 ? "files were opened in the order of their names"
                                        : "files were opened in shuffled order");
  }
}

}  // namespace headrace::observe
