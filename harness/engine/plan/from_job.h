// The points of a job: its loader, saves and network on this node, and variants that might be faster.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/engine/plan/benchmark/rules.h"
#include "harness/job/job.h"

namespace headrace {

/// The means to measure a job.
struct Means {
  std::uint64_t space = 0;     // that generated data may take [B]
  double save_space = 0;       // of a rehearsal: that one checkpoint of all ranks here may take [B]
  std::uint64_t memory = 0;    // that an asynchronous save's copies may take [B]
  double budget_s = 300;       // of the whole run: making data and measuring
  std::string data;            // a data set that is there already, read only; "" = one is generated
  std::string no_tables;       // why Parquet files cannot be read as such; "" = they can
  bool root = false;           // may drop names and attributes from memory
  bool gpus = false;           // a GPU answers here
  bool copies = false;         // of a rehearsal: batches are copied to it
  bool ranks = false;          // other processes take part
  double processes = 1;        // that rehearse together, a node each
  std::string rules;           // of a benchmark, by which it is rehearsed; "" = none
  double host_memory = 0;      // of this node [B]
  bool makes_objects = false;  // new data goes to an object store
  bool tune = false;           // a rehearsal tries other numbers of workers, too
  bool own_batches = false;    // batches are as large as the job's, however few there are
};

inline constexpr unsigned kMostWorkers = 1024;  // that a workload of storage takes

struct FromJob {
  config::Value workloads;  // entries of a configuration, the job's own ways first
  /// For each of them, the parts smaller than the job's, and what that leaves unproven; a sentence each.
  std::vector<std::vector<std::string>> unproven;
  std::vector<std::string> remarks;            // the parts left out, and why
  std::map<std::string, std::string> no_room;  // "ingest", "checkpoint": the job's own ways that lack room, and why
  std::vector<RuleCheck> rules;                // of a rehearsal by a benchmark's rules: those that the plan keeps
};

/// As configurations write dataset.codec.
const char* codec_word(const job::Job::Dataset& data);

/// Points of the job on one of its nodes. Each of its needs that can be measured with these means has a point like the
/// job, labelled `job`. The others, with labels of their own, only serve advice. Points that do not fit are made
/// smaller or left out, and reported.
FromJob points_from_job(const job::Job& job, const Means& means);

}  // namespace headrace
