// The users who can write a file or folder: its owner, and those by its mode and its ACLs.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>

namespace headrace::system {

/// "user 0", "group 100", all users, or a name that only the file server knows.
using Writers = std::set<std::string>;

std::string user_id(uid_t user);
std::string group_id(gid_t group);
inline const std::string kEverybody = "everybody";
/// In place of the entries of an ACL that cannot be read or understood.
inline const std::string kUnreadableAcl = "users named by its ACL, which headrace cannot read";

/// The writers of `path`, links followed: owner, mode, POSIX ACL (system.posix_acl_access), NFSv4 ACL
/// (system.nfs4_acl). `inherited`: also those who get write access to new entries by a folder's default ACL. Throws
/// RunError where the path cannot be looked at.
Writers writers_of(const std::string& path, bool inherited = false);
/// The same of an open file or folder.
Writers writers_of(int fd, bool inherited = false);

/// Entries of an ACL that may write, as Linux stores them in extended attributes. Source: acl(5) and
/// linux/posix_acl_xattr.h; RFC 7530, section 6. `owner` and `group` are those of the file.
Writers posix_acl_writers(std::string_view acl, uid_t owner, gid_t group);
Writers nfs4_acl_writers(std::string_view acl, uid_t owner, gid_t group);

/// Adds the user's name: "user 65534" becomes "user NAME (65534)"; other texts stay as they are.
std::string with_name(const std::string& writer);

}  // namespace headrace::system
