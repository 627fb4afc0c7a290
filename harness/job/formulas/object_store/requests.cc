// Requests to an object store: rates, concurrency, prefixes (D1-D5).
#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// D1: w = s / (t0 + s / w1) [B/s]. One stream of requests of s bytes; t0 to the first byte, then
/// w1.
double stream_throughput(double request, double first_byte_latency, double stream_rate) {
  return request / (first_byte_latency + request / stream_rate);
}
const Define<stream_throughput> d1{{
    .id = "D1",
    .name = "stream_throughput",
    .title = "Single-stream throughput",
    .equation = "s / (t0 + s / w1)",
    .unit = "B/s",
    .validity = "One request after another on one connection.",
    .source = "definition",
    .inputs = {Input("request_bytes", "s").above(0),
               {"first_byte_latency_s", "t0"},
               Input("stream_bytes_per_s", "w1").above(0)},
    .example = "request_bytes=130kB first_byte_latency_s=100ms stream_bytes_per_s=87.5MB/s",
}};

/// D2: c = ceil(W * (t0 + s / w1) / s) [count]. Requests that must be in flight to reach W.
double concurrency_required(double target, double request, double first_byte_latency, double stream_rate) {
  return round_up(target * (first_byte_latency + request / stream_rate) / request);
}
const Define<concurrency_required> d2{{
    .id = "D2",
    .name = "concurrency_required",
    .title = "Concurrency (Little's law)",
    .equation = "ceil(W * (t0 + s / w1) / s)",
    .unit = "count",
    .validity = "Steady arrivals; put retries and tail latency as a factor on t0.",
    .source = "Little 1961",
    .inputs = {{"target_bytes_per_s", "W"},
               Input("request_bytes", "s").above(0),
               {"first_byte_latency_s", "t0"},
               Input("stream_bytes_per_s", "w1").above(0)},
    .example = "target_bytes_per_s=2GB/s request_bytes=130kB first_byte_latency_s=100ms "
               "stream_bytes_per_s=87.5MB/s",
}};

/// D3: q = W / s [1/s]. Requests per second.
double object_request_rate(double target, double request) { return target / request; }
const Define<object_request_rate> d3{{
    .id = "D3",
    .name = "object_request_rate",
    .title = "Request rate",
    .equation = "W / s",
    .unit = "1/s",
    .validity = "Every request fetches s bytes.",
    .source = "definition",
    .inputs = {{"target_bytes_per_s", "W"}, Input("request_bytes", "s").above(0)},
    .example = "target_bytes_per_s=2GB/s request_bytes=8MiB",
}};

/// D4: k = ceil(q / q_lim) [count]. Key prefixes over which the requests must be spread.
double prefixes_required(double request_rate, double prefix_limit) { return round_up(request_rate / prefix_limit); }
const Define<prefixes_required> d4{{
    .id = "D4",
    .name = "prefixes_required",
    .title = "Prefix partitions",
    .equation = "ceil(q / q_lim)",
    .unit = "count",
    .validity = "S3: 5500 GET/s and 3500 PUT/s per partitioned prefix; partitioning takes minutes.",
    .source = "AWS",
    .inputs = {{"request_rate_per_s", "q"}, Input("prefix_limit_per_s", "q_lim").above(0)},
    .example = "request_rate_per_s=10240/s prefix_limit_per_s=5500/s",
}};

/// D5: c = ceil(W / w_conn) [count]. Connections by the vendor's rule of thumb.
double connections_rule_of_thumb(double target, double connection_rate) { return round_up(target / connection_rate); }
const Define<connections_rule_of_thumb> d5{{
    .id = "D5",
    .name = "connections_rule_of_thumb",
    .title = "Connections, vendor rule",
    .equation = "ceil(W / w_conn)",
    .unit = "count",
    .validity = "S3 within a region: one connection per 85 to 90 MB/s.",
    .source = "AWS",
    .inputs = {{"target_bytes_per_s", "W"}, Input("connection_bytes_per_s", "w_conn").above(0)},
    .example = "target_bytes_per_s=10Gbit/s connection_bytes_per_s=87.5MB/s",
}};

}  // namespace
}  // namespace headrace::job
