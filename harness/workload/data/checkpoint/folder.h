// The files of a checkpoint, in a marked folder of their own below the scratch folder.
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/files/marked_folder.h"

namespace headrace::checkpoint {

/// Locked by one process at a time. Its files are removed with it.
class Folder {
 public:
  /// Makes or takes `scratch`/checkpoint. Throws RunError when another process holds it.
  explicit Folder(const files::Folder& scratch);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return marked_.path(); }
  int fd() const { return marked_.folder().fd(); }
  /// "rank-00003.bin"; while it is written, ".rank-00003.bin.new".
  static std::string name(unsigned file);
  static std::string temporary_name(unsigned file) { return std::string(".").append(name(file)).append(".new"); }
  std::string full_path(unsigned file) const { return marked_.folder().path_of(name(file)); }

  /// Untimed, before files 0 to `count`-1 are made and put in their places: the folder must have no others. Throws
  /// RunError that names them.
  void require_free(unsigned count) const;
  /// Makes the temporary file, or, `shared`, opens the one that another rank made already.
  system::UniqueFd create(unsigned file, int flags, bool shared = false) const;
  /// Puts the temporary file in the place of the one before it. That one is freed when the returned descriptor is
  /// closed.
  system::UniqueFd publish(unsigned file) const;
  /// Makes the names durable.
  void sync() const;
  void remove_temporary(unsigned file) const noexcept;

 private:
  MarkedFolder marked_;
};

/// Removes the provable files of a killed run in `scratch`/checkpoint, unless a living one has locked it.
CleanReport remove_left_over(const files::Folder& scratch);

}  // namespace headrace::checkpoint
