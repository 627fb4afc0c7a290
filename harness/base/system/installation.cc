#include "harness/base/system/installation.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "harness/base/error.h"
#include "harness/base/system/writers.h"

namespace headrace::system {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBinary = "/proc/self/exe";
constexpr const char* kMark = "headrace.tree";

std::string folder_or_nothing(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? path.string() : std::string();
}

/// The content of the mark in `folder`: the build's name, and where its sources are (a build tree's alone).
struct Mark {
  std::string build, source;
};

Mark read_mark(const fs::path& file) {
  Mark mark;
  std::ifstream in(file);
  std::getline(in, mark.build);
  std::getline(in, mark.source);
  return mark;
}

Installation look_around() {
  Installation found;
  std::error_code error;
  const fs::path binary = fs::read_symlink(kBinary, error);
  if (error) {
    found.why = "the running binary cannot be found: " + error.message();
    return found;
  }
  found.binary = binary.string();
  found.why = "plugins and configs not found next to this binary: copy the whole install folder";
  const fs::path here = binary.parent_path();
  const fs::path shared = here.parent_path() / "share" / "headrace";
  // A build's test programs are one level below the binary.
  for (const fs::path& folder : {here, here.parent_path(), shared}) {
    const fs::path file = folder / kMark;
    if (!fs::is_regular_file(file, error)) continue;
    const Mark mark = read_mark(file);
    if (mark.build != HEADRACE_TREE) continue;
    for (const fs::path& path : {folder, file}) {
      found.why = foreign_writer(path);
      if (!found.why.empty()) return found;
    }
    found.installed = mark.source.empty();
    const fs::path root = found.installed ? folder : fs::path(mark.source);
    found.configs = folder_or_nothing(root / "configs");
    found.reports = folder_or_nothing(root / "reports");
    found.docs = folder_or_nothing(root / "docs");
    found.plugins =
        folder_or_nothing(found.installed ? here.parent_path() / "lib" / "headrace" / "plugins" : folder / "plugins");
    return found;
  }
  return found;
}

}  // namespace

std::string foreign_writer(const std::string& path) {
  try {
    Writers others = writers_of(path, /*inherited=*/true), known = writers_of(kBinary);
    known.erase(kEverybody);
    known.insert({user_id(0), user_id(::geteuid()), group_id(0)});
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) return path + ": " + errno_text(errno);
    if (const std::string owner = user_id(file.st_uid); !known.contains(owner))
      return path + " belongs to " + with_name(owner);
    std::erase_if(others, [&](const std::string& one) { return known.contains(one); });
    return others.empty() ? "" : path + " can be written by " + with_name(*others.begin());
  } catch (const RunError& e) {
    return e.what();
  }
}

std::string foreign_writer_within(const std::string& folder) {
  std::string why = foreign_writer(folder);
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; why.empty() && !error && at != end; at.increment(error))
    why = foreign_writer(at->path());
  return error ? folder + ": " + error.message() : why;
}

const Installation& installation() {
  static const Installation found = look_around();
  return found;
}

std::string find_shipped(const std::string& path) {
  std::error_code error;
  const fs::path given(path);
  if (fs::exists(given, error) || given.is_absolute() || installation().configs.empty()) return path;
  const fs::path shipped = fs::path(installation().configs).parent_path() / given;
  return fs::exists(shipped, error) ? shipped.string() : path;
}

}  // namespace headrace::system
