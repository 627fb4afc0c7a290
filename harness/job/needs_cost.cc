// The cost of waiting, requests and stored bytes, from the job's prices.
#include "harness/job/need_list.h"

namespace headrace::job {

void add_cost_needs(const Job& job, NeedList& needs) {
  if (needs.have({"cost.reclaimable"}, {"step.utilization"}))
    needs.add("cost.reclaimable", Scope::cluster,
              Derivation("A25", {{"au_before_ratio", *job.step.utilization},
                                 {"au_after_ratio", job.step.target_utilization}}));
  if (needs.have({"cost.starvation_rate", "cost.starvation_total"}, {"step.utilization", "cluster.gpu_price"})) {
    const NamedValue gpus{"gpus_count", job.cluster.gpus()}, price{"gpu_price_usd_per_h", *job.cluster.gpu_price},
        au{"au_ratio", *job.step.utilization};
    needs.add("cost.starvation_rate", Scope::cluster, Derivation("A23", {gpus, price, au}));
    if (needs.have({"cost.starvation_total"}, {"cluster.run_time"}))
      needs.add("cost.starvation_total", Scope::cluster,
                Derivation("A24", {gpus, price, {"stall_free_time_h", *job.cluster.run_time / 3600}, au}));
  }
  if (!needs.have({"cost.requests_per_epoch", "cost.capacity"}, {"object_store.first_byte_latency", "dataset.samples"}))
    return;
  const Job::ObjectStore& store = *job.object_store;
  const Job::Dataset& data = job.dataset;
  const double dataset = *data.samples * data.stored_size();
  if (needs.have({"cost.requests_per_epoch"}, {"object_store.request_price"}))
    needs.add(
        "cost.requests_per_epoch", Scope::cluster,
        Derivation("D8", {{"dataset_bytes", dataset},
                          {"request_bytes", store.request_size.value_or(
                                                data.layout == Layout::files ? data.sample_size : data.request_size)},
                          {"price_usd_per_1000_requests", *store.request_price}}));
  if (needs.have({"cost.capacity"}, {"object_store.capacity_price"})) {
    Applied cost;
    cost.formula = find_formula("D9");
    cost.arguments = {{dataset / 1e9, {}}, {}, {0, {*store.capacity_price}}};  // one tier, no limit
    cost.result = evaluate(*cost.formula, cost.arguments);
    needs.add("cost.capacity", Scope::cluster, Derivation(std::move(cost)));
  }
}

}  // namespace headrace::job
