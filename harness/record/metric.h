// A metric's name, unit and direction, declared once by the workload that measures it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

enum class Better { higher, lower, neither };

/// One entry of the catalogue. `name` is snake_case and clear by itself ("read_bandwidth"); the unit is SI ("B/s").
struct Metric {
  std::string_view name;
  std::string_view unit;
  Better better = Better::higher;
  std::string_view description;
  bool per_device = false;  // also reported for each of Workload::devices(), as device_metric()
  bool of_a_line = false;   // a rate on networks' lines, which are reported in bit/s: shown in both
};

/// "bandwidth_gpu0": a metric of one device.
inline std::string device_metric(std::string_view name, std::string_view device) {
  return std::string(name) + "_" + std::string(device);
}

/// One measured value of one repetition.
struct MetricValue {
  std::string name;
  double value = 0;
  double seconds = 0;  // of a rate: how long it is the rate of; 0 = all phases of the repetition
};

/// Where a workload puts its values. Each name must be in its catalogue; a non-finite value is our own bug (abort).
class MetricSink {
 public:
  virtual ~MetricSink() = default;
  /// `seconds`: of a rate of one phase of several, that phase's time.
  virtual void put(std::string_view name, double value, double seconds = 0) = 0;
};

}  // namespace headrace
