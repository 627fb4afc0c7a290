// The files of NCCL's Inspector, a line of JSON for each operation of each rank. Only the needed part of this foreign
// text is taken.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/observe/nccl/nccl_seen.h"

namespace headrace::observe {

/// One line: an operation that every rank of its communicator leaves together (AllReduce, AllGather, ReduceScatter).
struct InspectorLine {
  std::string communicator, kind, host;
  std::uint64_t number = 0;  // of its kind, in the communicator
  int rank = 0, ranks = 0, pid = 0;
  double took_s = 0, written_s = 0;  // written_s: when, by the clock of its host, since 1970
};
/// False: another operation, or no such line.
bool parse_inspector_line(std::string_view line, InspectorLine& into);

/// The result of the lines. It has the communicators with a process of `own`, and their operations that all ranks have
/// a line of. Lines from before `since_s` are left out. Adds to `seen`.
void gather_inspector(const std::vector<InspectorLine>& lines, const std::set<int>& own, double since_s,
                      NcclSeen& seen);

/// The ends of the files in the folder. Adds to `seen`, also how many files were left out.
void read_inspector(int folder, const std::set<int>& own, double since_s, NcclSeen& seen);

}  // namespace headrace::observe
