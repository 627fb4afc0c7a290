// librdmacm's functions, found when they are first needed: its library may not be there.
#pragma once

#include <rdma/rdma_cma.h>

#include "harness/backends/library.h"
#include "harness/base/error.h"

namespace headrace::verbs {

struct ManagerLibrary {
  Library library{"librdmacm.so.1"};
  decltype(&::rdma_create_event_channel) create_event_channel = nullptr;
  decltype(&::rdma_destroy_event_channel) destroy_event_channel = nullptr;
  decltype(&::rdma_create_id) create_id = nullptr;
  decltype(&::rdma_destroy_id) destroy_id = nullptr;
  decltype(&::rdma_bind_addr) bind_addr = nullptr;
  decltype(&::rdma_listen) listen = nullptr;
  decltype(&::rdma_get_src_port) get_src_port = nullptr;
  decltype(&::rdma_resolve_addr) resolve_addr = nullptr;
  decltype(&::rdma_resolve_route) resolve_route = nullptr;
  decltype(&::rdma_set_option) set_option = nullptr;
  decltype(&::rdma_connect) connect = nullptr;
  decltype(&::rdma_accept) accept = nullptr;
  decltype(&::rdma_establish) establish = nullptr;
  decltype(&::rdma_init_qp_attr) init_qp_attr = nullptr;
  decltype(&::rdma_get_cm_event) get_cm_event = nullptr;
  decltype(&::rdma_ack_cm_event) ack_cm_event = nullptr;
  decltype(&::rdma_event_str) event_str = nullptr;

  /// Throws Unsupported.
  static const ManagerLibrary& get() {
    static const ManagerLibrary functions;
    if (!functions.library) throw Unsupported("connect: rdma_cm: " + functions.library.why() + " (Debian: librdmacm1)");
    if (!functions.complete)
      throw Unsupported(
          "connect: rdma_cm: librdmacm.so.1 is older than rdma-core 24, which can establish connections "
          "of queue pairs that are not its own");
    return functions;
  }

 private:
  ManagerLibrary() {
    const auto find = [this](const char* name, auto& function) { complete = library.find(name, function) && complete; };
    find("rdma_create_event_channel", create_event_channel);
    find("rdma_destroy_event_channel", destroy_event_channel);
    find("rdma_create_id", create_id);
    find("rdma_destroy_id", destroy_id);
    find("rdma_bind_addr", bind_addr);
    find("rdma_listen", listen);
    find("rdma_get_src_port", get_src_port);
    find("rdma_resolve_addr", resolve_addr);
    find("rdma_resolve_route", resolve_route);
    find("rdma_set_option", set_option);
    find("rdma_connect", connect);
    find("rdma_accept", accept);
    find("rdma_establish", establish);
    find("rdma_init_qp_attr", init_qp_attr);
    find("rdma_get_cm_event", get_cm_event);
    find("rdma_ack_cm_event", ack_cm_event);
    find("rdma_event_str", event_str);
  }
  bool complete = true;
};

}  // namespace headrace::verbs
