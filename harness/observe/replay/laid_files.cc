#include "harness/observe/replay/laid_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/units.h"

namespace headrace::observe::replay {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;  // held in memory while it is written

std::string bytes_text(std::uint64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); }

const std::string& checked(const Plan& plan, const std::string& folder, std::uint64_t most) {
  if (plan.bytes() > most)
    throw UsageError(fmt::format("replay: its files are {} in all, more than --max-write ({})",
                                 bytes_text(plan.bytes()), bytes_text(most)));
  for (const PlannedFile& file : plan.files)
    if (file.bytes > kLargestFile)
      throw UsageError(fmt::format("replay: {} is {}: copy such files there, and name the folder by --data", file.path,
                                   bytes_text(file.bytes)));
  return folder;
}

/// Bytes that do not compress (xorshift64*).
void fill(std::string& text, std::uint64_t state) {
  for (std::size_t at = 0; at < text.size(); at += 8) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    const std::uint64_t word = state * 0x2545F4914F6CDD1Du;
    std::memcpy(text.data() + at, &word, std::min<std::size_t>(8, text.size() - at));
  }
}

}  // namespace

LaidFiles::LaidFiles(const Plan& plan, const std::string& folder, std::uint64_t most, const std::function<bool()>& stop)
    : folder_(MarkedFolder::make_alone(checked(plan, folder, most), std::string(kReplayKind))) {
  try {
    if (!plan.saves.empty()) saves_.emplace(folder_.folder());
    std::string text;
    for (std::size_t f = 0; f < plan.files.size(); ++f) {
      if (stop()) throw RunError("replay: stopped");
      const std::string name = fmt::format("{:08}.bin", f);
      text.resize(plan.files[f].bytes);
      fill(text, f + 1);
      folder_.write(name, text);
      paths_.push_back(folder_.path() + "/" + name);
    }
  } catch (...) {
    saves_.reset();
    folder_.remove();
    throw;
  }
}

std::string LaidFiles::remove() {
  removed_ = true;
  std::string why;
  saves_.reset();
  try {
    const CleanReport report = folder_.remove();
    if (!report.left.empty()) why = report.left.front();
  } catch (const std::exception& e) {
    why = e.what();
  }
  return why.empty() ? ""
                     : fmt::format("files are left in {}: {} ('headrace clean' removes them)", folder_.path(), why);
}

LaidFiles::~LaidFiles() {
  if (!removed_) remove();
}

CleanReport remove_left_over(const MarkedFolder& folder) {
  CleanReport report = checkpoint::remove_left_over(folder.folder()), rest = folder.remove();
  // What is left of the saves was told already.
  if (!report.left.empty())
    std::erase_if(rest.left, [](const std::string& one) { return one.starts_with("checkpoint:"); });
  report.add(rest);
  report.gone = rest.gone;
  return report;
}

std::vector<std::string> files_below(const Plan& plan, const std::string& folder) {
  std::vector<std::string> paths;
  for (const PlannedFile& file : plan.files) {
    const std::string path = folder + "/" + file.below;
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) throw UsageError(fmt::format("replay: {}: {}", path, errno_text(errno)));
    if (static_cast<std::uint64_t>(status.st_size) < file.bytes)
      throw UsageError(fmt::format("replay: {} has {}, and {} of it were read as {}", path,
                                   bytes_text(static_cast<std::uint64_t>(status.st_size)), bytes_text(file.bytes),
                                   file.path));
    paths.push_back(path);
  }
  return paths;
}

}  // namespace headrace::observe::replay
