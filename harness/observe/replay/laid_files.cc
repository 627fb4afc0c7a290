#include "harness/observe/replay/laid_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/units.h"

namespace headrace::observe::replay {
namespace {

constexpr std::size_t kPiece = 1 << 20;  // of one write
constexpr std::size_t kProof = 4096;     // of a file's beginning, which shows its owner

std::string bytes_text(std::uint64_t bytes) { return format_quantity(static_cast<double>(bytes), Dimension::bytes); }

const std::string& checked(const Plan& plan, const std::string& folder, std::uint64_t most) {
  if (plan.bytes() > most)
    throw UsageError(fmt::format("replay: its files are {} in all, more than --max-write ({})",
                                 bytes_text(plan.bytes()), bytes_text(most)));
  return folder;
}

/// Bytes that do not compress (xorshift64*), others for each file.
class Bytes {
 public:
  explicit Bytes(std::uint64_t file) : state_(file + 1) {}
  /// `size` but of the last piece: a multiple of 8.
  void fill(char* to, std::size_t size) {
    for (std::size_t at = 0; at < size; at += 8) {
      state_ ^= state_ >> 12;
      state_ ^= state_ << 25;
      state_ ^= state_ >> 27;
      const std::uint64_t word = state_ * 0x2545F4914F6CDD1Du;
      std::memcpy(to + at, &word, std::min<std::size_t>(8, size - at));
    }
  }

 private:
  std::uint64_t state_;
};

std::string name_of(std::uint64_t file) { return fmt::format("{:08}.bin", file); }

std::optional<std::uint64_t> file_named(const std::string& name) {
  std::uint64_t file = 0;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), file).ptr;
  return end != name.data() && name == name_of(file) ? std::optional(file) : std::nullopt;
}

/// Its beginning proves it; an empty file has the maker's mark.
bool is_ours(const files::Folder& folder, const std::string& name, const struct stat& status) {
  const auto file = file_named(name);
  if (!file || !S_ISREG(status.st_mode) || !files::bears_mark(status)) return false;
  const system::UniqueFd fd(files::open_beneath(folder.fd(), name.c_str(), O_RDONLY | O_NONBLOCK));
  char found[kProof], right[kProof];
  const auto size = std::min<std::size_t>(kProof, static_cast<std::size_t>(status.st_size));
  if (!fd || ::pread(fd.get(), found, size, 0) != static_cast<ssize_t>(size)) return false;
  Bytes(*file).fill(right, size);
  return std::equal(found, found + size, right);
}

CleanReport remove_files(const files::Folder& folder) {
  return remove_files_if(
      folder, [&](const std::string& name, const struct stat& status) { return is_ours(folder, name, status); },
      [&](const std::string& name) { return name + ": not proven to be made by headrace"; });
}

/// Saves, too.
CleanReport remove_all(const files::Folder& folder) {
  CleanReport report = checkpoint::remove_left_over(folder), rest = remove_files(folder);
  // The rest of the saves was reported already.
  if (!report.left.empty())
    std::erase_if(rest.left, [](const std::string& one) { return one.starts_with("checkpoint:"); });
  report.add(rest);
  return report;
}

MarkedFolder held(const std::string& folder) {
  MarkedFolder marked = MarkedFolder::make_alone(folder, std::string(kReplayKind));
  if (const CleanReport before = remove_all(marked.folder()); !before.left.empty())
    throw UsageError(fmt::format("{}/{}; give a new or empty folder", folder, before.left.front()));
  return marked;
}

void make(const files::Folder& folder, std::uint64_t file, std::uint64_t bytes, const std::function<bool()>& stop) {
  const std::string name = name_of(file);
  const system::UniqueFd fd = folder.create(name.c_str());
  if (!fd) throw system_error("create", folder.path_of(name), errno);
  Bytes drawn(file);
  std::string piece;
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    if (stop()) throw RunError("replay: stopped");
    piece.resize(std::min<std::uint64_t>(kPiece, bytes - at));
    drawn.fill(piece.data(), piece.size());
    for (std::size_t done = 0; done < piece.size();) {
      const ssize_t n = ::write(fd.get(), piece.data() + done, piece.size() - done);
      if (n < 0 && errno != EINTR) throw system_error("write", folder.path_of(name), errno);
      done += static_cast<std::size_t>(std::max<ssize_t>(0, n));
    }
  }
}

}  // namespace

CleanReport remove_laid(const MarkedFolder& folder) {
  CleanReport report;
  if (!folder.folder().lock_alone()) {
    report.left.push_back(folder.path() + ": " + folder.in_use());
    return report;
  }
  report = remove_all(folder.folder());
  if (report.left.empty()) report.gone = folder.remove().gone;
  return report;
}

LaidFiles::LaidFiles(const Plan& plan, const std::string& folder, std::uint64_t most, const std::function<bool()>& stop)
    : folder_(held(checked(plan, folder, most))) {
  try {
    if (!plan.saves.empty()) saves_.emplace(folder_.folder());
    for (std::size_t f = 0; f < plan.files.size(); ++f) {
      if (stop()) throw RunError("replay: stopped");
      make(folder_.folder(), f, plan.files[f].bytes, stop);
      paths_.push_back(folder_.folder().path_of(name_of(f)));
    }
    // The kernel forgets only pages that are on disk.
    if (::syncfs(folder_.folder().fd()) != 0) throw system_error("sync", folder_.path(), errno);
  } catch (...) {
    saves_.reset();
    remove_laid(folder_);
    throw;
  }
}

std::string LaidFiles::remove() {
  removed_ = true;
  std::string why;
  saves_.reset();
  try {
    const CleanReport report = remove_laid(folder_);
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
