// The file that HEADRACE_FAKE_GPUS names: a line for each thing that is not as usual, "HOST GPU KEY VALUE".
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace headrace::testing {

struct FakeGpuLine {
  std::string gpu, key, value;
};

inline std::vector<FakeGpuLine> lines_of_this_host() {
  const char* name = std::getenv("HEADRACE_FAKE_GPUS");
  std::ifstream file(name == nullptr ? "" : name);
  char own[256] = {};
  ::gethostname(own, sizeof own - 1);
  std::vector<FakeGpuLine> all;
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    std::string host;
    FakeGpuLine line;
    words >> host >> line.gpu >> line.key >> std::ws;
    std::getline(words, line.value);
    if (host == "*" || host == own) all.push_back(std::move(line));
  }
  return all;
}

}  // namespace headrace::testing
