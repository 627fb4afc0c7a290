// A libcuda.so.1 of a driver that is too old, or that finds no GPU: what the CUDA runtime asks before anything else.
// FAKE_CUDA_VERSION: that it supports, as 11080; FAKE_CUDA_INIT: code that cuInit ends with, 100 where there is no GPU.
#include <cstdlib>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {
constexpr int kSuccess = 0, kNoDevice = 100, kNotFound = 500;
int number(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : fallback;
}
/// Whatever else is asked: refused, with as many arguments as there may be.
int refused() { return kNoDevice; }
}  // namespace

EXPORTED int cuInit(unsigned) { return number("FAKE_CUDA_INIT", kSuccess); }
EXPORTED int cuDriverGetVersion(int* version) { return *version = number("FAKE_CUDA_VERSION", 13000), kSuccess; }
EXPORTED int cuDeviceGetCount(int* count) { return *count = 0, kSuccess; }
EXPORTED int cuGetExportTable(const void** table, const void*) { return *table = nullptr, kNotFound; }
EXPORTED int cuGetProcAddress_v2(const char* symbol, void** function, int, unsigned long long, int* found) {
  if (found) *found = 0;
  *function = std::strcmp(symbol, "cuInit") == 0               ? reinterpret_cast<void*>(&cuInit)
              : std::strcmp(symbol, "cuDriverGetVersion") == 0 ? reinterpret_cast<void*>(&cuDriverGetVersion)
              : std::strcmp(symbol, "cuDeviceGetCount") == 0   ? reinterpret_cast<void*>(&cuDeviceGetCount)
              : std::strcmp(symbol, "cuGetExportTable") == 0   ? reinterpret_cast<void*>(&cuGetExportTable)
              : std::strcmp(symbol, "cuGetProcAddress") == 0   ? reinterpret_cast<void*>(&cuGetProcAddress_v2)
                                                               : reinterpret_cast<void*>(&refused);
  return kSuccess;
}
EXPORTED int cuGetProcAddress(const char* symbol, void** function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
