// Layouts and numbers as nvml.h has them; they are part of the library's binary interface and do not change.
#include "harness/backends/cuda/nvml_links.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace headrace::cuda {
namespace {

constexpr unsigned kMostLinks = 36;  // NVML_NVLINK_MAX_LINKS
// NVML_FI_DEV_*
constexpr unsigned kNvlinkSpeed = 90;  // [MB/s], common to all
constexpr unsigned kC2cCount = 170, kC2cStatus = 171, kC2cMostRate = 172;
constexpr unsigned kSymbolErrors = 221;  // of the links since generation 5, whose older counters are gone
constexpr unsigned kRecoveries = 215;    // NVLinks that were brought up again, or were to be
constexpr unsigned kRecoveryAction = 230;
constexpr std::array<unsigned, 3> kC2cErrors{231, 232, 233};  // interrupts, replays, replays back to back
// nvmlDeviceGpuRecoveryAction_t
constexpr std::array<const char*, 5> kRecoveryActions{"", "a reset of the GPU", "a reboot", "a drain of its NVLinks",
                                                      "a drain, then a reset of the GPU"};
constexpr unsigned kToSwitch = 2;  // NVML_NVLINK_DEVICE_TYPE_SWITCH
// NVML_NVLINK_ERROR_DL_*: replay, recovery, CRC of flits, CRC of data
constexpr std::array<int, 4> kErrors{0, 1, 2, 3};
// NVML_GPU_FABRIC_STATE_*
constexpr unsigned char kFabricNotStarted = 1, kFabricInProgress = 2, kFabricCompleted = 3;

/// A field of NVML_GPU_FABRIC_HEALTH_MASK_*, and the value that says something is wrong.
struct FabricHealth {
  unsigned shift, width, bad;
  const char* words;
};
constexpr FabricHealth kFabricHealth[] = {{0, 0x3, 1, "degraded bandwidth"},
                                          {4, 0x3, 1, "a route is unhealthy"},
                                          {8, 0xf, 2, "wrong system GUID"},
                                          {8, 0xf, 3, "wrong serial number of the chassis"},
                                          {8, 0xf, 4, "no partition"},
                                          {8, 0xf, 5, "too few NVLinks"},
                                          {8, 0xf, 6, "incompatible firmware of the GPU"},
                                          {8, 0xf, 7, "wrong location"}};
/// That the switches mend by themselves: a route, an access that timed out.
constexpr FabricHealth kFabricRecovers[] = {{2, 0x3, 1, ""}, {6, 0x3, 1, ""}};

/// nvmlNvlinkVersion_t counts minor versions, too.
unsigned generation_of(unsigned version) {
  constexpr std::array<unsigned, 9> kGenerations{0, 1, 2, 2, 3, 3, 4, 5, 6};
  return version < kGenerations.size() ? kGenerations[version] : 0;
}

}  // namespace

/// nvmlFieldValue_t
struct NvmlLinks::FieldValue {
  unsigned id = 0, scope = 0;
  long long timestamp = 0, latency_us = 0;
  int type = 0, code = 0;
  union {
    double real;
    unsigned whole;
    unsigned long natural;
    unsigned long long large;
    long long signed_large;
    int signed_whole;
    unsigned short small;
  } value = {};
};

/// nvmlPciInfo_t
struct NvmlLinks::PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
};

/// nvmlGpuFabricInfo_v2_t; without `version` and `health` it is nvmlGpuFabricInfo_t.
struct NvmlLinks::FabricInfo {
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};

NvmlLinks::NvmlLinks(const Library& library) {
  library.find("nvmlDeviceGetFieldValues", fields_);
  library.find("nvmlDeviceGetNvLinkState", state_);
  library.find("nvmlDeviceGetNvLinkVersion", version_);
  library.find("nvmlDeviceGetNvLinkRemotePciInfo_v2", end_);
  library.find("nvmlDeviceGetNvLinkRemoteDeviceType", end_type_);
  library.find("nvmlDeviceGetNvLinkErrorCounter", error_counter_);
  fabric_has_health_ = library.find("nvmlDeviceGetGpuFabricInfoV", fabric_);  // since driver 550
  if (!fabric_has_health_) library.find("nvmlDeviceGetGpuFabricInfo", fabric_);
  library.find("nvmlDeviceGetCount_v2", count_);
  library.find("nvmlDeviceGetHandleByIndex_v2", by_index_);
  library.find("nvmlDeviceGetPciInfo_v3", pci_);
}

std::optional<double> NvmlLinks::field(void* device, unsigned id, unsigned scope) const {
  FieldValue one;
  one.id = id;
  one.scope = scope;
  if (!device || !fields_ || fields_(device, 1, &one) != 0 || one.code != 0) return std::nullopt;
  switch (one.type) {  // nvmlValueType_t
    case 0:
      return one.value.real;
    case 1:
      return one.value.whole;
    case 2:
      return static_cast<double>(one.value.natural);
    case 3:
      return static_cast<double>(one.value.large);
    case 4:
      return static_cast<double>(one.value.signed_large);
    case 5:
      return one.value.signed_whole;
    case 6:
      return one.value.small;
    default:
      return std::nullopt;
  }
}

