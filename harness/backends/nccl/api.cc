#include "harness/backends/nccl/api.h"

#include "harness/backends/library.h"

namespace headrace::nccl {

bool load(Api& api, std::string& why) {
  static const Library library{"libnccl.so.2", "/usr/local/cuda/lib64/libnccl.so.2",
                               "/usr/local/cuda/lib/libnccl.so.2"};
  if (!library) {
    why =
        "libnccl.so.2 not found: install libnccl2, or name its folder in LD_LIBRARY_PATH (training frameworks bring "
        "one along: nvidia/nccl/lib)";
    return false;
  }
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto& function) {
    if (!library.find(name, function) && !missing) missing = name;
  };
  find("ncclGetVersion", api.version);
  find("ncclGetUniqueId", api.unique_id);
  find("ncclCommInitRankConfig", api.init);
  find("ncclCommDestroy", api.destroy);
  find("ncclCommAbort", api.abort);
  find("ncclCommGetAsyncError", api.async_error);
  find("ncclGetErrorString", api.error_text);
  find("ncclGetLastError", api.last_error);
  find("ncclGroupStart", api.group_start);
  find("ncclGroupEnd", api.group_end);
  find("ncclAllReduce", api.all_reduce);
  find("ncclAllGather", api.all_gather);
  find("ncclReduceScatter", api.reduce_scatter);
  find("ncclBroadcast", api.broadcast);
  find("ncclReduce", api.reduce);
  find("ncclSend", api.send);
  find("ncclRecv", api.receive);
  const auto find_both = [&](const char* one, auto& does, const char* other, auto& undoes) {
    if (!library.find(one, does) || !library.find(other, undoes)) does = nullptr;
  };
  find_both("ncclCommRegister", api.register_buffer, "ncclCommDeregister", api.deregister_buffer);
  find_both("ncclMemAlloc", api.memory, "ncclMemFree", api.free_memory);
  find_both("ncclCommWindowRegister", api.register_window, "ncclCommWindowDeregister", api.deregister_window);
  library.find("ncclResetDebugInit", api.reset_debug);
  if (missing) why = std::string("libnccl.so.2 has no ") + missing + ": NCCL 2.18 or later is needed";
  return !missing;
}

}  // namespace headrace::nccl
