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
  if (!library.find("ncclCommRegister", api.register_buffer) ||
      !library.find("ncclCommDeregister", api.deregister_buffer))
    api.register_buffer = nullptr;
  library.find("ncclResetDebugInit", api.reset_debug);
  if (missing) why = std::string("libnccl.so.2 has no ") + missing + ": NCCL 2.18 or later is needed";
  return !missing;
}

}  // namespace headrace::nccl
