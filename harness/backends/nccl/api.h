// The functions of libnccl that headrace calls, found when it runs.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>

namespace headrace::nccl {

/// Filled from the library, or by a test.
struct Api {
  decltype(&::ncclGetVersion) version = nullptr;
  decltype(&::ncclGetUniqueId) unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) init = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclCommGetAsyncError) async_error = nullptr;
  decltype(&::ncclGetErrorString) error_text = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
  // nullptr where this version has none: before 2.19.
  ncclResult_t (*register_buffer)(ncclComm_t, void*, std::size_t, void**) = nullptr;
  ncclResult_t (*deregister_buffer)(ncclComm_t, void*) = nullptr;
  ncclResult_t (*memory)(void**, std::size_t) = nullptr;
  ncclResult_t (*free_memory)(void*) = nullptr;
  // nullptr before 2.27.
  ncclResult_t (*register_window)(ncclComm_t, void*, std::size_t, void**, int) = nullptr;
  ncclResult_t (*deregister_window)(ncclComm_t, void*) = nullptr;
  void (*reset_debug)() = nullptr;  // nullptr where this version has none
};

/// From libnccl.so.2 of LD_LIBRARY_PATH, the system, or the CUDA Toolkit. False, and `why` it cannot be used.
bool load(Api& api, std::string& why);

}  // namespace headrace::nccl
