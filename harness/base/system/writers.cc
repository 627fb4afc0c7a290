#include "harness/base/system/writers.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

#include "harness/base/error.h"

namespace headrace::system {
namespace {

constexpr std::size_t kMostAcl = 64 << 10;  // [B] XATTR_SIZE_MAX

/// Takes integers off the front of an attribute.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}
  template <class Integer>
  Integer take() {
    Integer value{};
    if (text_.size() < sizeof value) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return value;
  }
  std::uint32_t take_network() { return ntohl(take<std::uint32_t>()); }
  std::string_view bytes(std::size_t count) {
    if (text_.size() < count) {
      ok_ = false;
      return {};
    }
    const std::string_view found = text_.substr(0, count);
    text_.remove_prefix(count);
    return found;
  }
  bool more() const { return ok_ && !text_.empty(); }
  bool ok() const { return ok_; }

 private:
  std::string_view text_;
  bool ok_ = true;
};

/// An extended attribute of a path or of an open file. Nothing: there is none. Throws RunError.
template <class Get>
std::optional<std::string> attribute(const char* name, const Get& get) {
  std::string value(kMostAcl, '\0');
  const ssize_t size = get(name, value.data(), value.size());
  if (size < 0 && (errno == ENODATA || errno == EOPNOTSUPP || errno == ENOSYS)) return std::nullopt;
  if (size < 0) throw system_error("read the attribute", name, errno);
  value.resize(static_cast<std::size_t>(size));
  return value;
}

/// "alice@example.org" or "1000", as NFSv4 names a user or a group.
std::string nfs4_name(std::string_view who, bool is_group) {
  const std::string name(who.substr(0, who.find('@')));
  if (!name.empty() && name.find_first_not_of("0123456789") == name.npos) return (is_group ? "group " : "user ") + name;
  if (is_group) {
    if (const group* found = ::getgrnam(name.c_str())) return group_id(found->gr_gid);
  } else if (const passwd* found = ::getpwnam(name.c_str())) {
    return user_id(found->pw_uid);
  }
  return std::string(who);
}

template <class Get>
Writers writers(const struct stat& status, bool inherited, const Get& get) {
  Writers all{user_id(status.st_uid)};
  const auto acl = attribute("system.posix_acl_access", get);
  if (acl) all.merge(posix_acl_writers(*acl, status.st_uid, status.st_gid));
  if (!acl && (status.st_mode & S_IWGRP)) all.insert(group_id(status.st_gid));
  if (status.st_mode & S_IWOTH) all.insert(kEverybody);
  if (inherited && S_ISDIR(status.st_mode))
    if (const auto later = attribute("system.posix_acl_default", get))
      all.merge(posix_acl_writers(*later, status.st_uid, status.st_gid));
  if (const auto nfs4 = attribute("system.nfs4_acl", get))
    all.merge(nfs4_acl_writers(*nfs4, status.st_uid, status.st_gid));
  return all;
}

}  // namespace

std::string user_id(uid_t user) { return fmt::format("user {}", user); }
std::string group_id(gid_t group) { return fmt::format("group {}", group); }

Writers posix_acl_writers(std::string_view acl, uid_t owner, gid_t group) {
  enum Tag : std::uint16_t { kUserObj = 1, kUser = 2, kGroupObj = 4, kGroup = 8, kMask = 16, kOther = 32 };
  constexpr std::uint32_t kVersion = 2;
  constexpr std::uint16_t kWrite = 2;
  Writers under_mask, all;
  bool mask_writes = true;
  Reader reader(acl);
  if (le32toh(reader.take<std::uint32_t>()) != kVersion) return {kUnreadableAcl};
  while (reader.more()) {
    const std::uint16_t tag = le16toh(reader.take<std::uint16_t>());
    const bool writes = le16toh(reader.take<std::uint16_t>()) & kWrite;
    const std::uint32_t id = le32toh(reader.take<std::uint32_t>());
    if (tag == kMask) mask_writes = writes;
    if (!writes) continue;
    if (tag == kUserObj) all.insert(user_id(owner));
    if (tag == kUser) under_mask.insert(user_id(id));
    if (tag == kGroupObj) under_mask.insert(group_id(group));
    if (tag == kGroup) under_mask.insert(group_id(id));
    if (tag == kOther) all.insert(kEverybody);
  }
  if (mask_writes) all.merge(under_mask);
  if (!reader.ok()) all.insert(kUnreadableAcl);
  return all;
}

Writers nfs4_acl_writers(std::string_view acl, uid_t owner, gid_t group) {
  constexpr std::uint32_t kAllow = 0, kInheritOnly = 0x8, kIsGroup = 0x40;
  // WRITE_DATA, APPEND_DATA, DELETE_CHILD, DELETE, WRITE_ACL, WRITE_OWNER
  constexpr std::uint32_t kWrites = 0x2 | 0x4 | 0x40 | 0x10000 | 0x40000 | 0x80000;
  Writers all;
  Reader reader(acl);
  reader.take_network();  // how many entries follow
  while (reader.more()) {
    const std::uint32_t type = reader.take_network(), flags = reader.take_network(), mask = reader.take_network();
    const std::uint32_t size = reader.take_network();
    const std::string_view who = reader.bytes(size);
    reader.bytes((4 - size % 4) % 4);
    if (!reader.ok()) break;
    if (type != kAllow || (flags & kInheritOnly) != 0 || (mask & kWrites) == 0) continue;
    all.insert(who == "OWNER@"      ? user_id(owner)
               : who == "GROUP@"    ? group_id(group)
               : who == "EVERYONE@" ? kEverybody
                                    : nfs4_name(who, (flags & kIsGroup) != 0));
  }
  if (!reader.ok()) all.insert(kUnreadableAcl);
  return all;
}

Writers writers_of(const std::string& path, bool inherited) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw system_error("look at", path, errno);
  return writers(status, inherited, [&](const char* name, char* to, std::size_t size) {
    return ::getxattr(path.c_str(), name, to, size);
  });
}

Writers writers_of(int fd, bool inherited) {
  struct stat status;
  if (::fstat(fd, &status) != 0) throw system_error("look at", "an open file", errno);
  return writers(status, inherited,
                 [&](const char* name, char* to, std::size_t size) { return ::fgetxattr(fd, name, to, size); });
}

std::string with_name(const std::string& writer) {
  unsigned id = 0;
  const char* name = nullptr;
  if (std::sscanf(writer.c_str(), "user %u", &id) == 1) {
    if (const passwd* found = ::getpwuid(id)) name = found->pw_name;
  } else if (std::sscanf(writer.c_str(), "group %u", &id) == 1) {
    if (const group* found = ::getgrgid(id)) name = found->gr_name;
  }
  if (name == nullptr) return writer;
  return fmt::format("{}{} ({})", writer.substr(0, writer.find(' ') + 1), name, id);
}

}  // namespace headrace::system
