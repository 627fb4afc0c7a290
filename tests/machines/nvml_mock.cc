#include "tests/machines/nvml_mock.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kSuccess = 0, kInvalid = 2, kNotSupported = 3, kNotFound = 6, kTooSmall = 7, kTimeout = 10,
              kGpuIsLost = 15;

std::vector<NvmlMockGpu> gpus;
std::vector<bool> watched;

NvmlMockGpu* of(void* device) {
  for (NvmlMockGpu& gpu : gpus)
    if (&gpu == device) return &gpu;
  return nullptr;
}

int put(void* device, unsigned* to, unsigned NvmlMockGpu::*member) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu) return kInvalid;
  if (gpu->*member == 0) return kNotSupported;
  *to = gpu->*member;
  return kSuccess;
}

struct Utilization {
  unsigned gpu, memory;
};

struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(Process) == 24, "nvmlProcessInfo_t");

struct ProcessSample {
  unsigned pid;
  unsigned long long time_us;
  unsigned multiprocessors, memory, encoder, decoder;
};
static_assert(sizeof(ProcessSample) == 32, "nvmlProcessUtilizationSample_t");

/// What a program was reported by its environment.
void read_file() {
  const char* const path = std::getenv("NVML_MOCK_FILE");
  if (path == nullptr) return;
  static char address[32];
  static std::vector<NvmlMockUser> users;
  static NvmlMockGpu one;
  std::FILE* const file = std::fopen(path, "r");
  users.clear();
  if (file != nullptr) {
    if (std::fscanf(file, "%31s %u %u", address, &one.busy, &one.memory_busy) != 3) one.busy = one.memory_busy = 0;
    for (NvmlMockUser user; std::fscanf(file, "%u %llu %u", &user.pid, &user.memory, &user.busy) == 3;)
      users.push_back(user);
    std::fclose(file);
  }
  one.pci_address = address;
  one.users = static_cast<unsigned>(users.size());
  one.user = users.data();
  if (gpus.empty())
    nvml_mock_set(&one, 1);
  else
    gpus.front() = one;
}

struct FieldValue {
  unsigned id, scope;
  long long timestamp, latency_us;
  int type, code;
  union {
    double real;
    unsigned whole;
    unsigned long long large;
  } value;
};
static_assert(sizeof(FieldValue) == 40, "nvmlFieldValue_t");

struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
};
static_assert(sizeof(PciInfo) == 68, "nvmlPciInfo_t");

/// As NVML writes it: a domain of eight digits, letters in upper case.
void write_address(const char* address, PciInfo* info) {
  char text[32];
  std::snprintf(text, sizeof text, "0000%s", address);
  for (char& c : text)
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  std::memcpy(info->address, text, sizeof text);
}

struct FabricInfo {
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};
static_assert(sizeof(FabricInfo) == 28, "nvmlGpuFabricInfo_t");

struct FabricInfo2 {
  unsigned version;
  FabricInfo info;  // its last three bytes are padding in either
  unsigned health;
};
static_assert(sizeof(FabricInfo2) == 36, "nvmlGpuFabricInfo_v2_t");

struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(Event) == 32, "nvmlEventData_t");

}  // namespace

