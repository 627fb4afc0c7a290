#include "workloads/network/binding.h"

#include <gtest/gtest.h>

namespace headrace::binding_test {
namespace {

/// Lends the process one of the processors that it has.
struct Bound {
  explicit Bound(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~Bound() { ::sched_setaffinity(0, sizeof before, &before); }
  static cpu_set_t now() {
    cpu_set_t set;
    ::sched_getaffinity(0, sizeof set, &set);
    return set;
  }
  const cpu_set_t before = now();
};

TEST(Binding, FarFromAGpuIsNotedAndNearIsNot) {
  std::vector<int> cpus;
  const cpu_set_t now = Bound::now();
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &now)) cpus.push_back(cpu);
  if (cpus.size() < 2) GTEST_SKIP() << "one processor is near everything";
  const std::vector<NumaNode> nodes{{.id = 0, .cpus = {cpus[0]}, .distances = {}},
                                    {.id = 1, .cpus = {cpus[1]}, .distances = {}}};
  const std::map<std::string, int> gpus{{"gpu0", 0}, {"gpu1", 1}, {"gpu2", -1}};
  EXPECT_EQ(network::bound_far(gpus, nodes), "") << "it may use both";
  const Bound bound(cpus[0]);
  EXPECT_EQ(network::bound_far({{"gpu0", 0}}, nodes), "");
  EXPECT_EQ(network::bound_far(gpus, nodes),
            "bound to processors far from gpu1 at NUMA node 1: start with mpirun --bind-to none, or srun "
            "--cpu-bind=none");
  EXPECT_EQ(network::bound_far({{"gpu2", -1}, {"gpu3", 7}}, nodes), "") << "the kernel does not report where they are";
}

TEST(Binding, FewerProcessorsThanThreadsThatPollIsNoted) {
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "there is one";
  int cpu = 0;
  const cpu_set_t now = Bound::now();
  while (!CPU_ISSET(cpu, &now)) ++cpu;
  const Bound bound(cpu);
  EXPECT_EQ(network::bound_too_tightly(1), "");
  EXPECT_NE(network::bound_too_tightly(9).find("which 9 threads share that poll"), std::string::npos);
}

}  // namespace
}  // namespace headrace::binding_test
