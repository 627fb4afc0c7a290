// What the tests' libmlx5.so.1 does and has seen: exported by it as `fake_mlx5`.
#pragma once

#include <infiniband/mlx5dv.h>

#include <array>
#include <cstdint>
#include <vector>

namespace headrace::testing {

struct FakeMlx5 {
  bool supported = true;
  int refuses = 0;  // errno of making a queue pair
  struct Made {
    ibv_qp_init_attr_ex wanted;
    mlx5dv_qp_init_attr dynamic;
  };
  std::vector<Made> made;
  std::array<ibv_qp, 16> queues{};
  struct Posted {
    ibv_ah* way = nullptr;
    std::uint32_t number = 0;
    std::uint64_t key = 0;
  };
  std::vector<Posted> posted;
  std::uint8_t lag_ports = 0;            // that the card could bond
  std::uint8_t lag_state = 0, mode = 0;  // as the firmware reports them
  int refuses_commands = 0;              // errno
};

}  // namespace headrace::testing
