// The host as a whole: memory traffic and the slowest stage (B11-B12).
#include <algorithm>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// B11: W = R * (2 * S + 6 * S_d) [B/s]. Traffic on DRAM: the stored bytes are written by DMA and read once. The
/// decoder writes the decoded ones, collation reads and writes them, pinning reads and writes them, DMA reads them.
double host_memory_traffic(double sample_rate, double sample_bytes, double decoded) {
  return sample_rate * (2 * sample_bytes + 6 * decoded);
}
const Define<host_memory_traffic> b11{{
    .id = "B11",
    .name = "host_memory_traffic",
    .title = "Host memory traffic",
    .equation = "R * (2 * S + 6 * S_d)",
    .unit = "B/s",
    .validity = "A model of a loader with pinning; GPUDirect Storage removes the S terms and the "
                "pinned copy.",
    .source = "derived",
    .inputs = {{"sample_rate_per_s", "R"}, {"sample_bytes", "S"}, {"decoded_sample_bytes", "S_d"}},
    .example = "sample_rate_per_s=10240/s sample_bytes=130kB decoded_sample_bytes=602112B",
}};

/// B12: R = min(F, P, H, G) [1/s]. A full pipeline runs at the rate of its slowest stage.
double pipeline_throughput(double fetch, double prep, double h2d, double gpu) {
  return std::min({fetch, prep, h2d, gpu});
}
const Define<pipeline_throughput> b12{{
    .id = "B12",
    .name = "pipeline_throughput",
    .title = "Pipeline throughput",
    .equation = "min(F, P, H, G)",
    .unit = "1/s",
    .validity = "All stages run at once and are kept full; published predictions were within 4 %.",
    .source = "DSTALL section 5",
    .inputs = {{"fetch_per_s", "F"}, {"prep_per_s", "P"}, {"h2d_per_s", "H"}, {"gpu_per_s", "G"}},
    .example = "fetch_per_s=15000/s prep_per_s=8000/s h2d_per_s=92000/s gpu_per_s=10240/s",
}};

}  // namespace
}  // namespace headrace::job
