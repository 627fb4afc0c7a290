// Which of all lines that a launcher and what it started printed says why nothing came of it.
#include "harness/bringup/agents/child.h"

#include <gtest/gtest.h>

namespace headrace::agents::complaint_test {
namespace {

const std::string kFrame(74, '-');
const std::string kFooter = kFrame +
                            "\nmpirun detected that one or more processes exited with non-zero status, thus causing\n"
                            "the job to be terminated. The first process to do so was:\n\n  Process name: [[1,1],0]\n"
                            "  Exit code:    1\n" +
                            kFrame + "\n";

TEST(Complaint, IsTheLineThatSaysWhy) {
  struct Case {
    std::string printed, complaint;
  };
  const Case cases[] = {
      {"", ""},
      {"---\n...\n", ""},
      {"a\nssh: connect to host x port 22: No route to host\n\n", "ssh: connect to host x port 22: No route to host"},
      {"Welcome to node1\r\nheadrace: TIMEOUT: MPI_Init of rank 0 (node1)\nheadrace: and more\n" + kFooter,
       "TIMEOUT: MPI_Init of rank 0 (node1)"},
      {kFrame +
           "\nThere are not enough slots available in the system to satisfy the 4\nslots that were requested:\n\n"
           "  headrace\n" +
           kFrame + "\nmore\n",
       "There are not enough slots available in the system to satisfy the 4 slots that were requested:"},
      {kFooter,
       "mpirun detected that one or more processes exited with non-zero status, thus causing the job to be terminated. "
       "The first process to do so was:"},
      {"--------\nAuthorized use only\n--------\nbash: headrace: command not found\n",
       "bash: headrace: command not found"},
      {"[1,0]<stderr>:headrace run: wants --job\n" + kFooter, "wants --job"},
      {"1: slurm is busy\n0: headrace: no /data here\nsrun: error: node1: task 0: Exited with exit code 1\n",
       "no /data here"},
      {"see headrace: the manual\nheadrace bringup\nthe end\n", "the end"},
      {"sh: 1: headrace: not found\n", "sh: 1: headrace: not found"},
  };
  for (const Case& one : cases) EXPECT_EQ(complaint_in(one.printed), one.complaint) << one.printed;
}

}  // namespace
}  // namespace headrace::agents::complaint_test