extern "C" {

void nvml_mock_set(const NvmlMockGpu* all, unsigned count) {
  gpus.assign(all, all + count);
  watched.assign(count, false);
}

int nvmlInit_v2() {
  const char* const code = std::getenv("NVML_MOCK_INIT");
  return read_file(), code == nullptr ? kSuccess : std::atoi(code);
}
int nvmlSystemGetNVMLVersion(char* to, unsigned size) { return std::snprintf(to, size, "13.580.82.07"), kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) { return *count = static_cast<unsigned>(gpus.size()), kSuccess; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= gpus.size()) return kInvalid;
  return gpus[index].lost ? kGpuIsLost : (*device = &gpus[index], kSuccess);
}
int nvmlDeviceGetName(void* device, char* to, unsigned size) {
  return of(device) ? (std::snprintf(to, size, "NVIDIA H100 80GB HBM3"), kSuccess) : kInvalid;
}
int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  const NvmlMockGpu* gpu = of(device);
  return gpu ? (write_address(gpu->pci_address, info), kSuccess) : kInvalid;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilization* to) {
  read_file();
  const NvmlMockGpu* gpu = of(device);
  if (!gpu) return kInvalid;
  if (gpu->busy + gpu->memory_busy == 0) return kNotSupported;
  *to = {gpu->busy, gpu->memory_busy};
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* to) {
  read_file();
  const NvmlMockGpu* gpu = of(device);
  if (!gpu) return kInvalid;
  if (*count < gpu->users) return *count = gpu->users, kTooSmall;
  *count = gpu->users;
  for (unsigned i = 0; i < gpu->users; ++i) to[i] = {gpu->user[i].pid, gpu->user[i].memory, ~0u, ~0u};
  return kSuccess;
}
int nvmlDeviceGetProcessUtilization(void* device, ProcessSample* to, unsigned* count, unsigned long long since_us) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu) return kInvalid;
  unsigned reported = 0;
  for (unsigned i = 0; i < gpu->users; ++i) reported += gpu->user[i].busy > 0;
  if (reported == 0) return kNotFound;
  if (*count < reported) return *count = reported, kTooSmall;
  *count = 0;
  for (unsigned i = 0; i < gpu->users; ++i)
    if (gpu->user[i].busy > 0) to[(*count)++] = {gpu->user[i].pid, since_us + 1, gpu->user[i].busy, 0, 0, 0};
  return kSuccess;
}
int nvmlSystemGetDriverVersion(char* to, unsigned size) {
  std::snprintf(to, size, "580.65.06");
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  for (NvmlMockGpu& gpu : gpus)
    if (std::strcmp(gpu.pci_address, address) == 0) return *device = &gpu, kSuccess;
  return kNotFound;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* d, unsigned* to) { return put(d, to, &NvmlMockGpu::generation); }
