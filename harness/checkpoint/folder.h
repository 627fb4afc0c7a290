// The files of a checkpoint, in a marked folder of their own below the scratch folder.
#pragma once

#include <cstdint>
#include <string>

#include "harness/marked_folder.h"
#include "harness/system/unique_fd.h"

namespace headrace::checkpoint {

/// Held by one process at a time. Its files go away with it.
class Folder {
 public:
  /// Makes or takes `scratch`/checkpoint. Throws RunError when another process holds it.
  explicit Folder(const std::string& scratch);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::string& path() const { return path_; }
  int fd() const { return fd_.get(); }
  /// "rank-00003.bin"; what is being written is ".rank-00003.bin.new".
  static std::string name(unsigned file);
  static std::string temporary_name(unsigned file) { return "." + name(file) + ".new"; }
  std::string full_path(unsigned file) const { return path_ + "/" + name(file); }

  /// Opens the temporary file for writing; `fresh` empties it.
  system::UniqueFd create(unsigned file, int flags) const;
  /// Puts the temporary file in the place of the one before it. That one is freed when what this
  /// returns is closed.
  system::UniqueFd publish(unsigned file) const;
  /// Makes the names durable.
  void sync() const;
  void remove_temporary(unsigned file) const noexcept;

 private:
  std::string path_;
  system::UniqueFd fd_;
};

/// Removes what a run that was killed left in `scratch`/checkpoint, unless a living one holds it.
CleanReport remove_left_over(const std::string& scratch);

}  // namespace headrace::checkpoint
