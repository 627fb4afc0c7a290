#include "harness/base/system/writers.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "tests/unit/temporary_folder.h"

namespace headrace::system::writers_test {
namespace {

constexpr uid_t kOwner = 10;
constexpr gid_t kGroup = 20;

struct PosixEntry {
  std::uint16_t tag, permissions;
  std::uint32_t id;
};
constexpr std::uint16_t kUserObj = 1, kUser = 2, kGroupObj = 4, kGroupTag = 8, kMask = 16, kOther = 32;
constexpr std::uint32_t kNobody = 0xffffffff;

template <class Integer>
void append(std::string& to, Integer value) {  // little endian, as this test's machines are
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string posix_acl(const std::vector<PosixEntry>& entries, std::uint32_t version = 2) {
  std::string acl;
  append(acl, version);
  for (const PosixEntry& one : entries) {
    append(acl, one.tag);
    append(acl, one.permissions);
    append(acl, one.id);
  }
  return acl;
}

TEST(PosixAcl, LetsNamedUsersWriteWithinTheMask) {
  const struct {
    std::vector<PosixEntry> entries;
    Writers writers;
  } kCases[] = {
      {{{kUserObj, 6, kNobody}, {kGroupObj, 4, kNobody}, {kOther, 4, kNobody}}, {"user 10"}},
      {{{kUserObj, 6, kNobody}, {kUser, 6, 7}, {kGroupObj, 4, kNobody}, {kMask, 6, kNobody}, {kOther, 4, kNobody}},
       {"user 10", "user 7"}},
      {{{kUserObj, 6, kNobody}, {kUser, 6, 7}, {kGroupObj, 6, kNobody}, {kMask, 4, kNobody}, {kOther, 4, kNobody}},
       {"user 10"}},
      {{{kUserObj, 7, kNobody}, {kGroupObj, 7, kNobody}, {kGroupTag, 2, 8}, {kMask, 7, kNobody}, {kOther, 5, kNobody}},
       {"user 10", "group 20", "group 8"}},
      {{{kUserObj, 4, kNobody}, {kGroupObj, 4, kNobody}, {kOther, 6, kNobody}}, {kEverybody}},
  };
  for (const auto& one : kCases) EXPECT_EQ(posix_acl_writers(posix_acl(one.entries), kOwner, kGroup), one.writers);
}

TEST(PosixAcl, AnUnknownAclTrustsNone) {
  const std::string whole = posix_acl({{kUserObj, 6, kNobody}, {kUser, 6, 7}});
  EXPECT_EQ(posix_acl_writers("", kOwner, kGroup), Writers{kUnreadableAcl});
  EXPECT_EQ(posix_acl_writers(posix_acl({}, 3), kOwner, kGroup), Writers{kUnreadableAcl});
  EXPECT_TRUE(
      posix_acl_writers(std::string_view(whole).substr(0, whole.size() - 1), kOwner, kGroup).contains(kUnreadableAcl));
}

struct NfsEntry {
  std::uint32_t type, flags, mask;
  std::string who;
};

std::string nfs4_acl(const std::vector<NfsEntry>& entries) {
  std::string acl;
  const auto number = [&](std::uint32_t value) { append(acl, __builtin_bswap32(value)); };
  number(static_cast<std::uint32_t>(entries.size()));
  for (const NfsEntry& one : entries) {
    number(one.type);
    number(one.flags);
    number(one.mask);
    number(static_cast<std::uint32_t>(one.who.size()));
    acl += one.who;
    acl.append((4 - one.who.size() % 4) % 4, '\0');
  }
  return acl;
}

TEST(Nfs4Acl, LetsAllowedUsersWrite) {
  constexpr std::uint32_t kRead = 0x1, kWrite = 0x2, kAppend = 0x4, kDeleteChild = 0x40, kWriteAcl = 0x40000;
  const struct {
    NfsEntry entry;
    Writers writers;
  } kCases[] = {
      {{0, 0, kRead, "EVERYONE@"}, {}},
      {{0, 0, kWrite, "OWNER@"}, {"user 10"}},
      {{0, 0, kAppend, "GROUP@"}, {"group 20"}},
      {{0, 0, kWrite, "EVERYONE@"}, {kEverybody}},
      {{0, 0, kDeleteChild, "1234"}, {"user 1234"}},
      {{0, 0x40, kWriteAcl, "77@example.org"}, {"group 77"}},
      {{0, 0, kWrite, "root@example.org"}, {"user 0"}},
      {{0, 0, kWrite, "no-such-user@example.org"}, {"no-such-user@example.org"}},
      {{1, 0, kWrite, "EVERYONE@"}, {}},    // denies
      {{0, 0x8, kWrite, "EVERYONE@"}, {}},  // of what is made later
  };
  for (const auto& one : kCases)
    EXPECT_EQ(nfs4_acl_writers(nfs4_acl({one.entry}), kOwner, kGroup), one.writers) << one.entry.who;
  const std::string whole = nfs4_acl({{0, 0, kWrite, "somebody@example.org"}});
  EXPECT_EQ(nfs4_acl_writers(std::string_view(whole).substr(0, 24), kOwner, kGroup), Writers{kUnreadableAcl});
}

TEST(Writers, AreThoseOfModeAndAcl) {
  const testing::TemporaryFolder folder;
  folder.write("file", "x");
  const std::string file = folder / "file", own = user_id(::geteuid());
  ::chmod(file.c_str(), 0664);
  EXPECT_EQ(writers_of(file), (Writers{own, group_id(::getegid())}));
  ::chmod(file.c_str(), 0646);
  EXPECT_EQ(writers_of(file), (Writers{own, kEverybody}));
  const std::string acl = posix_acl(
      {{kUserObj, 6, kNobody}, {kUser, 6, 4711}, {kGroupObj, 4, kNobody}, {kMask, 6, kNobody}, {kOther, 4, kNobody}});
  if (::setxattr(file.c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) != 0)
    GTEST_SKIP() << "this file system has no ACLs";
  // The mode's bits for the group are the mask by now.
  EXPECT_EQ(writers_of(file), (Writers{own, "user 4711"}));
  ASSERT_EQ(::setxattr(folder.path().c_str(), "system.posix_acl_default", acl.data(), acl.size(), 0), 0);
  EXPECT_EQ(writers_of(folder.path()), Writers{own});
  EXPECT_EQ(writers_of(folder.path(), /*inherited=*/true), (Writers{own, "user 4711"}));
}

TEST(Writers, HaveNamesWhereTheSystemKnowsThem) {
  EXPECT_EQ(with_name("user 0"), "user root (0)");
  EXPECT_EQ(with_name("user 4111222333"), "user 4111222333");
  EXPECT_EQ(with_name(kEverybody), kEverybody);
}

}  // namespace
}  // namespace headrace::system::writers_test
