// GPUs as workloads see them: memory, streams of copies, a gate for copies, a kernel that keeps a GPU busy. No vendor's
// header is here; harness/backends/cuda implements it. Header-only, so that plugins can use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/expected_sums.h"
#include "harness/backends/gpu_pattern.h"
#include "harness/record/file_table.h"

namespace headrace {

/// A link's speed; 0 = not reported.
struct PcieLink {
  unsigned generation = 0;
  unsigned width = 0;  // lanes
};

/// NVLinks of a GPU.
struct NvLinks {
  unsigned count = 0;               // that are up; 0 = none, or not reported
  unsigned most = 0;                // that the GPU has
  unsigned generation = 0;          // 4 on H100; 0 = not reported
  double each = 0;                  // [B/s] of the line, one way; 0 = not reported
  bool to_switch = false;           // they lead to switches, so that each other GPU is reached by all of them
  std::vector<std::string> ends{};  // PCI address that each leads to; "" = not reported
};

/// NVLink-C2C between a GPU and its host's processor.
struct C2cLinks {
  unsigned count = 0;  // that are up; 0 = none, or not reported
  unsigned most = 0;   // that there are
  double rate = 0;     // [B/s] of those that are up, one way; 0 = not reported
};

/// What a GPU is, asked once.
struct GpuFacts {
  std::string name;             // "NVIDIA H100 80GB HBM3"
  std::string driver;           // "580.65.06"; "" = not reported
  std::string uuid;             // "GPU-1f2e..."
  std::string pci_address;      // "0000:17:00.0": as /sys/bus/pci/devices names it; "" = not reported
  std::uint64_t memory = 0;     // [B]
  std::uint64_t cache = 0;      // before its memory (L2) [B]; 0 = not reported
  int numa_node = -1;           // that the GPU is attached to; -1 = not reported
  PcieLink link_max;            // of this GPU in this slot
  unsigned own_generation = 0;  // of PCI Express, that it could have in a better slot; 0 = not reported
  bool slice = false;           // a MIG slice: shares the link and the copy engines with others
  bool coherent = false;        // reads pageable host memory by itself, over the host's page tables
  NvLinks nvlinks{};
  C2cLinks c2c{};
  std::string refuses{};       // the processes that may not use it: "all processes", "a second process"; "" = none are
                               // refused
  std::string fabric_group{};  // of NVLink over several nodes: "CLUSTER/CLIQUE"; "" = it ends at this node
  std::string fabric{};        // the fault of the switches between GPUs; "" = none, or there are no switches

  /// The state of `fabric`: the switches are not set up yet.
  static constexpr const char *kFabricNotStarted = "not started", *kFabricInProgress = "in progress";
  /// They are set up, and this GPU is not part of them as it should be.
  bool fabric_failed() const { return !fabric.empty() && fabric != kFabricNotStarted && fabric != kFabricInProgress; }

