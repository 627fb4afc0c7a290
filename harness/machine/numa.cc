// sysfs for the nodes, three system calls for the rest: too little to need a library.
#include "harness/machine/numa.h"

#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "harness/base/system/kernel_files.h"
#include "harness/machine/cpu.h"

namespace headrace {
namespace {

constexpr std::size_t kMostNodes = 1024;
using NodeMask = std::array<unsigned long, kMostNodes / (8 * sizeof(unsigned long))>;

/// The node's processors that this process may use, with those of its main thread: workers are pinned.
std::optional<cpu_set_t> usable(const NumaNode& node) {
  cpu_set_t allowed, set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(::getpid(), sizeof allowed, &allowed) != 0) return std::nullopt;
  for (const int cpu : node.cpus) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &set);
  }
  if (CPU_COUNT(&set) == 0) return std::nullopt;
  return set;
}

}  // namespace

std::vector<NumaNode> numa_nodes(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/node/";
  std::vector<NumaNode> nodes;
  for (const unsigned id : system::parse_cpu_list(system::read_line(folder + "online").value_or("0"))) {
    const std::string own = folder + "node" + std::to_string(id);
    NumaNode node{.id = static_cast<int>(id), .cpus = {}, .distances = {}};
    for (const unsigned cpu : system::parse_cpu_list(system::read_line(own + "/cpulist").value_or("")))
      node.cpus.push_back(static_cast<int>(cpu));
    for (const std::string& d : system::split(system::read_line(own + "/distance").value_or(""), ' '))
      node.distances.push_back(static_cast<unsigned>(std::strtoul(d.c_str(), nullptr, 10)));
    if (!node.cpus.empty()) nodes.push_back(std::move(node));
  }
  return nodes;
}

const NumaNode* choose_numa_node(NumaChoice choice, int device_node, const std::vector<NumaNode>& nodes,
                                 std::string& why) {
  if (choice == NumaChoice::any) return nullptr;
  if (nodes.size() == 1 && choice == NumaChoice::local) return nullptr;  // nowhere else to be
  if (nodes.size() < 2) {
    why = "this machine has one NUMA node";
    return nullptr;
  }
  const auto own =
      std::find_if(nodes.begin(), nodes.end(), [device_node](const NumaNode& n) { return n.id == device_node; });
  if (own == nodes.end()) {
    why = device_node < 0 ? "the kernel does not report the device's NUMA node"
                          : "the device's NUMA node " + std::to_string(device_node) + " has no processors";
    return nullptr;
  }
  if (choice == NumaChoice::local) return &*own;
  const auto distance = [&](const NumaNode& to) {
    const auto at = static_cast<std::size_t>(to.id);
    return at < own->distances.size() ? own->distances[at] : 0u;
  };
  const NumaNode* farthest = nullptr;
  for (const NumaNode& node : nodes) {
    if (&node == &*own) continue;
    if (farthest == nullptr || distance(node) > distance(*farthest)) farthest = &node;
  }
  return farthest;
}

OnNumaNode::OnNumaNode(const NumaNode* node) {
  if (node == nullptr) return;
  cpu_set_t now;
  if (const auto set = usable(*node); !set) {
    refused_ = "no processor of NUMA node " + std::to_string(node->id) +
               " may be used: start with mpirun --bind-to none, or srun --cpu-bind=none";
  } else if (::pthread_getaffinity_np(::pthread_self(), sizeof now, &now) == 0 &&
             ::pthread_setaffinity_np(::pthread_self(), sizeof *set, &*set) == 0) {
    before_ = now;
  }
  NodeMask mask{};
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  const auto id = static_cast<std::size_t>(node->id);
  mask[id / kBits] |= 1ul << (id % kBits);
  // Preferred, not bound: of a node that is full, or has no huge page left, a bound process is killed. The actual node
  // of the memory is reported (numa_node_of()).
  memory_bound_ = ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, mask.data(), kMostNodes) == 0;
  if (!memory_bound_ && refused_.empty())
    refused_ = "set_mempolicy: " + std::string(std::strerror(errno)) + ": buffers lie where the kernel put them";
}

OnNumaNode::~OnNumaNode() {
  if (memory_bound_) ::syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0);
  if (before_) ::pthread_setaffinity_np(::pthread_self(), sizeof *before_, &*before_);
}

void run_on(const NumaNode* node) {
  if (node == nullptr) return;
  if (const auto set = usable(*node)) ::pthread_setaffinity_np(::pthread_self(), sizeof *set, &*set);
}

void run_anywhere() {
  cpu_set_t set;
  if (::sched_getaffinity(::getpid(), sizeof set, &set) == 0)
    ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

int numa_node_of(const void* address) {
  int node = -1;
  const long failed = ::syscall(SYS_get_mempolicy, &node, nullptr, 0, address, MPOL_F_NODE | MPOL_F_ADDR);
  return failed ? -1 : node;
}

}  // namespace headrace
