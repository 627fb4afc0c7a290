// Connected queue pairs (RC), each with one of another endpoint. Both ends exchange their data, or the kernel's
// connection manager does.
#pragma once

#include <memory>
#include <span>

#include "harness/backends/verbs/endpoint.h"

namespace headrace::verbs {

class ConnectionManager;

class Connections : public Endpoint {
 public:
  Connections(const Device& device, const RdmaPort& port, const RdmaSettings& settings);
  ~Connections() override;
  void connect(const RdmaAddress& other, unsigned first, unsigned others_first, unsigned count) override;
  int post(unsigned queue, std::span<const RdmaWork> work) noexcept override;

 private:
  void connect_one(ibv_qp* queue, const RdmaAddress& other, std::uint32_t number);

  std::unique_ptr<ConnectionManager> manager_;  // nullptr: without; goes before the queue pairs
};

}  // namespace headrace::verbs