  /// Is it reached by other means than PCI Express? Then that link's generation and width say nothing: drivers give
  /// placeholders for it.
  bool beside_pcie() const { return coherent || c2c.most > 0; }
};

/// Why clocks are held back: at its power limit a sound GPU works, too.
inline constexpr std::string_view kPowerLimit = "power limit";

/// What a GPU does, read now. What the driver does not report is absent.
struct GpuState {
  PcieLink link;
  std::optional<double> clock_hz, memory_clock_hz, power_w, temperature_c;
  std::optional<double> power_limit_w{};  // that the driver enforces
  std::string held_back;  // why its clocks are held back ("power limit", "power brake"); "" = they are not
  std::optional<std::uint64_t> replays;                         // PCIe packets sent again, since the driver was loaded
  std::optional<std::uint64_t> ecc_corrected, ecc_uncorrected;  // memory errors since then
  std::optional<std::uint64_t> nvlink_errors{};  // replays, recoveries and CRC errors of all NVLinks since then
  std::optional<unsigned> nvlinks_up{};
  std::optional<std::uint64_t> remapped_rows{};    // of its memory, replaced by spare ones
  bool remap_pending = false;                      // the next reset remaps a row
  bool remap_failed = false;                       // no spare row was left
  std::optional<std::uint64_t> link_recoveries{};  // NVLinks that went down and came back, since the driver was loaded
  std::optional<std::uint64_t> c2c_errors{};       // of NVLink-C2C since then
  std::string recovery{};                          // what the driver wants done before it is used on; "" = nothing
  std::vector<unsigned> xids{};                    // errors that the driver reported since this was last asked
};

/// An error number of NVIDIA's driver.
struct Xid {
  unsigned number;
  bool fatal;  // of the hardware: the GPU has to be reset, or more
  const char* words;
};

/// By NVIDIA's catalogue of Xid errors (docs.nvidia.com/deploy/xid-errors, Ampere and later). Fatal Xids: the immediate
/// action is a reset, a restart or a check of NVLinks. Also an uncorrectable memory error, or a row to be remapped. Not
/// 109: NVIDIA's device plugin takes it for a fault of the program, as 13, 31, 43, 45 and 68.
inline constexpr Xid kXids[] = {
    {13, false, "a fault of a kernel, or of memory"},
    {31, false, "an invalid access to memory"},
    {43, false, "a program was stopped"},
    {45, false, "a program was stopped"},
    {46, true, "the GPU stopped processing"},
    {48, true, "an uncorrectable memory error"},
    {54, true, "no auxiliary power"},
    {62, true, "the power controller halted"},
    {63, true, "a row of memory is to be remapped"},
    {64, true, "a row of memory could not be remapped"},
    {74, true, "an NVLink failed"},
    {79, true, "the GPU has fallen off the bus"},
    {92, false, "many correctable memory errors"},
    {94, true, "an uncorrectable memory error, contained"},
    {95, true, "an uncorrectable memory error, not contained"},
    {119, true, "the GPU's system processor does not answer"},
    {120, true, "the GPU's system processor failed"},
    {121, false, "an error of NVLink-C2C"},
    {136, true, "an NVLink could not be trained"},
    {140, true, "an uncorrectable memory error"},
    {143, true, "the GPU could not be started"},
    {144, true, "an NVLink failed"},
    {145, true, "an NVLink failed"},
    {146, true, "an NVLink failed"},
    {147, true, "an NVLink failed"},
    {148, true, "an NVLink failed"},
    {149, true, "an NVLink failed"},
    {150, true, "an NVLink failed"},
    {154, false, "another recovery is needed"},
    {155, true, "an NVLink failed"},
    {156, true, "a part of the GPU was retired"},
    {157, true, "a part of the GPU could not be retired"},
    {158, true, "the GPU did not answer in time"},
    {167, true, "PCI Express did not answer in time"},
    {171, true, "an uncorrectable error of its memory"},
    {172, true, "an uncorrectable error of its caches"},
};

inline const Xid* find_xid(unsigned number) {
  for (const Xid& one : kXids)
    if (one.number == number) return &one;
  return nullptr;
}
/// "Xid 79 (the GPU has fallen off the bus)".
inline std::string xid_in_words(unsigned number) {
  const Xid* known = find_xid(number);
  return "Xid " + std::to_string(number) + (known == nullptr ? "" : " (" + std::string(known->words) + ")");
}

/// By which other processes, of this node and others of the same NVLink fabric, map a GPU's memory.
using GpuFabricHandle = std::array<unsigned char, 64>;

enum class CopyKind { h2d, d2h, d2d };

/// Memory of a device, or pinned memory of the host. Given back with the object.
class GpuMemory {
 public:
  virtual ~GpuMemory() = default;
  unsigned char* begin() const noexcept { return begin_; }
  std::uint64_t size() const noexcept { return size_; }

