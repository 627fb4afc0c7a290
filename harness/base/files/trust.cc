#include "harness/base/files/trust.h"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string_view>

#include "harness/base/error.h"
#include "harness/base/system/writers.h"

namespace headrace::files {
namespace {

/// The user of this process on a file system, and whether modes have a meaning there.
struct Caller {
  std::set<uid_t> users;
  bool keeps_modes = true;
};

Caller this_user() {
  Caller caller{{::geteuid()}};
  const char* const sudo = std::getenv("SUDO_UID");  // a user who sets it for root may run anything as root
  if (::geteuid() != 0 || sudo == nullptr) return caller;
  uid_t user = 0;
  const std::string_view text(sudo);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  if (error == std::errc() && end == text.data() + text.size()) caller.users.insert(user);
  return caller;
}

/// File servers map users (root squashing). Mounts for one user (vfat, cifs, drvfs) show one owner and one mode for
/// everything. A new file shows it.
Caller user_there(const Folder& folder) {
  Caller caller = this_user();
  const UniqueFd file = folder.create_nameless(0600);
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0) return caller;
  caller.users.insert(status.st_uid);
  caller.keeps_modes = (status.st_mode & 0777) == 0600;
  return caller;
}

std::string writer_but(const Caller& caller, const std::string& path, int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) throw system_error("look at", path, errno);
  const bool own = caller.users.contains(status.st_uid);
  if (!own && status.st_uid != 0) return path + " belongs to " + system::with_name(system::user_id(status.st_uid));
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  if (!caller.keeps_modes || sticky) return "";
  system::Writers others = system::writers_of(fd);
  others.erase(system::user_id(0));
  others.erase(system::group_id(0));
  for (const uid_t user : caller.users) others.erase(system::user_id(user));
  // A folder's owner has chosen the groups that share it; any user may be a member of root's groups.
  if (own && status.st_uid != 0)
    std::erase_if(others, [](const std::string& one) { return one.starts_with("group "); });
  return others.empty() ? "" : path + " can be written by " + system::with_name(*others.begin());
}

std::string writer_of(const Folder& folder, const std::string& path, int fd) {
  if (writer_but(this_user(), path, fd).empty()) return "";
  return writer_but(user_there(folder), path, fd);
}

/// Can only root, this user and the owner of `folder` have put it where it is?
bool is_placed_safely(const Folder& folder) {
  const std::string owner = system::user_id(folder.status().st_uid);
  UniqueFd at(::openat(folder.fd(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (at) {
    system::Writers others = system::writers_of(at.get());
    for (const std::string& one : {system::user_id(0), system::group_id(0), system::user_id(::geteuid())})
      others.erase(one);
    if (others.empty()) return true;
    if (others != system::Writers{owner}) return false;
    at = UniqueFd(::openat(at.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));  // all of it is the owner's
  }
  return false;
}

/// In a user namespace, as of Apptainer, the machine's root has no number.
bool has_no_number_here(uid_t user) {
  std::ifstream map("/proc/self/uid_map");
  for (std::uint64_t first = 0, outside = 0, count = 0; map >> first >> outside >> count;)
    if (user >= first && user - first < count) return false;
  return map.eof();
}

}  // namespace

std::string other_writer(const Folder& folder) {
  std::string why = writer_of(folder, folder.path(), folder.fd());
  if (why.empty() || !is_placed_safely(folder)) return why;
  Caller caller = this_user();
  caller.users.insert(folder.status().st_uid);
  return writer_but(caller, folder.path(), folder.fd());
}

std::string other_writer(const Folder& folder, const std::string& name) {
  const UniqueFd file(open_beneath(folder.fd(), name.c_str(), O_RDONLY | O_NONBLOCK));
  return file ? writer_of(folder, folder.path_of(name), file.get()) : "";
}

std::string other_replacer(const Folder& folder) {
  const struct stat status = folder.status();
  if ((status.st_mode & S_ISVTX) != 0 && has_no_number_here(status.st_uid)) return "";
  return writer_of(folder, folder.path(), folder.fd());
}

}  // namespace headrace::files
