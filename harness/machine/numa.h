// NUMA nodes: which there are, which one to use, and work and memory put on it.
#pragma once

#include <sched.h>

#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// A node with processors.
struct NumaNode {
  int id = 0;
  std::vector<int> cpus;
  std::vector<unsigned> distances;  // to every node, in the order of the kernel's numbers; 10 = itself
};

/// Nodes that have processors, by number; one without a number's files still is node 0. `root` has /sys; tests set
/// their own.
std::vector<NumaNode> numa_nodes(const std::string& root = "");

/// The place of buffers relative to a device: its own node, the farthest other one, or the kernel's choice.
enum class NumaChoice { local, remote, any };

/// The node to use, or null: anywhere. `why`: set when the choice is impossible ("the kernel does not report the
/// device's NUMA node").
const NumaNode* choose_numa_node(NumaChoice choice, int device_node, const std::vector<NumaNode>& nodes,
                                 std::string& why);

/// While it lives, the calling thread runs on the node's processors. Memory that it touches first is on the node.
class OnNumaNode {
 public:
  /// `node` null: changes nothing.
  explicit OnNumaNode(const NumaNode* node);
  ~OnNumaNode();
  OnNumaNode(const OnNumaNode&) = delete;
  /// The kernel's refusal, or "".
  const std::string& refused() const { return refused_; }

 private:
  std::optional<cpu_set_t> before_;
  bool memory_bound_ = false;
  std::string refused_;
};

/// The calling thread stays on the node's processors (those that the process may use). null: nothing happens.
void run_on(const NumaNode* node);
/// The calling thread goes to any processor that the process may use, as its first thread does.
void run_anywhere();

/// The node of the page at `address`; -1 = not reported.
int numa_node_of(const void* address);

}  // namespace headrace
