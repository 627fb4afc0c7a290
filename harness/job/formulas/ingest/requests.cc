// Reads, opens and metadata operations per second that the ingest makes (A5-A9).
#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// A5: Q = R * ceil(S / s_io) [1/s]. Read requests when each sample is a file of its own.
double request_rate_file_per_sample(double sample_rate, double sample_bytes, double io_bytes) {
  return sample_rate * round_up(sample_bytes / io_bytes);
}
const Define<request_rate_file_per_sample> a5{{
    .id = "A5",
    .name = "request_rate_file_per_sample",
    .title = "Read requests per second, one file per sample",
    .equation = "R * ceil(S / s_io)",
    .unit = "1/s",
    .validity = "s_io is the request size that the file system really issues (read-ahead, rsize); "
                "no amplification.",
    .source = "definition; DSTALL section 4",
    .inputs = {{"sample_rate_per_s", "R"}, {"sample_bytes", "S"}, Input("io_bytes", "s_io").above(0)},
    .example = "sample_rate_per_s=10240/s sample_bytes=130kB io_bytes=64KiB",
}};

/// A6: Q = W / s_io [1/s]. Read requests when samples are in shards that are read in order.
double request_rate_sharded(double read_rate, double io_bytes) { return read_rate / io_bytes; }
const Define<request_rate_sharded> a6{{
    .id = "A6",
    .name = "request_rate_sharded",
    .title = "Read requests per second, sharded files",
    .equation = "W / s_io",
    .unit = "1/s",
    .validity = "Shards read in order; samples much smaller than a shard.",
    .source = "definition",
    .inputs = {{"read_bytes_per_s", "W"}, Input("io_bytes", "s_io").above(0)},
    .example = "read_bytes_per_s=1.3312GB/s io_bytes=1MiB",
}};

/// A7: O = R / n_f [1/s]. File opens; n_f below 1 when a sample is several files (image and label:
/// 0.5).
double file_open_rate(double sample_rate, double samples_per_file) { return sample_rate / samples_per_file; }
const Define<file_open_rate> a7{{
    .id = "A7",
    .name = "file_open_rate",
    .title = "File opens per second",
    .equation = "R / n_f",
    .unit = "1/s",
    .validity = "Each file is opened once per pass; n_f below 1 when one sample is several files.",
    .source = "definition",
    .inputs = {{"sample_rate_per_s", "R"}, Input("samples_per_file_ratio", "n_f").above(0)},
    .example = "sample_rate_per_s=10240/s samples_per_file_ratio=1251",
}};

/// A8: M = O * m [1/s]. Metadata operations; m of them per open cycle (lookup, open, getattr, close
/// ...).
double metadata_op_rate(double open_rate, double ops_per_open) { return open_rate * ops_per_open; }
const Define<metadata_op_rate> a8{{
    .id = "A8",
    .name = "metadata_op_rate",
    .title = "Metadata operations per second",
    .equation = "O * m",
    .unit = "1/s",
    .validity = "Count m with a trace of system calls or RPCs; 3 to 5 is typical.",
    .source = "derived; to be measured",
    .inputs = {{"file_open_rate_per_s", "O"}, {"ops_per_open_count", "m"}},
    .example = "file_open_rate_per_s=10240/s ops_per_open_count=4",
}};

/// A9: t = F * t_op / c [s]. Time to list, stat or open F files with c operations in flight.
double metadata_scan_time(double files, double op_latency, double concurrency) {
  return files * op_latency / concurrency;
}
const Define<metadata_scan_time> a9{{
    .id = "A9",
    .name = "metadata_scan_time",
    .title = "Metadata scan time",
    .equation = "F * t_op / c",
    .unit = "s",
    .validity = "The metadata server is not saturated by c operations in flight.",
    .source = "Little's law",
    .inputs = {{"files_count", "F"}, {"op_latency_s", "t_op"}, Input("concurrency_count", "c").above(0)},
    .example = "files_count=1e6 op_latency_s=1ms concurrency_count=32",
}};

}  // namespace
}  // namespace headrace::job
