#include "harness/machine/examine/bundle.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "harness/backends/formats/tar.h"
#include "harness/base/error.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/system/unique_fd.h"
#include "harness/machine/kernel_log.h"

namespace headrace::system {
namespace {

namespace fs = std::filesystem;

/// Variables that change the behaviour of devices and their libraries, and hold no secret.
constexpr std::array<std::string_view, 52> kReported{"CUDA_DEVICE_MAX_CONNECTIONS",
                                                     "CUDA_DEVICE_ORDER",
                                                     "CUDA_LAUNCH_BLOCKING",
                                                     "CUDA_VISIBLE_DEVICES",
                                                     "FI_EFA_USE_DEVICE_RDMA",
                                                     "FI_PROVIDER",
                                                     "LANG",
                                                     "LC_ALL",
                                                     "NCCL_ALGO",
                                                     "NCCL_BUFFSIZE",
                                                     "NCCL_CROSS_NIC",
                                                     "NCCL_CUMEM_ENABLE",
                                                     "NCCL_DEBUG",
                                                     "NCCL_DEBUG_SUBSYS",
                                                     "NCCL_DMABUF_ENABLE",
                                                     "NCCL_IB_ADAPTIVE_ROUTING",
                                                     "NCCL_IB_DISABLE",
                                                     "NCCL_IB_GID_INDEX",
                                                     "NCCL_IB_HCA",
                                                     "NCCL_IB_PCI_RELAXED_ORDERING",
                                                     "NCCL_IB_PKEY",
                                                     "NCCL_IB_QPS_PER_CONNECTION",
                                                     "NCCL_IB_SL",
                                                     "NCCL_IB_TC",
                                                     "NCCL_IB_TIMEOUT",
                                                     "NCCL_IGNORE_CPU_AFFINITY",
                                                     "NCCL_MAX_NCHANNELS",
                                                     "NCCL_MIN_NCHANNELS",
                                                     "NCCL_MNNVL_ENABLE",
                                                     "NCCL_NET",
                                                     "NCCL_NET_GDR_LEVEL",
                                                     "NCCL_NET_GDR_READ",
                                                     "NCCL_NVLS_ENABLE",
                                                     "NCCL_P2P_DISABLE",
                                                     "NCCL_P2P_LEVEL",
                                                     "NCCL_PROTO",
                                                     "NCCL_PXN_DISABLE",
                                                     "NCCL_SHM_DISABLE",
                                                     "NCCL_SOCKET_IFNAME",
                                                     "NVIDIA_DRIVER_CAPABILITIES",
                                                     "NVIDIA_VISIBLE_DEVICES",
                                                     "OMPI_COMM_WORLD_LOCAL_SIZE",
                                                     "OMPI_COMM_WORLD_SIZE",
                                                     "OMP_NUM_THREADS",
                                                     "RDMAV_FORK_SAFE",
                                                     "SLURM_GPUS_ON_NODE",
                                                     "SLURM_JOB_NUM_NODES",
                                                     "SLURM_NTASKS",
                                                     "SLURM_NTASKS_PER_NODE",
                                                     "UCX_IB_GID_INDEX",
                                                     "UCX_NET_DEVICES",
                                                     "UCX_TLS"};

/// Absolute paths that are the same on every machine.
constexpr std::array<std::string_view, 8> kSystem{"/sys/", "/proc/", "/dev/", "/usr/",
                                                  "/lib/", "/etc/",  "/bin/", "/sbin/"};

/// A kernel's line is kept where it has one of these.
constexpr std::array<std::string_view, 13> kDeviceWords{
    "NVRM", "Xid", "nvidia", "mlx", "infiniband", "pcieport", "AER:", "nvme", "EDAC", "mce:", "i40e", "bnxt", "efa "};

std::string line_of(const std::string& file) { return read_line(file).value_or("-"); }

/// Every device on a PCI bus: its place, its kind, its link now and at most.
std::string pci(const std::string& root) {
  std::string text = "address  class  vendor:device  numa  link now  link at most  driver  way\n";
  const std::string folder = root + "/sys/bus/pci/devices/";
  for (const std::string& name : entries(folder)) {
    const std::string own = folder + name + "/";
    std::error_code ignored;
    std::string way = fs::canonical(own, ignored).string();
    if (const std::size_t at = way.find("/sys/devices/"); at != way.npos) way.erase(0, at + 13);
    const std::string driver = fs::read_symlink(own + "driver", ignored).filename().string();
    text += fmt::format("{}  {}  {}:{}  {}  {} x{}  {} x{}  {}  {}\n", name, line_of(own + "class"),
                        line_of(own + "vendor"), line_of(own + "device"), line_of(own + "numa_node"),
                        line_of(own + "current_link_speed"), line_of(own + "current_link_width"),
                        line_of(own + "max_link_speed"), line_of(own + "max_link_width"), driver.empty() ? "-" : driver,
                        way);
  }
  return text;
}

/// "counters/symbol_error 0", for each file in `folder`.
void put_all(const std::string& folder, const std::string& name, std::string& text) {
  for (const std::string& file : entries(folder + "/" + name))
    if (const auto line = read_line(folder + "/" + name + "/" + file))
      text += fmt::format("  {}/{} {}\n", name, file, *line);
}
void put_some(const std::string& folder, std::initializer_list<const char*> names, std::string& text) {
  for (const char* name : names)
    if (const auto line = read_line(folder + "/" + name)) text += fmt::format("  {} {}\n", name, *line);
}

std::string rdma(const std::string& root) {
  std::string text;
  const std::string all = root + "/sys/class/infiniband/";
  for (const std::string& device : entries(all)) {
    text += device + "\n";
    put_some(all + device, {"fw_ver", "hca_type", "board_id", "node_type"}, text);
    for (const std::string& port : entries(all + device + "/ports")) {
      const std::string own = all + device + "/ports/" + port;
      text += fmt::format(" port {}\n", port);
      put_some(own, {"state", "phys_state", "rate", "link_layer"}, text);
      put_all(own, "counters", text);
      put_all(own, "hw_counters", text);
    }
  }
  return text;
}

std::string network(const std::string& root) {
  std::string text;
  const std::string all = root + "/sys/class/net/";
  for (const std::string& name : entries(all)) {
    text += name + "\n";
    put_some(all + name, {"operstate", "speed", "mtu", "carrier_changes", "carrier_down_count"}, text);
    put_all(all + name, "statistics", text);
  }
  return text;
}

std::string numa(const std::string& root) {
  std::string text;
  const std::string all = root + "/sys/devices/system/node/";
  for (const std::string& name : entries(all)) {
    if (!name.starts_with("node")) continue;
    text += name + "\n";
    put_some(all + name, {"cpulist", "distance"}, text);
  }
  return text;
}

std::string processors(const std::string& root) {
  const std::string info = read_text(root + "/proc/cpuinfo").value_or("");
  const std::size_t end = info.find("\n\n");  // they are alike
  return fmt::format("{}\nonline {}\n", info.substr(0, end), line_of(root + "/sys/devices/system/cpu/online"));
}

std::string nvidia(const std::string& root) {
  std::string text;
  for (const char* file :
       {"/proc/driver/nvidia/version", "/proc/driver/nvidia/params", "/proc/driver/nvidia-fs/version",
        "/proc/driver/nvidia-fs/stats", "/sys/module/nvidia_peermem/version"})
    if (const auto whole = read_text(root + file)) text += fmt::format("{}\n{}\n", file, *whole);
  const std::string gpus = root + "/proc/driver/nvidia/gpus/";
  for (const std::string& gpu : entries(gpus))
    if (const auto whole = read_text(gpus + gpu + "/information")) text += fmt::format("{}\n{}\n", gpu, *whole);
  return text;
}

bool ends_path(char c) {
  return std::isspace(static_cast<unsigned char>(c)) || c == '"' || c == '\'' || c == ',' || c == ';' || c == ')' ||
         c == '(' || c == '<' || c == '>' || c == '\\';
}

std::string without_paths(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const char before = at == 0 ? ' ' : text[at - 1];
    // "1/s" and "mlx5_0/1" are none.
    const bool begins =
        text[at] == '/' && !std::isalnum(static_cast<unsigned char>(before)) && before != '/' && before != '.';
    const bool relative = text[at] == '/' && (before == '.' || before == '~');
    if (!begins && !relative) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !ends_path(text[end])) ++end;
    const std::string_view path = text.substr(at, end - at);
    const bool known =
        path.size() < 2 || (begins && std::any_of(kSystem.begin(), kSystem.end(), [&](std::string_view root) {
                              return path.starts_with(root) || path == root.substr(0, root.size() - 1);
                            }));
    out += known ? std::string(path) : "<path>";
    at = end;
  }
  return out;
}

