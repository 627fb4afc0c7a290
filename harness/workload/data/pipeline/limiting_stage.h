// Which stage of an input pipeline limits it, by where its time went.
#pragma once

#include <string_view>

namespace headrace::pipeline {

/// Shares of time, 0 to 1.
struct StageTimes {
  double stall = 0;     // of the GPUs', waiting for data
  double host = 0;      // of the GPUs', waiting for a late host
  double reading = 0;   // of the workers', in reads
  double decoding = 0;  // of the workers', decoding or waiting for a processor to do so
};

enum class Stage { gpus, host, storage, decoding };
constexpr std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::gpus:
      return "gpus";
    case Stage::host:
      return "host";
    case Stage::storage:
      return "storage";
    case Stage::decoding:
      return "decoding";
  }
  return "";
}

/// GPUs that wait for less than this share limit the pipeline themselves.
inline constexpr double kNoStall = 0.05;

/// GPUs that hardly wait limit; else the stage that they wait for: a late host, or the workers' longest stage. A rule
/// of thumb, which counter-experiments have to prove.
constexpr Stage limiting_stage(const StageTimes& times) {
  if (times.stall + times.host < kNoStall) return Stage::gpus;
  if (times.host > times.stall) return Stage::host;
  return times.reading > times.decoding ? Stage::storage : Stage::decoding;
}

}  // namespace headrace::pipeline
