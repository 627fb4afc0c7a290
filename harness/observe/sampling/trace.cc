#include "harness/observe/sampling/trace.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace headrace::observe {
namespace {

namespace fs = std::filesystem;

struct TracedFile {
  std::uint64_t opens = 0, reads = 0, read_bytes = 0, attributes = 0, closes = 0;
  std::uint64_t writes = 0, written_bytes = 0, syncs = 0;
  double read_s = 0, open_s = 0;  // spent in these calls
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
Trace summed(const calls::Log& log) {
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
    switch (call.kind) {
      case calls::Kind::open: {
        ++file.opens;
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

}  // namespace

void apply_trace(const calls::Log& log, Observation& seen) {
  const Trace trace = summed(log);
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
  const std::vector<std::string>& ends = seen.data.extensions;  // looks may have seen a part of the folders
  for (const auto& [path, file] : trace.files) {
    if (file.opens == 0 || file.read_bytes == 0 || file.written_bytes > 0 || is_program_file(path)) continue;
    if (!ends.empty() && std::find(ends.begin(), ends.end(), fs::path(path).extension().string()) == ends.end())
      continue;
    ++files;
    folders.insert(fs::path(path).parent_path().string());
    sum.opens += file.opens;
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
      "{} files of {} folders were opened {} times{}{}", files, folders.size(), sum.opens,
      here > 0 ? fmt::format(", {} of them read whole each time", read_whole) : "", once == files ? ", each once" : "");
  seen.notes.push_back(fmt::format(
      "traced: {}; an open took {}, a read {} on average", what,
      format_quantity(sum.open_s / static_cast<double>(sum.opens), Dimension::seconds),
      format_quantity(sum.read_s / static_cast<double>(std::max<std::uint64_t>(1, sum.reads)), Dimension::seconds)));
  const double opens = static_cast<double>(sum.opens);
  put(seen, "dataset.metadata_ops_per_open", static_cast<double>(sum.opens + sum.attributes + sum.closes) / opens,
      Dimension::ratio,
      fmt::format("traced: {} opens, {} questions for attributes, {} closes", sum.opens, sum.attributes, sum.closes));
  const Learned& layout = known(seen, "dataset.layout");
  if (layout.text != "files") return;
  put(seen, "dataset.sample_size", static_cast<double>(sum.read_bytes) / opens, Dimension::bytes, "traced: " + what);
  if (!seen.data.complete || seen.data.files < files)
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