bool is_reported(std::string_view name) {
  return std::find(kReported.begin(), kReported.end(), name) != kReported.end();
}

struct Variable {
  std::string_view name, value;
};
std::vector<Variable> variables() {
  std::vector<Variable> all;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view one(*e);
    if (const std::size_t equals = one.find('='); equals != one.npos)
      all.push_back({one.substr(0, equals), one.substr(equals + 1)});
  }
  std::sort(all.begin(), all.end(), [](const Variable& a, const Variable& b) { return a.name < b.name; });
  return all;
}

}  // namespace

std::string reported_environment() {
  std::string text;
  for (const Variable& v : variables())
    if (is_reported(v.name)) text += fmt::format("{}={}\n", v.name, v.value);
  return text;
}

std::string scrubbed(std::string_view text) {
  std::string out = without_paths(text);
  constexpr std::size_t kShort = 6;  // such values occur everywhere by chance
  const auto remove = [&out](std::string_view what, std::string_view instead) {
    for (std::size_t at = 0; (at = out.find(what, at)) != out.npos; at += instead.size())
      out.replace(at, what.size(), instead);
  };
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0 && std::string_view(host).size() >= kShort) remove(host, "<host>");
  for (const Variable& v : variables())
    if (!is_reported(v.name) && v.value.size() >= kShort) remove(v.value, "<removed>");
  return out;
}