 protected:
  unsigned char* begin_ = nullptr;
  std::uint64_t size_ = 0;
};

/// Work of one GPU in order: copies, marks, kernels. Everything but wait(), wait_mark() and
/// destruction only queues. Calls allocate nothing and take no lock of headrace's own. Belongs to
/// one thread at a time. Every call throws RunError, naming the GPU, when the driver refuses.
class GpuStream {
 public:
  static constexpr unsigned kMarks = 64;
  virtual ~GpuStream() = default;

  /// On the thread that is going to use it, untimed.
  virtual void attach() = 0;
  /// From pageable memory: waits for everything queued before, and returns when the data is staged,
  /// perhaps before it has arrived.
  virtual void copy(void* to, const void* from, std::uint64_t bytes, CopyKind kind) = 0;
  /// The same by a kernel on the GPU's multiprocessors, as NCCL copies, and not by its copy engines. From and to memory of
  /// GPUs, or pinned memory; both begin at a multiple of 16 bytes.
  virtual void copy_by_cores(void* to, const void* from, std::uint64_t bytes) = 0;
  /// Fills memory of this GPU with a pattern; whole words.
  virtual void fill(void* to, std::uint64_t bytes, const GpuPattern& pattern) = 0;
  /// Reads memory of this GPU, compares it with the pattern `is`, and leaves `next` there. `found` is pinned memory of the
  /// host, and is added to.
  virtual void check_and_fill(void* at, std::uint64_t bytes, const GpuPattern& is, const GpuPattern& next,
                              GpuWrongWords& found) = 0;
  /// Writes what a rank brings to a collective, to memory of this GPU.
  virtual void bring(void* in, const ExpectedSums& data, bool in_place) = 0;
  /// Compares what a rank got, in memory of this GPU. `found` is pinned memory of the host, and is added to.
  virtual void check(const void* out, const ExpectedSums& data, GpuWrongElements& found) = 0;
  /// Loads pointers by one thread of the GPU, `loads` of them, each from where the one before points to. The first is
  /// at `at`.
  virtual void follow(const void* const* at, std::uint64_t loads) = 0;
  /// Work that is queued from here on waits for release(). Not with copies of pageable memory, which would wait in
  /// copy(). A gate that stays closed for kGateTime_s opens by itself, and wait() says so.
  virtual void hold() = 0;
  virtual void release() noexcept = 0;
  /// A kernel that keeps one multiprocessor busy for `ns`.
  virtual void keep_busy(std::uint64_t ns) = 0;
  /// Remembers when everything queued before was done. `mark` < kMarks; may be used again.
  virtual void mark(unsigned mark) = 0;
  /// Work that is queued from here on waits until `other` reaches the mark.
  virtual void after(const GpuStream& other, unsigned mark) = 0;
  virtual bool reached(unsigned mark) = 0;
  /// Waits for a mark, or for everything. Throws RunError when the GPU was lost, or was not ready within kPatience_s.
  /// Then it is given up, and every later call of this GPU throws.
  virtual void wait_mark(unsigned mark) = 0;
  virtual void wait() = 0;
  /// Device time between two reached marks of streams of this GPU [s].
  virtual double seconds(unsigned from, const GpuStream& other, unsigned to) = 0;
  /// The driver's own handle, for its other libraries.
  virtual void* native() { return nullptr; }

  static constexpr double kGateTime_s = 20;
  static constexpr double kPatience_s = 120;
};

/// Opens the gate whatever happens.
class HeldStream {
 public:
  explicit HeldStream(GpuStream& stream) : stream_(stream) { stream_.hold(); }
  ~HeldStream() { release(); }
  HeldStream(const HeldStream&) = delete;
  void release() noexcept {
    if (!released_) stream_.release();
    released_ = true;
  }