/// As /sys/bus/pci/devices names it; NVML writes "00000000:1B:00.0".
std::string NvmlLinks::address_in(const PciInfo& info) {
  std::string address(info.address, std::find(std::begin(info.address), std::end(info.address), '\0'));
  if (address.size() > 12) address.erase(0, address.size() - 12);
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

std::string NvmlLinks::end_of(void* device, unsigned link) const {
  PciInfo info{};
  return end_ && end_(device, link, &info) == 0 ? address_in(info) : "";
}

std::optional<std::vector<std::string>> NvmlLinks::addresses() const {
  unsigned count = 0;
  if (!count_ || !by_index_ || !pci_ || count_(&count) != 0) return std::nullopt;
  std::vector<std::string> all;
  for (unsigned i = 0; i < count; ++i) {
    void* device = nullptr;
    PciInfo info{};
    if (by_index_(i, &device) == 0 && pci_(device, &info) == 0) all.push_back(address_in(info));
  }
  return all;
}

NvLinks NvmlLinks::nvlinks(void* device) const {
  NvLinks links;
  if (!device || !state_) return links;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int active = 0;
    if (state_(device, link, &active) != 0) continue;  // this GPU has no such link
    ++links.most;
    if (active == 0) continue;
    ++links.count;
    unsigned number = 0;
    if (version_ && version_(device, link, &number) == 0) links.generation = generation_of(number);
    if (end_type_ && end_type_(device, link, &number) == 0) links.to_switch = number == kToSwitch;
    links.ends.push_back(end_of(device, link));
  }
  if (links.count > 0) links.each = field(device, kNvlinkSpeed, 0).value_or(0) * 1e6;
  return links;
}

C2cLinks NvmlLinks::c2c(void* device) const {
  C2cLinks links;
  links.most = std::min(kMostLinks, static_cast<unsigned>(field(device, kC2cCount, 0).value_or(0)));
  for (unsigned link = 0; link < links.most; ++link) {
    if (field(device, kC2cStatus, link).value_or(0) == 0) continue;
    ++links.count;
    links.rate += field(device, kC2cMostRate, link).value_or(0) * 1e6;
  }
  return links;
}

bool NvmlLinks::fabric_info(void* device, FabricInfo& info) const {
  if (!device || !fabric_) return false;
  info = {};
  info.version = static_cast<unsigned>(sizeof info) | 2u << 24;  // NVML_STRUCT_VERSION
  if (fabric_has_health_) return fabric_(device, &info) == 0;
  void* const first = info.cluster;
  return fabric_(device, static_cast<FabricInfo*>(first)) == 0;
}

std::string NvmlLinks::fabric(void* device) const {
  FabricInfo info{};
  if (!fabric_info(device, info)) return "";
  if (info.state == kFabricNotStarted) return GpuFacts::kFabricNotStarted;
  if (info.state == kFabricInProgress) return GpuFacts::kFabricInProgress;
  if (info.state != kFabricCompleted) return "";
  if (info.status != 0) return "failed to register this GPU (NVML status " + std::to_string(info.status) + ")";
  const auto is = [&](const FabricHealth& one) { return (info.health >> one.shift & one.width) == one.bad; };
  std::string wrong;
  for (const FabricHealth& one : kFabricHealth)
    if (is(one)) wrong += (wrong.empty() ? "" : ", ") + std::string(one.words);
  if (!wrong.empty()) return wrong;
  return std::any_of(std::begin(kFabricRecovers), std::end(kFabricRecovers), is) ? GpuFacts::kFabricInProgress : "";
}

std::string NvmlLinks::fabric_group(void* device) const {
  FabricInfo info{};
  if (!fabric_info(device, info) || info.state != kFabricCompleted) return "";
  std::string cluster;
  bool any = false;
  for (const unsigned char byte : info.cluster) {
    constexpr const char* kDigits = "0123456789abcdef";
    any = any || byte != 0;
    cluster += {kDigits[byte >> 4], kDigits[byte & 0xf]};
  }
  return any ? cluster + "/" + std::to_string(info.clique) : "";
}

std::optional<std::uint64_t> NvmlLinks::recoveries(void* device) const {
  std::optional<std::uint64_t> sum;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    const auto own = field(device, kRecoveries, link);
    if (!own) break;  // no such link, or a GPU whose links have other counters
    sum = sum.value_or(0) + static_cast<std::uint64_t>(*own);
  }
  return sum;
}

std::optional<std::uint64_t> NvmlLinks::c2c_errors(void* device) const {
  std::optional<std::uint64_t> sum;
  for (const unsigned id : kC2cErrors)
    if (const auto own = field(device, id, 0)) sum = sum.value_or(0) + static_cast<std::uint64_t>(*own);
  return sum;
}

std::string NvmlLinks::recovery(void* device) const {
  const auto action = field(device, kRecoveryAction, 0).value_or(0);
  if (action <= 0) return "";
  return action < kRecoveryActions.size() ? kRecoveryActions[static_cast<std::size_t>(action)]
                                          : "recovery action " + std::to_string(static_cast<int>(action));
}

std::optional<unsigned> NvmlLinks::up(void* device) const {
  if (!device || !state_) return std::nullopt;
  std::optional<unsigned> up;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int active = 0;
    if (state_(device, link, &active) == 0) up = up.value_or(0) + (active != 0);
  }
  return up;
}

std::optional<std::uint64_t> NvmlLinks::errors(void* device) const {
  std::optional<std::uint64_t> sum;
  if (!device || !state_) return sum;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    int active = 0;
    if (state_(device, link, &active) != 0 || active == 0) continue;
    std::optional<std::uint64_t> own;
    for (const int kind : kErrors) {
      unsigned long long count = 0;
      if (error_counter_ && error_counter_(device, link, kind, &count) == 0) own = own.value_or(0) + count;
    }
    if (!own)
      if (const auto symbols = field(device, kSymbolErrors, link)) own = static_cast<std::uint64_t>(*symbols);
    if (own) sum = sum.value_or(0) + *own;
  }
  return sum;
}

}  // namespace headrace::cuda
