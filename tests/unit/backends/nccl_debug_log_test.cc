// NCCL's log, switched on and off. Without a GPU libnccl still names groups, and logs which interface it uses for that.
#include "harness/backends/nccl/debug_log.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace headrace::nccl::nccl_debug_log_test {
namespace {

int resets = 0;
/// As NCCL does at its first words, and after each reset.
void write_log(const char* line) {
  ASSERT_NE(std::getenv("NCCL_DEBUG_FILE"), nullptr);
  if (std::FILE* file = std::fopen(std::getenv("NCCL_DEBUG_FILE"), "w")) {
    if (std::string(std::getenv("NCCL_DEBUG")) == "INFO") std::fputs(line, file);
    std::fclose(file);
  }
}

struct NcclDebugLog : ::testing::Test {
  void SetUp() override {
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE", "NCCL_ALGO"}) ::unsetenv(name);
    resets = 0;
  }
};

TEST_F(NcclDebugLog, IsOnlyWrittenBetweenOnAndOff) {
  DebugLog log([] { ++resets; });
  EXPECT_EQ(log.why_deaf(), "");
  EXPECT_NE(std::string(std::getenv("NCCL_DEBUG_SUBSYS")).find("TUNING"), std::string::npos);
  for (int i = 0; i < 2; ++i) {
    log.on();
    write_log("decided\n");
    EXPECT_EQ(log.off(), "decided\n");
    EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "WARN");
    write_log("timed\n");
    EXPECT_EQ(log.off(), "");
  }
  EXPECT_EQ(resets, 4);
}

TEST_F(NcclDebugLog, ReportsRepeatedComplaintsOnceAndTheLastThree) {
  DebugLog log([] { ++resets; });
  EXPECT_EQ(log.complaints(), "");
  std::FILE* file = std::fopen(std::getenv("NCCL_DEBUG_FILE"), "w");
  ASSERT_NE(file, nullptr);
  for (const char* said : {"first", "old", "no socket", "net.cc:7 refused", "no socket", "last"})
    std::fprintf(file, "host:12:34 [0] NCCL WARN %s\nhost:12:34 [0] NCCL INFO chatter\n", said);
  std::fclose(file);
  EXPECT_EQ(log.complaints(), "net.cc:7 refused; no socket; last");
}

TEST_F(NcclDebugLog, LogsNoOperationsWhereItCannotBeSwitchedOff) {
  DebugLog log(nullptr);
  EXPECT_EQ(std::string(std::getenv("NCCL_DEBUG_SUBSYS")).find("TUNING"), std::string::npos);
  log.on();
  write_log("decided\n");
  EXPECT_EQ(log.off(), "decided\n");
}

TEST_F(NcclDebugLog, LeavesTheUsersOwnAlone) {
  ::setenv("NCCL_DEBUG", "INFO", 1);
  ::setenv("NCCL_ALGO", "Tree", 1);
  {
    DebugLog log([] { ++resets; });
    EXPECT_NE(log.why_deaf().find("NCCL_DEBUG is set"), std::string::npos);
    log.on();
    EXPECT_EQ(log.off(), "");
    EXPECT_EQ(log.settings(), (std::vector<std::string>{"NCCL_ALGO=Tree", "NCCL_DEBUG=INFO"}));
  }
  EXPECT_EQ(resets, 0);
  EXPECT_STREQ(std::getenv("NCCL_DEBUG"), "INFO");
}

TEST_F(NcclDebugLog, IsGoneAfterwards) {
  ::setenv("NCCL_ALGO", "Tree", 1);
  {
    const DebugLog log([] {});
    EXPECT_EQ(log.settings(), std::vector<std::string>{"NCCL_ALGO=Tree"});
  }
  EXPECT_EQ(std::getenv("NCCL_DEBUG"), nullptr);
  EXPECT_EQ(std::getenv("NCCL_DEBUG_FILE"), nullptr);
}

TEST_F(NcclDebugLog, OfTheRealLibrary) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the library keeps what it allocates";
#endif
  void* library = nullptr;
  for (const char* name : {"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2", "/usr/local/cuda/lib/libnccl.so.2"})
    if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) GTEST_SKIP() << "libnccl.so.2 not found";
  const auto reset = reinterpret_cast<void (*)()>(::dlsym(library, "ncclResetDebugInit"));
  const auto name_group = reinterpret_cast<int (*)(void*)>(::dlsym(library, "ncclGetUniqueId"));
  ASSERT_NE(name_group, nullptr);
  DebugLog log(reset);
  char id[128];
  log.on();
  const int code = name_group(id);
  const std::string text = log.off();
  if (code != 0) GTEST_SKIP() << "NCCL cannot name a group here: " << text;
  EXPECT_NE(text.find("NCCL INFO "), std::string::npos) << text;
}

}  // namespace
}  // namespace headrace::nccl::nccl_debug_log_test
