// headrace bringup --hosts: real hosts looked at, paired, and judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benches/headrace/verb.h"

namespace headrace::cli {

struct HostsArguments {
  std::string hosts, job, at, out, launch, remote, time = "1s", start = "30s", drain, format = "text";
  std::string node_tests, group_tests;  // "" = the shipped ones, or those of an earlier session
  std::vector<std::string> retest;
  std::optional<std::uint64_t> seed;
  unsigned streams = 4, most_rounds = 20;
  bool no_rdma = false, pairs_only = false, resume = false, dry_run = false, every_link = false, no_report = false;
};

/// That few nodes: each pair is measured, as that takes no longer.
inline constexpr std::size_t kEveryLink = 16;

int bringup_hosts(const HostsArguments& given, const Shared& shared);
/// Prints the record in the folder --out, and measures nothing.
int bringup_again(const HostsArguments& given, const std::string& format, const Shared& shared);

}  // namespace headrace::cli
