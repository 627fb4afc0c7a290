// What the tests' librdmacm.so.1 does and has seen: exported by it as `fake_rdmacm`.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace headrace::testing {

struct FakeRdmaCm {
  std::string device = "mlx5_0";  // that addresses lead to; "" = to none
  std::uint8_t port = 1;
  rdma_cm_event_type answer = RDMA_CM_EVENT_CONNECT_RESPONSE;  // to who asks for a connection
  std::string fails;                                           // the call that fails
  ibv_mtu mtu = IBV_MTU_1024;                                  // of the route that is found

  int made = 0, destroyed = 0, channels = 0;  // identifiers; channels that live
  int reported = 0, acknowledged = 0;         // events
  std::vector<std::string> calls;             // in their order
  std::vector<rdma_conn_param> asked, accepted;
  std::vector<std::uint8_t> services;             // types of service that were set
  std::vector<std::vector<unsigned char>> words;  // private data of who asked

  /// What happens next.
  struct Event {
    rdma_cm_event_type type;
    rdma_cm_id* id;
    std::vector<unsigned char> word{};
  };
  std::deque<Event> events;
  rdma_cm_id* (*stranger)() = nullptr;  // makes an identifier as the kernel does of who asks
};

}  // namespace headrace::testing
