// A workload's parameters: declared and read in one place, checked, described. They are the schema.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"

namespace headrace {

/// A resolved parameter as run files keep it: bool, integer count or bytes, seconds or ratio, text.
using ParamValue = std::variant<bool, std::uint64_t, double, std::string>;

/// Allowed range of a number.
struct Limits {
  double min = 0;
  double max = 1e300;
  std::uint64_t multiple_of = 1;  // bytes and counts only
};

/// How much of a metric one operation gives: {"read_bandwidth", 4096}; of another workload's, with
/// its name: {"small_file_read.open_rate", 1}.
struct PerOperation {
  std::string_view metric;
  double amount = 1;
};

/// Everything known of one declared parameter; `headrace list WORKLOAD` prints it.
struct ParamInfo {
  std::string name;
  std::string type;      // "bytes", "count", "time", "ratio", "rate", "bandwidth", "choice", "flag", "path", "text"
  std::string fallback;  // the default as the user would write it; "" = required or none
  std::string allowed;   // "512B..1GiB, multiple of 512B", "posix | io_uring"
  std::string help;
};

/// Reads one point's parameters. The constructor of a workload asks for each exactly once: name, default, range, help.
/// Problems are collected, never thrown, so that all of a file's problems are reported at once. A wrong value reads as
/// its default. After construction, engine code calls finish(), which reports every unused key, with the nearest known
/// name. A number whose fallback is below its limits has no default: "not given".
class Params {
 public:
  /// `entry` is a map of scalars (sweeps are expanded before). `owner` is the workload's name, for messages. `needed`:
  /// the job's need on each node, for each metric that measures such a need ("random_read.read_iops") [SI]. Nullptr =
  /// there is no job. `makes_objects`: the workload's own data is put into an object store.
  Params(std::string owner, const config::Value& entry, Diagnostics& problems,
         const std::map<std::string, double>* needed = nullptr, bool makes_objects = false);

  std::uint64_t bytes(std::string_view name, std::uint64_t fallback, Limits limits, std::string_view help);
  std::uint64_t count(std::string_view name, std::uint64_t fallback, Limits limits, std::string_view help);
  double seconds(std::string_view name, double fallback, Limits limits, std::string_view help);
  double ratio(std::string_view name, double fallback, Limits limits, std::string_view help);
  /// A rate [1/s]. With `need`, the word `need` is the rate of operations that the job needs. Each of them counts these
  /// amounts of this workload's metrics.
  double rate(std::string_view name, double fallback, Limits limits, std::string_view help,
              std::span<const PerOperation> need = {});
  /// Bytes per second: "400Gbit/s", "2GB/s".
  double bandwidth(std::string_view name, double fallback, Limits limits, std::string_view help);
  bool flag(std::string_view name, bool fallback, std::string_view help);
  std::string choice(std::string_view name, std::string_view fallback, std::vector<std::string> allowed,
                     std::string_view help);
  /// A path as written, made absolute against the working directory; "" when not given. Existence
  /// is not checked. `objects`: may it lead into an object store (s3://bucket/prefix)?
  std::string path(std::string_view name, std::string_view help, bool objects = false);
  /// Is there such a path, before it is asked for? One that is not given leads to where data is made.
  bool leads_to_objects(std::string_view name) const;
  bool makes_objects() const { return makes_objects_; }
  std::string text(std::string_view name, std::string_view fallback, std::string_view help);

  /// Was the key written by the user?
  bool given(std::string_view name) const;
  /// A combination that cannot be: reported at `name`'s place (or the entry's, if it was not
  /// written).
  void conflict(std::string_view name, std::string_view why);
  /// Reports unknown keys. Called once, after the workload's constructor. `common` are keys of every workload that were
  /// taken out of the entry before. They are offered as the nearest name, too.
  void finish(const std::vector<std::string>& common = {});

  const std::vector<ParamInfo>& declared() const { return declared_; }
  /// Name -> resolved value, defaults included: the full parameters that comparisons join on.
  const std::map<std::string, ParamValue>& resolved() const { return resolved_; }
  /// Name -> value as a user would write it, defaults included, as in config.resolved.yaml.
  const std::map<std::string, std::string>& written() const { return written_; }

 private:
  const config::Value* find(std::string_view name) const;
  Location place(std::string_view name) const;
  void problem(std::string_view name, const std::string& why);
  double number(std::string_view name, Dimension dimension, double fallback, const Limits& limits,
                std::string_view help, bool whole, std::string_view also = "");
  /// The rate that the job needs; a problem when there is none.
  double needed_rate(std::string_view name, double fallback, std::span<const PerOperation> need);

  std::string owner_;
  const config::Value& entry_;
  Diagnostics& problems_;
  const std::map<std::string, double>* needed_;
  bool makes_objects_;
  std::vector<ParamInfo> declared_;
  std::map<std::string, ParamValue> resolved_;
  std::map<std::string, std::string> written_;
};

}  // namespace headrace
