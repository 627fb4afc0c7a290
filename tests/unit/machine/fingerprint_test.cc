#include "harness/machine/examine/fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/machine/mount.h"
#include "harness/machine/node.h"

namespace headrace::system::fingerprint_test {
namespace {

using Facts = Fingerprint::value_type::second_type;

const Facts* section(const Fingerprint& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.first == name; });
  return found == all.end() ? nullptr : &found->second;
}

std::string value(const Facts* facts, const std::string& key) {
  if (!facts) return "";
  const auto found = std::find_if(facts->begin(), facts->end(), [&](const auto& f) { return f.first == key; });
  return found == facts->end() ? "" : found->second;
}

TEST(Fingerprint, ReportsOfEveryPart) {
  Node node("/tmp/headrace-no-such-scratch");
  const Fingerprint all = fingerprint("/tmp/headrace-no-such-scratch", node);
  for (const char* name : {"host", "kernel", "cpu", "memory", "limits", "file_system", "backends"})
    EXPECT_TRUE(section(all, name)) << name;
  EXPECT_NE(value(section(all, "kernel"), "release"), "");
  EXPECT_NE(value(section(all, "cpu"), "threads"), "0");
  // A changed root has no mount of its own.
  EXPECT_EQ(value(section(all, "file_system"), "type") != "", mount_of("/tmp").has_value());
  EXPECT_NE(value(section(all, "backends"), "posix"), "");
}

TEST(Fingerprint, LeavesOutUnreportedValues) {
  Node node("/proc/headrace");
  const Fingerprint all = fingerprint("/proc/headrace", node);
  EXPECT_EQ(value(section(all, "file_system"), "type"), "proc");
  EXPECT_FALSE(section(all, "device"));
  for (const auto& [name, facts] : all)
    for (const auto& [key, text] : facts) EXPECT_NE(text, "") << name << "." << key;
}

}  // namespace
}  // namespace headrace::system::fingerprint_test
