// RDMA as workloads see it: ports with their addresses, registered memory, queue pairs, work and completions. No
// vendor's header is here; harness/backends/verbs implements it. Header-only, so that plugins can use it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// An entry of a port's address table.
struct RdmaGid {
  enum class Kind { infiniband, roce_v1, roce_v2 };
  unsigned index = 0;
  Kind kind = Kind::infiniband;
  std::array<std::uint8_t, 16> bytes{};
  std::string interface;  // the network interface behind it: "eth2"; "" = none
};

/// A port of a device, asked once.
struct RdmaPort {
  std::string device;     // "mlx5_0"
  unsigned number = 1;    // counts from 1
  bool ethernet = false;  // RoCE; else InfiniBand
  bool active = false;
  std::string state;                      // "ACTIVE", "DOWN"
  double rate = 0;                        // of the line, one way, of one leg [B/s]; 0 = not reported
  unsigned lag_legs = 0;                  // of the bond that the card's driver runs in hardware; 0 = none is reported
  unsigned mtu = 0;                       // of a packet's payload, as the port is set: 256 .. 4096 [B]
  unsigned most_mtu = 0;                  // that it can be set to [B]
  std::uint16_t lid = 0;                  // InfiniBand: its address in the subnet
  bool global_route = false;              // InfiniBand: packets must carry the global address, too
  std::string unusable;                   // why no reliable connection can be made through it; "" = one can
  std::vector<std::uint16_t> partitions;  // P_Keys by their index; 0 = none there
  int numa_node = -1;                     // -1 = not reported
  std::string pci_address;                // "0000:17:00.0"; "" = on no PCI bus
  std::string firmware;
  std::uint64_t most_message = 0;  // [B]
  unsigned most_queue_pairs = 0, most_work = 0, most_completions = 0, most_reads = 0;
  std::vector<RdmaGid> gids;

  std::string name() const { return device + "/" + std::to_string(number); }
};

/// The facts of one endpoint that the other end must know.
struct RdmaAddress {
  bool ethernet = false;
  std::array<std::uint8_t, 16> gid{};
  std::uint16_t lid = 0;
  unsigned mtu = 0;                   // [B]
  unsigned reads = 0;                 // that it answers at once, per queue pair
  std::uint32_t sequence = 0;         // number of the first packet
  std::uint16_t partition = 0;        // P_Key; 0 = not known
  std::array<std::uint8_t, 16> ip{};  // managed: where its connection manager listens
  std::uint16_t service = 0;
  std::vector<std::uint32_t> queue_pairs;
};

/// The kind of queue pairs.
enum class RdmaTransport : std::uint8_t {
  reliable,  // RC: connections; all operations
  datagram,  // UD: a message is one packet, which arrives or does not; sends alone
  dynamic,   // DC: reliable, and connected when it is needed; NVIDIA's cards alone
};

/// How an endpoint is made.
struct RdmaSettings {
  RdmaTransport transport = RdmaTransport::reliable;
  unsigned gid_index = 0;
  unsigned queue_pairs = 1;
  unsigned in_use = 0;         // of them at the same time; 0 = all
  unsigned tx_depth = 128;     // work in flight per queue pair
  unsigned rx_depth = 1;       // receives posted per queue pair
  unsigned inline_size = 0;    // bytes that go with the request itself
  unsigned mtu = 0;            // 0 = the smaller of both ports'
  unsigned traffic_class = 0;  // RoCE: the IP header's; InfiniBand: of the global route
  unsigned service_level = 0;
  unsigned flow_label = 0;  // RoCE: chooses the packets' UDP source port, and so their way; InfiniBand: of the route
  unsigned partition_index = 0;  // of the port's table of P_Keys
  bool managed = false;          // connected by the kernel's connection manager (rdma_cm), which then chooses the route
  // Bytes may reach memory in another order than they were sent, completions last. Not used where their arrival is
  // looked for in memory. Without it, some hosts (EPYC) carry three quarters of a fast port. Cards that cannot leave it
  // out.
  bool relaxed_ordering = false;
};

enum class RdmaOp : std::uint8_t { write, write_immediate, read, send, send_immediate };

