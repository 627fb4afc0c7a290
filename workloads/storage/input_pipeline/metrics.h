// What input_pipeline reports.
#pragma once

#include <array>

#include "harness/workload/workload.h"
#include "workloads/storage/object_metrics.h"

namespace headrace::input_pipeline {

inline constexpr auto kMetrics = with_object_metrics(std::array{
    Metric{"accelerator_utilization", "ratio", Better::higher,
           "Nominal compute time over the total, the first step left out (A21)"},
    Metric{"accelerator_utilization_low", "ratio", Better::higher,
           "Lower end of its 95 % bounds over windows of the steps"},
    Metric{"accelerator_utilization_high", "ratio", Better::higher, "Upper end"},
    Metric{"wall_clock_utilization", "ratio", Better::higher,
           "Compute time over the wall clock of an epoch (epoch_steps) that begins with the wait for the first step "
           "(A27)"},
    Metric{"dlio_utilization", "ratio", Better::higher,
           "As DLIO counts it: the measured sleep over the total, both without the first step"},
    Metric{"ideal_share", "ratio", Better::higher,
           "Samples per second, the first step included, over those of GPUs that never wait"},
    Metric{"stall_fraction", "ratio", Better::lower, "Share of the time in which GPUs wait for data"},
    Metric{"host_fraction", "ratio", Better::lower, "Share of the time in which GPUs wait for a host that is late"},
    Metric{"copy_fraction", "ratio", Better::lower,
           "Share of the time in which GPUs wait for copies of batches to them (gpu_copy)"},
    Metric{"copy_time_s", "s", Better::lower, "Device time of a batch's copy, the mean"},
    Metric{"sample_rate", "1/s", Better::higher,
           "Samples per second that the GPUs take, once the pipeline is filled; without a step, that workers read and "
           "decode"},
    Metric{"read_bandwidth", "B/s", Better::higher, "Bytes read per second"},
    Metric{"queue_occupancy", "ratio", Better::neither,
           "Batches that are ready when a step begins, as a share of those that can be"},
    Metric{"reading_share", "ratio", Better::neither, "Share of the workers' time in reads"},
    Metric{"decoding_share", "ratio", Better::neither, "Share of the workers' time in decoding"},
    Metric{"waiting_share", "ratio", Better::neither,
           "Share of the workers' time with nothing to do: they are far enough ahead"},
    Metric{"taking_share", "ratio", Better::neither,
           "Share of the time in which the GPUs' own processes are busy taking batches (cpu_time_per_batch)"},
    Metric{"decode_time_s", "s", Better::lower, "Time to decode one sample, waiting for a processor included"},
    Metric{"decode_headroom", "ratio", Better::higher,
           "How many times as long decoding a sample may take until workers or processors are used up"},
    Metric{"steps", "count", Better::neither, "Steps after the first"},
    Metric{"first_step_wait_s", "s", Better::lower,
           "How long GPUs waited for the first step's data: the pipeline is empty, and shuffle buffers are filled"},
    Metric{"shuffle_held_bytes", "B", Better::lower, "Most bytes that the shuffle buffers of all workers held"},
    Metric{"utilization_without_saves", "ratio", Better::higher,
           "As accelerator_utilization, of a pipeline whose checkpoints were left out"},
    Metric{"save_fraction", "ratio", Better::lower, "Share of the time in which GPUs pause for a checkpoint"},
    Metric{"saves", "count", Better::neither, "Checkpoints that became durable"},
    Metric{"time_to_durable_s", "s", Better::lower, "From the begin of a checkpoint until it is durable, the mean"},
    Metric{"others_fraction", "ratio", Better::lower,
           "Of several nodes: share of the time in which GPUs wait for other nodes after a step, as the mean of all "
           "nodes but the one that waits least"},
    Metric{"least_others_fraction", "ratio", Better::neither, "The same of the node that waits least"},
    Metric{"bad_samples", "count", Better::lower,
           "Samples and shards of one's own that could not be used, and were passed over"},
    Metric{"stalled_reads", "count", Better::lower, "Samples that were waited for longer than stalled_after"},
    Metric{"longest_read_s", "s", Better::lower, "The longest that a worker waited for one sample"},
    Metric{"idle_workers", "count", Better::lower, "Workers that no shard of one's own was left for"},
});

}  // namespace headrace::input_pipeline
