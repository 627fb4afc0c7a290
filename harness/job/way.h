// How a job reads its data and saves its state, and how a measurement differs from that.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/job/job.h"

namespace headrace::job {

/// The properties of a job that decide whether a measured point predicts it.
struct Way {
  std::string layout;        // as the job's keys have it: "files"
  std::string loader;        // loader.kind: "pytorch"
  std::string read_profile;  // "whole"
  double file_size = 0;      // bytes of one file of the data set
  double sample_size = 0;    // bytes
  double request_size = 0;   // bytes of one read
  double workers = 0;        // that read on one node; 0 = not given
  double savers = 1;         // ranks of one node that save and restore
  bool async = false;        // saves behind the step
  std::string data;          // the place of its data: "files", "objects"; "" = not given

  bool operator==(const Way&) const = default;
};
Way way_of(const Job& job);

/// A point's parameters as run.json has them: {"workers", "8"}.
using Settings = std::map<std::string, std::string>;
/// One of them; "" and 0 when there is none.
std::string setting(const Settings& settings, std::string_view key);
double setting_number(const Settings& settings, std::string_view key);

/// How a measured point differs from the job.
struct Likeness {
  /// It moved similar data: files or reads of the job's size, from a file system or an object store. Any other
  /// point is no evidence for the job.
  bool answers = true;
  std::string why_not;               // why it does not answer: "moved files or requests of another size than the job's"
  bool has_way = false;              // it reads or saves: the job has a way of doing that
  double distance = 0;               // of settings; 0 = as the job does it
  std::vector<std::string> differs;  // "32 reading workers per node, the job has 64"
  /// More, or less, worked at once than in the job. More cannot show that the job is fed; less cannot show that it
  /// starves.
  bool more = false, less = false;

  /// Nothing differs that counts: its answer is the job's own.
  bool is_as_job() const { return has_way && differs.empty(); }
};

/// Did a point with these settings read objects of a store?
bool reads_objects(const Settings& settings);

/// `metric` of a point of `workload` with these settings. Sizes are alike within a tenth, as file sizes are means;
/// workers within a quarter.
Likeness likeness(const Way& way, std::string_view workload, std::string_view metric, const Settings& settings);

/// For two points with the same metric: does `a` report more of the job than `b`? The one that is more like it does.
/// Among equally like ones the lower one, as the job may choose the worse. Among points that neither read nor save, the
/// higher one. `gave_a` and `gave_b` are in units in which more is better.
bool says_more(const Likeness& a, double gave_a, const Likeness& b, double gave_b);

/// "64 blocking workers, whole files": how a point read or saved; "" for a point that does neither.
std::string describe_method(const Way& way, std::string_view workload, const Settings& settings);

/// Parameters with which `workload` would be like the job: "file_size: 130kB, workers: 64".
std::string settings_of(const Way& way, std::string_view workload);

}  // namespace headrace::job
