// Remarks on points that read a store, next to a need's answer: throttling, concurrency, request sizes, processor time.
#pragma once

#include <span>

#include "harness/judge/verdict/record.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::judging {

/// Was the point's data in an object store?
bool read_objects(const RecordedPoint& point);

/// A store that throttles shows its limit for any client, and not what the network could carry.
void report_throttling(const RecordedPoint& point, Judgement& j);

/// For a rate at `point`: how many requests in flight reach it by the measured latency (D2). Also the size of requests
/// that spends nine tenths of its time on data (D1). Of `points` with the same answer by `metric`, it names the one
/// with the least processor time. Nothing where the data are files.
void report_requests(const RecordedPoint& point, std::span<const RecordedPoint> points, const std::string& metric,
                     Judgement& j);

}  // namespace headrace::judging
