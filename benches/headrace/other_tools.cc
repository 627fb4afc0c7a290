#include "benches/headrace/other_tools.h"

#include <fmt/format.h>

#include <algorithm>

namespace headrace::cli {
namespace {

struct Translated {
  std::string_view theirs, ours;
};

constexpr Translated kOptions[] = {
    {"--bs", "--block-size, such as 4KiB"},
    {"--block", "--block-size, such as 4KiB"},
    {"--transfer-size", "--block-size, such as 4KiB"},
    {"--iodepth", "--queue-depth"},
    {"--depth", "--queue-depth"},
    {"--numjobs", "--workers"},
    {"--threads", "--workers"},
    {"--jobs", "--workers"},
    {"--size", "--file-size, of each of --files files"},
    {"--filesize", "--file-size"},
    {"--nrfiles", "--files"},
    {"--dirs", "--files-per-folder"},
    {"--directory", "--at DIR for data that is made, or PATH for your own"},
    {"--filename", "PATH, the second word"},
    {"--file", "PATH, the second word"},
    {"--if", "PATH, the second word"},
    {"--runtime", "--budget of all, or --duration of a repetition"},
    {"--time", "--budget of all, or --duration of a repetition"},
    {"--timelimit", "--budget of all, or --duration of a repetition"},
    {"--time-based", "--budget, which ends it by time"},
    {"--loops", "--repeat"},
    {"--iterations", "--repeat"},
    {"--ioengine", "--engine"},
    {"--odirect", "--direct"},
    {"--iflag", "--direct"},
    {"--randseed", "--seed"},
    {"--rw", "the first word: shard_stream, random_read, small_file_read, checkpoint_write"},
    {"--readwrite", "the first word: shard_stream, random_read, small_file_read, checkpoint_write"},
    {"--rand", "the first word: random_read"},
    {"--read", "the first word: shard_stream, random_read or small_file_read"},
    {"--write", "the first word: checkpoint_write"},
    {"--group-reporting", "not needed: workers are reported together"},
    {"--rate-iops", "--rate"},
    {"--livecsv", "--live FILE"},
    {"--bandwidth-log", "--live FILE"},
    {"--write-bw-log", "--live FILE"},
    {"--hostfile", "--hosts"},
    {"--machinefile", "--hosts"},
    {"--nodelist", "--hosts, or -w"},
};

constexpr Translated kWorkloads[] = {
    {" read seqread seq_read seq-read sequential ",
     "shard_stream reads front to back, random_read at random places, "
     "small_file_read whole files"},
    {" randread rand_read rand-read random iops ", "random_read"},
    {" write seqwrite seq_write seq-write randwrite save ", "checkpoint_write"},
    {" small_read smallfile files ", "small_file_read"},
    {" stat mdtest meta ", "metadata, or small_file_read"},
    {" iperf iperf3 tcp network ", "tcp_stream"},
    {" memcpy stream memory ", "memory_copy"},
};

}  // namespace

std::string option_of_other_tools(std::string_view option) {
  std::string name(option);
  std::replace(name.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, name.size())), name.end(), '_', '-');
  for (const Translated& one : kOptions)
    if (one.theirs == name) return fmt::format("; here it is {}", one.ours);
  return "";
}

std::string workload_of_other_tools(std::string_view name) {
  for (const Translated& one : kWorkloads)
    if (one.theirs.find(fmt::format(" {} ", name)) != std::string_view::npos)
      return fmt::format("; here it is {}", one.ours);
  return "";
}

}  // namespace headrace::cli
