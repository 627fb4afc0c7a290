// What points that read an object store report beside a need's answer: throttling, concurrency, request sizes, processor time.
#pragma once

#include <span>

#include "harness/judge/verdict/record.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::judging {

/// Was the point's data in an object store?
bool read_objects(const RecordedPoint& point);

/// A store that throttles shows its limit for whoever asks, and not what the way to it could carry.
void report_throttling(const RecordedPoint& point, Judgement& j);

/// Of a rate that `point` answers: how many requests in flight reach it by the latency that was measured (D2), which size of
/// requests spends nine tenths of its time on data (D1), and which of `points`, that answer the same by `metric`, reaches it
/// with the least processor time. Nothing where the data lie in files.
void report_requests(const RecordedPoint& point, std::span<const RecordedPoint> points, const std::string& metric,
                     Judgement& j);

}  // namespace headrace::judging