/// Memory that a device may reach. Given back with the object; the memory itself is the caller's.
class RdmaMemory {
 public:
  virtual ~RdmaMemory() = default;
  std::uint32_t local_key() const noexcept { return local_key_; }
  std::uint32_t remote_key() const noexcept { return remote_key_; }

 protected:
  std::uint32_t local_key_ = 0, remote_key_ = 0;
};

/// One request.
struct RdmaWork {
  RdmaOp op = RdmaOp::write;
  bool signaled = true;  // ends with a completion; earlier work of its queue pair is then done, too
  bool inlined = false;  // length <= settings.inline_size; the memory may be used again at once
  std::uint32_t length = 0;
  const void* local = nullptr;
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote = 0;     // address at the other end
  std::uint32_t immediate = 0;  // for write_immediate and send_immediate
  std::uint32_t id = 0;         // comes back with the completion
};

struct RdmaCompletion {
  std::uint32_t id = 0;
  int status = 0;            // 0 = done; else for RdmaEndpoint::why()
  std::uint32_t length = 0;  // received
  std::uint32_t immediate = 0;
  unsigned queue = 0;  // index of the queue pair
};

/// Queue pairs of one port with common completion queues, connected to as many of another endpoint. Belongs to one
/// thread at a time.
class RdmaEndpoint {
 public:
  static constexpr unsigned kMostPosted = 64;  // requests in one call
  virtual ~RdmaEndpoint() = default;
  virtual const RdmaAddress& address() const = 0;
  /// The size of packets, once connected [B].
  virtual unsigned mtu() const = 0;
  /// Queue pair i talks to queue pair i of `other`. With several other endpoints, each is connected to its own queue
  /// pairs, by a call with its first one. Throws RunError.
  virtual void connect(const RdmaAddress& other, unsigned first = 0, unsigned others_first = 0, unsigned count = 0) = 0;
  /// Gives up `count` queue pairs for good, connected or failed. They receive nothing, and nothing posted to them
  /// completes any more. Earlier completions may still be polled. The others go on. Throws RunError.
  virtual void give_up(unsigned first, unsigned count) = 0;
  /// Registers memory for local and remote use. Throws RunError: too small a memlock with the number needed.
  virtual std::unique_ptr<RdmaMemory> enroll(std::span<unsigned char> memory) = 0;
  /// A device's memory by its dma-buf: `length` bytes from `offset` of `fd`, known to the other end by `address`.
  virtual std::unique_ptr<RdmaMemory> enroll_dma_buf(int fd, std::uint64_t offset, std::uint64_t length,
                                                     std::uint64_t address) = 0;

  // The hot path: no allocation, no lock, nothing thrown.

  /// Hands over at most kMostPosted requests at once. 0 or an errno.
  virtual int post(unsigned queue, std::span<const RdmaWork> work) noexcept = 0;
  /// One receive of `length` bytes. 0 or an errno.
  virtual int receive(unsigned queue, void* to, std::uint32_t length, std::uint32_t local_key,
                      std::uint32_t id) noexcept = 0;
  /// The completions since the last call: how many, or -errno.
  virtual int poll(std::span<RdmaCompletion> done) noexcept = 0;
  virtual int poll_received(std::span<RdmaCompletion> done) noexcept = 0;

  /// Has a completion failed since nothing gets through to the other end? Else of the memory, or of this program.
  virtual bool cut_off(int status) const = 0;
  /// A failed completion in words, with what to do.
  virtual std::string why(int status) const = 0;
};

/// The RDMA devices of this machine that this process may use.
class RdmaBackend {
 public:
  virtual ~RdmaBackend() = default;
  /// Why there is none ("no RDMA device: ..."), or nothing.
  virtual std::optional<std::string> unusable() const = 0;
  /// The ports of all devices, by name and number, also those that are down.
  virtual const std::vector<RdmaPort>& ports() const = 0;
  /// Queue pairs on `port`, one of ports(), not yet connected. Throws RunError.
  virtual std::unique_ptr<RdmaEndpoint> open(const RdmaPort& port, const RdmaSettings& settings) = 0;
};

}  // namespace headrace
