// Host memory that copies go from or to: of a kind, on a NUMA node.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/backends/gpu.h"
#include "harness/machine/numa.h"
#include "harness/record/params.h"

namespace headrace::gpu {

enum class HostMemory { pageable, pinned, registered, write_combined };

inline const std::vector<std::string>& host_memory_names() {
  static const std::vector<std::string> kNames{"pageable", "pinned", "registered", "write_combined"};
  return kNames;
}

/// `memory:`, any of them.
inline HostMemory declare_memory(Params& params, HostMemory fallback) {
  const auto& names = host_memory_names();
  const std::string chosen = params.choice("memory", names[static_cast<std::size_t>(fallback)], names,
                                           "of the host: pageable, as allocated; pinned by the driver; registered: "
                                           "allocated, then pinned; write_combined: "
                                           "pinned and not cached");
  return static_cast<HostMemory>(std::find(names.begin(), names.end(), chosen) - names.begin());
}

/// The node of memory (-1 = not reported) that was requested on node `wanted` (-1 = anywhere). The kernel takes another
/// node's where that one is full. Eight GPUs' states may fit a machine and not the node of four of them.
inline std::string place_text(int found, int wanted) {
  if (found < 0) return "on an unknown NUMA node";
  return "on NUMA node " + std::to_string(found) +
         (wanted < 0 || found == wanted ? "" : ", for node " + std::to_string(wanted) + " had no room: copies cross");
}

/// One buffer, touched; pinned by `gpu`. On `node`, where the kernel allows it.
class HostArea {
 public:
  HostArea(Gpu& gpu, HostMemory kind, std::uint64_t bytes, const NumaNode* node, bool huge_pages = false) {
    const OnNumaNode there(node);
    refused_ = there.refused();
    if (kind == HostMemory::pageable || kind == HostMemory::registered) {
      buffer_.emplace(1, bytes, huge_pages);
      begin_ = buffer_->begin();
      if (kind == HostMemory::registered) pinned_ = gpu.pin({buffer_->begin(), buffer_->length()});
    } else {
      pinned_ = gpu.pinned(bytes, kind == HostMemory::write_combined);
      begin_ = pinned_->begin();
      std::memset(begin_, 0x5a, bytes);
    }
    // Its end came last, and is the first part without room.
    node_ = numa_node_of(begin_ + bytes - 1);
    wanted_ = node ? node->id : -1;
  }

  unsigned char* begin() const noexcept { return begin_; }
  /// "on NUMA node 1, in huge pages": what the kernel reports on where it is.
  std::string placement() const {
    std::string text = place_text(node_, wanted_);
    if (buffer_) text += buffer_->pages() == Buffers::Pages::ordinary ? ", in ordinary pages" : ", in huge pages";
    return text;
  }
  const std::string& refused() const { return refused_; }

 private:
  std::optional<Buffers> buffer_;
  std::unique_ptr<GpuMemory> pinned_;  // goes before the buffer that it pins
  unsigned char* begin_ = nullptr;
  int node_ = -1, wanted_ = -1;
  std::string refused_;
};

}  // namespace headrace::gpu
