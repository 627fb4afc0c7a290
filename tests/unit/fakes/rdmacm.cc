// A librdmacm.so.1 whose events come at once: what is asked of it is kept in `fake_rdmacm`.
#include "tests/unit/fakes/rdmacm.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED headrace::testing::FakeRdmaCm fake_rdmacm;
headrace::testing::FakeRdmaCm fake_rdmacm;

namespace {
ibv_device device;
ibv_context context;

int call(const char* name) {
  fake_rdmacm.calls.emplace_back(name);
  if (fake_rdmacm.fails != name) return 0;
  errno = ENODEV;
  return -1;
}
void happens(rdma_cm_event_type type, rdma_cm_id* id) { fake_rdmacm.events.push_back({type, id, {}}); }
rdma_cm_id* made() {
  ++fake_rdmacm.made;
  return new rdma_cm_id{};
}
struct Reported {
  rdma_cm_event event{};
  std::vector<unsigned char> word;
};
}  // namespace

EXPORTED rdma_event_channel* rdma_create_event_channel() {
  fake_rdmacm.stranger = made;
  if (call("create_event_channel") != 0) return nullptr;
  ++fake_rdmacm.channels;
  return new rdma_event_channel{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}
EXPORTED void rdma_destroy_event_channel(rdma_event_channel* channel) {
  --fake_rdmacm.channels;
  ::close(channel->fd);
  delete channel;
}
EXPORTED int rdma_create_id(rdma_event_channel*, rdma_cm_id** id, void*, rdma_port_space) {
  if (call("create_id") != 0) return -1;
  *id = made();
  return 0;
}
EXPORTED int rdma_destroy_id(rdma_cm_id* id) {
  ++fake_rdmacm.destroyed;
  delete id;
  return 0;
}
EXPORTED int rdma_bind_addr(rdma_cm_id* id, sockaddr*) {
  if (call("bind_addr") != 0) return -1;
  std::strncpy(device.name, fake_rdmacm.device.c_str(), sizeof device.name - 1);
  context.device = &device;
  id->verbs = fake_rdmacm.device.empty() ? nullptr : &context;
  id->port_num = fake_rdmacm.port;
  return 0;
}
EXPORTED int rdma_listen(rdma_cm_id*, int) { return call("listen"); }
EXPORTED __be16 rdma_get_src_port(rdma_cm_id*) { return htons(4242); }
EXPORTED int rdma_resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr*, int) {
  happens(RDMA_CM_EVENT_ADDR_RESOLVED, id);
  return call("resolve_addr");
}
EXPORTED int rdma_resolve_route(rdma_cm_id* id, int) {
  happens(RDMA_CM_EVENT_ROUTE_RESOLVED, id);
  return call("resolve_route");
}
EXPORTED int rdma_set_option(rdma_cm_id*, int, int, void* value, size_t) {
  fake_rdmacm.services.push_back(*static_cast<std::uint8_t*>(value));
  return call("set_option");
}
EXPORTED int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  fake_rdmacm.asked.push_back(*parameters);
  const auto* word = static_cast<const unsigned char*>(parameters->private_data);
  fake_rdmacm.words.emplace_back(word, word + parameters->private_data_len);
  happens(fake_rdmacm.answer, id);
  return call("connect");
}
EXPORTED int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  fake_rdmacm.accepted.push_back(*parameters);
  happens(RDMA_CM_EVENT_ESTABLISHED, id);
  return call("accept");
}
EXPORTED int rdma_establish(rdma_cm_id*) { return call("establish"); }
EXPORTED int rdma_init_qp_attr(rdma_cm_id*, ibv_qp_attr* attributes, int* mask) {
  // As ib_cm does: a receiver's delay of 0, which stands for 655 ms.
  if (attributes->qp_state == IBV_QPS_RTR) {
    attributes->path_mtu = fake_rdmacm.mtu;
    attributes->min_rnr_timer = 0;
    *mask = IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC;
  } else {
    *mask = IBV_QP_STATE;
  }
  return call("init_qp_attr");
}
EXPORTED int rdma_get_cm_event(rdma_event_channel*, rdma_cm_event** event) {
  if (fake_rdmacm.events.empty()) {
    errno = EAGAIN;
    return -1;
  }
  auto* reported = new Reported;
  reported->event.event = fake_rdmacm.events.front().type;
  reported->event.id = fake_rdmacm.events.front().id;
  reported->word = fake_rdmacm.events.front().word;
  reported->event.param.conn.private_data = reported->word.data();
  reported->event.param.conn.private_data_len = static_cast<std::uint8_t>(reported->word.size());
  fake_rdmacm.events.pop_front();
  ++fake_rdmacm.reported;
  *event = &reported->event;
  return 0;
}
EXPORTED int rdma_ack_cm_event(rdma_cm_event* event) {
  ++fake_rdmacm.acknowledged;
  delete reinterpret_cast<Reported*>(event);
  return 0;
}
EXPORTED const char* rdma_event_str(rdma_cm_event_type) { return "what happened"; }