int nvmlDeviceGetCurrPcieLinkWidth(void* d, unsigned* to) { return put(d, to, &NvmlMockGpu::width); }
int nvmlDeviceGetMaxPcieLinkGeneration(void* d, unsigned* to) { return put(d, to, &NvmlMockGpu::most_generation); }
int nvmlDeviceGetMaxPcieLinkWidth(void* d, unsigned* to) { return put(d, to, &NvmlMockGpu::most_width); }
int nvmlDeviceGetGpuMaxPcieLinkGeneration(void* d, unsigned* to) { return put(d, to, &NvmlMockGpu::own_generation); }
int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* later) {
  const NvmlMockGpu* gpu = of(device);
  return gpu ? (*now = *later = gpu->mig, kSuccess) : kInvalid;
}
int nvmlDeviceGetComputeMode(void* device, int* mode) {
  const NvmlMockGpu* gpu = of(device);
  return gpu ? (*mode = gpu->compute_mode, kSuccess) : kInvalid;
}
int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* to) {
  const NvmlMockGpu* gpu = of(device);
  return gpu ? (*to = gpu->throttle, kSuccess) : kInvalid;
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, int* active) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu || link >= gpu->nvlinks) return kInvalid;
  *active = link < gpu->nvlinks_up;
  return kSuccess;
}
int nvmlDeviceGetNvLinkVersion(void* device, unsigned link, unsigned* version) {
  const NvmlMockGpu* gpu = of(device);
  return gpu && link < gpu->nvlinks_up ? (*version = gpu->nvlink_version, kSuccess) : kInvalid;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, unsigned* type) {
  const NvmlMockGpu* gpu = of(device);
  return gpu && link < gpu->nvlinks_up ? (*type = gpu->end_type, kSuccess) : kInvalid;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, PciInfo* info) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu || link >= gpu->nvlinks_up) return kInvalid;
  if (gpu->ends == nullptr) return kNotSupported;
  write_address(gpu->ends[link], info);
  return kSuccess;
}
int nvmlDeviceGetNvLinkErrorCounter(void* device, unsigned link, int kind, unsigned long long* count) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu || link >= gpu->nvlinks_up) return kInvalid;
  if (gpu->symbol_errors) return kNotSupported;
  *count = link == 0 && kind == 2 ? gpu->link_errors : 0;
  return kSuccess;
}
int nvmlDeviceGetGpuFabricInfoV(void* device, FabricInfo2* to) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu || to->version != (sizeof *to | 2u << 24)) return kInvalid;
  to->info.state = gpu->fabric;
  to->info.status = gpu->fabric_status;
  to->health = gpu->fabric_health;
  to->info.clique = gpu->clique;
  std::memset(to->info.cluster, gpu->cluster, sizeof to->info.cluster);
  return kSuccess;
}
int nvmlDeviceGetTemperature(void* device, int, unsigned* to) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu) return kInvalid;
  return gpu->lost ? kGpuIsLost : (*to = 40, kSuccess);
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                              unsigned* failed) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu) return kInvalid;
  *corrected = 0;
  *uncorrected = gpu->remapped;
  *pending = gpu->remap_pending;
  *failed = gpu->remap_failed;
  return kSuccess;
}
int nvmlDeviceGetFieldValues(void* device, int count, FieldValue* values) {
  const NvmlMockGpu* gpu = of(device);
  if (!gpu) return kInvalid;
  for (FieldValue* v = values; v != values + count; ++v) {
    v->type = 1;  // unsigned int
    v->code = kSuccess;
    switch (v->id) {
      case 90:
        v->value.whole = gpu->nvlink_mbps;
        v->code = gpu->nvlink_mbps == 0 ? kNotSupported : kSuccess;
        break;
      case 170:
        v->value.whole = gpu->c2c;
        v->code = gpu->c2c == 0 ? kNotSupported : kSuccess;
        break;
      case 171:
        v->value.whole = v->scope < gpu->c2c_up;
        break;
      case 172:
        v->value.whole = gpu->c2c_mbps;
        v->code = v->scope < gpu->c2c_up ? kSuccess : kInvalid;
        break;
      case 221:
        v->type = 3;  // unsigned long long
        v->code = gpu->symbol_errors && v->scope < gpu->nvlinks_up ? kSuccess : kNotSupported;
        if (v->code == kSuccess) v->value.large = gpu->symbol_errors[v->scope];
        break;
      case 215:
        v->code = gpu->blackwell && v->scope < gpu->nvlinks ? kSuccess : kNotSupported;
        v->value.whole = v->scope == 0 ? gpu->recoveries : 0;
        break;
      case 230:
        v->code = gpu->blackwell ? kSuccess : kNotSupported;
        v->value.whole = gpu->recovery;
        break;
      case 231:
      case 232:
      case 233:
        v->code = gpu->blackwell && gpu->c2c > 0 ? kSuccess : kNotSupported;
        v->value.whole = v->id == 232 ? gpu->c2c_errors : 0;
        break;
      default:
        v->code = kNotSupported;
    }
  }
  return kSuccess;
}
int nvmlEventSetCreate(void** set) { return *set = &watched, kSuccess; }
int nvmlDeviceRegisterEvents(void* device, unsigned long long types, void*) {
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (&gpus[i] == device && (types & 0x8) != 0) return watched[i] = true, kSuccess;
  return kNotSupported;
}
int nvmlEventSetWait_v2(void*, Event* event, unsigned) {
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!watched[i] || gpus[i].xid == 0) continue;
    *event = {.device = &gpus[i], .type = 0x8, .data = gpus[i].xid, .gpu_instance = ~0u, .compute_instance = ~0u};
    gpus[i].xid = 0;
    return kSuccess;
  }
  return kTimeout;
}
}
