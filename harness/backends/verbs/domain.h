// The owner of libibverbs' objects: an open device, its protection domain, memory registered there.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "harness/backends/rdma.h"
#include "harness/backends/verbs/ports.h"

namespace headrace::verbs {

/// Old cards refuse to write where the owner may not: this process must be able to write it, too.
inline constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

struct Release {
  void operator()(ibv_pd* p) const { ibv_dealloc_pd(p); }
  void operator()(ibv_cq* p) const { ibv_destroy_cq(p); }
  void operator()(ibv_qp* p) const { ibv_destroy_qp(p); }
  void operator()(ibv_mr* p) const { ibv_dereg_mr(p); }
};
template <class T>
using Held = std::unique_ptr<T, Release>;

/// Must outlive the memory that is registered with it.
struct Domain {
  Device device;
  Held<ibv_pd> pd;
  std::uint64_t enrolled = 0;  // bytes
};

class Memory final : public RdmaMemory {
 public:
  Memory(std::shared_ptr<Domain> domain, ibv_mr* region)
      : domain_(std::move(domain)), region_(region), length_(region->length) {
    local_key_ = region->lkey;
    remote_key_ = region->rkey;
    domain_->enrolled += length_;
  }
  ~Memory() override { domain_->enrolled -= length_; }

 private:
  std::shared_ptr<Domain> domain_;
  Held<ibv_mr> region_;
  std::uint64_t length_;
};

}  // namespace headrace::verbs
