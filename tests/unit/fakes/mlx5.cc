// A libmlx5.so.1 of one card that has DC: what is asked of it is kept in `fake_mlx5`.
#include "tests/unit/fakes/mlx5.h"

#include <cerrno>
#include <cstddef>

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED headrace::testing::FakeMlx5 fake_mlx5;
headrace::testing::FakeMlx5 fake_mlx5;

namespace {
mlx5dv_qp_ex targets;
void set_target(mlx5dv_qp_ex*, ibv_ah* way, std::uint32_t number, std::uint64_t key) {
  fake_mlx5.posted.back().way = way;
  fake_mlx5.posted.back().number = number;
  fake_mlx5.posted.back().key = key;
}
}  // namespace

EXPORTED bool mlx5dv_is_supported(ibv_device*) { return fake_mlx5.supported; }
EXPORTED ibv_qp* mlx5dv_create_qp(ibv_context* context, ibv_qp_init_attr_ex* wanted, mlx5dv_qp_init_attr* dynamic) {
  if (fake_mlx5.refuses != 0) return errno = fake_mlx5.refuses, nullptr;
  fake_mlx5.made.push_back({*wanted, *dynamic});
  ibv_qp& queue = fake_mlx5.queues.at(fake_mlx5.made.size() - 1);
  queue.context = context;
  // A target has its number when it has been started, an initiator at once.
  const bool target = dynamic->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT;
  queue.qp_num = target ? 0 : static_cast<std::uint32_t>(300 + fake_mlx5.made.size());
  return &queue;
}
EXPORTED int mlx5dv_query_device(ibv_context*, mlx5dv_context* known) {
  known->comp_mask = fake_mlx5.lag_ports != 0 ? known->comp_mask & MLX5DV_CONTEXT_MASK_NUM_LAG_PORTS : 0;
  known->num_lag_ports = fake_mlx5.lag_ports;
  return 0;
}
EXPORTED int mlx5dv_devx_general_cmd(ibv_context*, const void* in, std::size_t in_length, void* out,
                                     std::size_t out_length) {
  // QUERY_LAG alone, of 16 bytes both ways: the context follows status and syndrome.
  const auto* words = static_cast<const std::uint8_t*>(in);
  if (words[0] != 0x08 || words[1] != 0x42 || in_length != 16 || out_length != 16) return EINVAL;
  static_cast<std::uint8_t*>(out)[10] = fake_mlx5.mode;
  static_cast<std::uint8_t*>(out)[11] = fake_mlx5.lag_state;
  return fake_mlx5.refuses_commands;
}
EXPORTED mlx5dv_qp_ex* mlx5dv_qp_ex_from_ibv_qp_ex(ibv_qp_ex*) {
  targets.wr_set_dc_addr = set_target;
  return &targets;
}