 private:
  GpuStream& stream_;
  bool released_ = false;
};

/// One read of a file into a GPU's memory. `file` is a position in the list that the reader was given. `offset`,
/// `length` and `to` in bytes, `to` from the beginning of the memory given.
struct GpuRead {
  std::uint32_t file = 0;
  std::uint64_t offset = 0, length = 0, to = 0;
  std::int64_t result = 0;  // once it has ended: bytes read, or -errno
};

/// Reads that are handed over by one call. Belongs to one thread at a time.
class GpuReadBatch {
 public:
  virtual ~GpuReadBatch() = default;
  /// At most as many as it was made for; they live until end(). Throws RunError.
  virtual void begin(std::span<GpuRead> reads) = 0;
  /// Waits for all of them, and fills in their results. Throws RunError.
  virtual void end() = 0;
};

/// Reads files straight into a GPU's memory, without host memory in between (GPUDirect Storage).
class GpuFileReader {
 public:
  virtual ~GpuFileReader() = default;
  /// Bytes read, or -errno. `file` is a position in the list given. `offset` and `to` in bytes, `to` from the beginning
  /// of the memory given. Any thread.
  virtual std::int64_t read(std::uint32_t file, std::uint64_t offset, std::uint64_t length,
                            std::uint64_t to) noexcept = 0;
  /// For `most` reads at once. Throws Unsupported where the library is too old.
  virtual std::unique_ptr<GpuReadBatch> batch(unsigned most) = 0;
  /// Queues a read in the order of `stream`. `read` lives, and has its result, when the stream has passed it; a
  /// negative result is the library's code. Throws RunError; Unsupported where the library is too old.
  virtual void queue(GpuRead& read, GpuStream& stream) = 0;
  /// How it does that: "direct (nvidia-fs 2.24), as cuFile counted", "through host memory ...".
  virtual std::string mode() const = 0;
};

/// What matrices are made of; fp8 is e4m3.
enum class GpuNumber { fp8, fp16, bf16, tf32, fp32, fp64 };
constexpr std::uint64_t bytes_of(GpuNumber number) {
  return number == GpuNumber::fp8                                 ? 1
         : number == GpuNumber::fp16 || number == GpuNumber::bf16 ? 2
         : number == GpuNumber::fp64                              ? 8
                                                                  : 4;
}
/// The size of an element of their products: single precision, for fp64 double.
constexpr std::uint64_t result_bytes_of(GpuNumber number) { return number == GpuNumber::fp64 ? 8 : 4; }
/// Libraries multiply fp8 only if the first matrix is stored row by row. All others are stored column by column.
constexpr bool first_by_rows(GpuNumber number) { return number == GpuNumber::fp8; }

/// Two square matrices in a GPU's memory.
struct GpuMatrices {
  GpuNumber number = GpuNumber::bf16;
  unsigned size = 0;  // rows, and columns
  const unsigned char *a = nullptr, *b = nullptr;
  const unsigned char* first = nullptr;  // that every product is compared with
};

/// Multiplies them with the library that training uses, on its stream and thread.
class GpuMultiplier {
 public:
  virtual ~GpuMultiplier() = default;
  /// Queues c = a b.
  virtual void multiply(unsigned char* c) = 0;
  /// Queues a comparison of a product: which of its elements are not those of `first`, bit for bit?
  virtual void compare(const unsigned char* c) = 0;
  /// Elements that differed, of all comparisons that were waited for.
  virtual std::uint64_t differing() const = 0;
  virtual std::string library() const = 0;  // "cuBLAS 13.0.2"
};

/// A JPEG image in host memory, and the place of its pixels in GPU memory. They are interleaved RGB, 8 bits a channel,
/// row by row.
struct GpuImage {
  std::span<const unsigned char> stored;
  std::uint32_t width = 0, height = 0;  // as GpuImageDecoder::size() reports [pixels]
  unsigned char* to = nullptr;
};

/// Decodes JPEG images with the library that training's loaders use, on its stream and thread.
class GpuImageDecoder {
 public:
  virtual ~GpuImageDecoder() = default;
  /// Untimed: width and height into `image`. "" or why the library cannot decode it.
  virtual std::string size(GpuImage& image) = 0;
  /// Queues one batch, as large as the decoder was made for. The host's part is done when it returns. Throws RunError.
  virtual void decode(std::span<const GpuImage> batch) = 0;
  virtual std::string library() const = 0;  // "nvJPEG 12.4.0 by the decoders of the GPU"
};

/// One GPU.
class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const GpuFacts& facts() const = 0;
  /// Untimed: asks the driver. Never throws.
  virtual GpuState state() = 0;
  /// Why this process cannot use it any more, where the hardware is the reason, or its work does not end. "" = it can,
  /// or a program is the reason. Never throws.
  virtual std::string lost() const { return ""; }
  /// Free device memory [B]; nothing: not reported.
  virtual std::optional<std::uint64_t> free_memory() { return std::nullopt; }
  /// Device memory. Throws RunError with the requested and the free size.
  virtual std::unique_ptr<GpuMemory> allocate(std::uint64_t bytes) = 0;
  virtual std::unique_ptr<GpuStream> stream() = 0;
  /// Host memory that every GPU can copy to and from, pinned through this one. No other GPU is touched: it may be
  /// another process's alone. Write-combined: not cached, for the GPU to read. Lies where the calling thread's memory
  /// policy says. Throws RunError when it is refused.
  virtual std::unique_ptr<GpuMemory> pinned(std::uint64_t bytes, bool write_combined) = 0;
  /// Pins memory that is there, as long as the object lives. `memory` is whole pages. Throws RunError.
  virtual std::unique_ptr<GpuMemory> pin(std::span<unsigned char> memory) = 0;
  /// A file descriptor by which other devices reach `memory` (of this GPU, whole, from its beginning): the caller's to
  /// close. -1: the driver or the GPU has no dma-buf.
  virtual int dma_buf(const GpuMemory& /*memory*/) { return -1; }
  /// Can this GPU copy from `other`'s memory without the host in between? When it can, from now on
  /// it may.
  virtual bool reaches(Gpu& other) = 0;
  /// For products on `stream`, of this GPU; both live longer. Throws Unsupported where there is no library.
  virtual std::unique_ptr<GpuMultiplier> multiplier(GpuStream& stream, const GpuMatrices& matrices) = 0;
  /// For batches of that many images on `stream`, of this GPU, which lives longer. `hardware`: by the GPU's own decoders of
  /// JPEG, which take baseline images alone. Throws Unsupported where there is no library, or no such decoder.
  virtual std::unique_ptr<GpuImageDecoder> image_decoder(GpuStream& stream, unsigned batch, unsigned host_threads,
                                                         bool hardware) = 0;
  /// Opens `selected` of `files` for reads into `memory`. Throws RunError.
  virtual std::unique_ptr<GpuFileReader> file_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                                     const GpuMemory& memory) = 0;
  /// Device memory that others may map by `handle`. nullptr: there is no such memory here. Throws Unsupported, RunError.
  virtual std::unique_ptr<GpuMemory> share(std::uint64_t /*bytes*/, GpuFabricHandle& /*handle*/) { return nullptr; }
  /// Another GPU's, of as many bytes, as this GPU reaches it. It lives on as long as this. Throws Unsupported, RunError.
  virtual std::unique_ptr<GpuMemory> map(const GpuFabricHandle& /*handle*/, std::uint64_t /*bytes*/) { return nullptr; }
};

/// The GPUs of this machine that this process may use.
class GpuBackend {
 public:
  virtual ~GpuBackend() = default;
  /// Why there is none ("libcuda.so.1 not found: no NVIDIA driver"), or nothing.
  virtual std::optional<std::string> unusable() const = 0;
  virtual unsigned count() const = 0;
  virtual Gpu& gpu(unsigned index) = 0;
  /// PCI addresses of the GPUs that the driver can use, those too that this process may not. nothing: it reports none
  /// but the addresses of the GPUs above.
  virtual std::optional<std::vector<std::string>> listed() const { return std::nullopt; }
  /// Why files cannot be read straight into GPUs ("libcufile.so.0 not found"), or nothing.
  virtual std::optional<std::string> no_file_reader() const = 0;
};

}  // namespace headrace