std::vector<BundleFile> kernel_bundle(const std::string& root) {
  std::vector<BundleFile> files{
      {"pci.txt", pci(root)},
      {"rdma.txt", rdma(root)},
      {"network.txt", network(root)},
      {"numa.txt", numa(root)},
      {"processors.txt", processors(root)},
      {"memory.txt", read_text(root + "/proc/meminfo").value_or("")},
      {"kernel.txt", read_text(root + "/proc/version").value_or("")},
      {"modules.txt", read_text(root + "/proc/modules").value_or("")},
      {"nvidia.txt", nvidia(root)},
      {"kernel-log.txt", kernel_log(root, kDeviceWords).value_or("not readable: the kernel log needs root\n")}};
  std::erase_if(files, [](const BundleFile& file) { return file.text.empty(); });
  for (BundleFile& file : files) file.text = scrubbed(file.text);
  return files;
}

std::string archive(const std::vector<BundleFile>& files, std::string_view folder) {
  std::string tar;
  for (const BundleFile& file : files) {
    formats::put_tar_header(fmt::format("{}/{}", folder, file.name), file.text.size(), tar);
    tar += file.text;
    tar.append(formats::tar_padding(file.text.size()), '\0');
  }
  tar.append(formats::kTarEnd, '\0');

  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // a gzip header around the largest window
  constexpr int kMemory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw RunError("zlib does not start");
  std::string name = fmt::format("{}.tar", folder);
  gz_header header{};
  header.name = reinterpret_cast<unsigned char*>(name.data());
  deflateSetHeader(&stream, &header);
  std::string packed(deflateBound(&stream, tar.size()), '\0');
  stream.next_in = reinterpret_cast<unsigned char*>(tar.data());
  stream.avail_in = static_cast<unsigned>(tar.size());
  stream.next_out = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) throw RunError("zlib could not pack the bundle");
  return packed;
}

}  // namespace headrace::system
