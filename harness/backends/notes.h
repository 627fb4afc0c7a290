// Requests that an engine could not meet, and did otherwise: each reported once, from any thread.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/buffers.h"

namespace headrace {

class Notes {
 public:
  void add(std::string text) {
    const std::lock_guard lock(mutex_);
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(std::move(text));
  }
  /// Notes `buffers` that were asked for in huge pages and are not.
  void add_pages(const Buffers& buffers, bool huge_pages) {
    if (huge_pages && buffers.pages() == Buffers::Pages::ordinary) add("no huge pages: buffers in ordinary pages");
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(notes_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> notes_;
};

}  // namespace headrace
