#include "harness/backends/nccl/members.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <utility>

#include "harness/base/clock.h"
#include "harness/base/error.h"

namespace headrace::nccl {
namespace {

constexpr int kSymmetric = 1;    // NCCL_WIN_COLL_SYMMETRIC, from 2.27 on
constexpr unsigned kPolls = 64;  // of a stream, between two looks at the communicator

}  // namespace

Members::Members(const Api& api, unsigned size, std::span<const NcclMember> members, Complaints complaints)
    : api_(api), complaints_(std::move(complaints)), size_(size) {
  for (const NcclMember& who : members) all_.push_back({.who = who});
}

void Members::join(const ncclUniqueId& id) {
  try {
    for (Member& m : all_) prepare(m);
    together("join", [&] {
      for (Member& m : all_) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 1;  // as nccl-tests: of others NCCL makes and joins a thread for each operation
        use(m);
        expect(api_.init(&m.comm, static_cast<int>(size_), id, static_cast<int>(m.who.rank), &config), "join");
      }
    });
    settle("join");
    joined_ = true;
  } catch (...) {
    abort();
    throw;
  }
  if (given_up_) abort();
}

/// The graphs of all members, in their order. They are given back with the object, all being well: of a group that was
/// given up they stay.
class Members::Graphs {
 public:
  explicit Graphs(Members& owner) : owner_(owner) {}
  ~Graphs() {
    if (owner_.given_up()) return;
    for (cudaGraphExec_t one : ready_)
      if (one != nullptr) cudaGraphExecDestroy(one);
  }
  Graphs(const Graphs&) = delete;

  /// `queue`: the recorded calls.
  template <class Queue>
  void record(Queue queue) {
    for (Member& m : owner_.all_) {
      owner_.use(m);
      owner_.expect(m, cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeThreadLocal), "begin a graph");
    }
    queue();
    for (Member& m : owner_.all_) {
      owner_.use(m);
      cudaGraph_t graph = nullptr;
      owner_.expect(m, cudaStreamEndCapture(m.stream, &graph), "end a graph");
      cudaGraphExec_t one = nullptr;
      const cudaError_t code = cudaGraphInstantiate(&one, graph, 0);
      cudaGraphDestroy(graph);
      owner_.expect(m, code, "make a graph");
      ready_.push_back(one);
      owner_.expect(m, cudaGraphUpload(one, m.stream), "upload a graph");  // or the first launch would, timed
    }
  }
  void launch() {
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      Member& m = owner_.all_[i];
      if (ready_.size() > 1) owner_.use(m);
      owner_.expect(m, cudaGraphLaunch(ready_[i], m.stream), "launch a graph");
    }
  }

 private:
  Members& owner_;
  std::vector<cudaGraphExec_t> ready_;
};

void Members::register_buffers(const std::vector<NcclMemory>& buffers, NcclRegistration how) {
  // All ranks make windows at once, those of this process, too, piece by piece, with the end of the group.
  for (std::size_t piece = 0; piece < buffers.front().size(); ++piece) {
    for (Member& m : all_) m.registered.push_back(nullptr);
    const auto one_of_each = [&] {
      for (std::size_t i = 0; i < all_.size(); ++i) {
        Member& m = all_[i];
        const std::span<unsigned char> memory = buffers[i][piece];
        use(m);
        m.how = how;
        expect(how == NcclRegistration::windows
                   ? api_.register_window(m.comm, memory.data(), memory.size(), &m.registered.back(), kSymmetric)
                   : api_.register_buffer(m.comm, memory.data(), memory.size(), &m.registered.back()),
               "register a buffer");
      }
    };
    if (how == NcclRegistration::windows)
      together("register windows", one_of_each);
    else
      one_of_each();
    settle("register a buffer");
  }
}

bool Members::took_all() const {
  return std::ranges::all_of(all_, [](const Member& m) {
    return !m.registered.empty() && std::ranges::find(m.registered, nullptr) == m.registered.end();
  });
}

void Members::run(const NcclCalls& calls, const std::vector<NcclBuffers>& buffers) {
  use(all_.front());  // NCCL leaves the thread with the GPU that it found
  adds_bytes_ = reduces(calls.what) && (calls.element == NcclElement::f8e4m3 || calls.element == NcclElement::f8e5m2);
  const auto queue_all = [&](std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) queue(calls, buffers);
  };
  // The last batch may be a smaller one.
  Graphs whole(*this), rest(*this);
  const std::uint64_t last = calls.times % calls.batch;
  if (calls.graph && calls.times >= calls.batch) whole.record([&] { queue_all(calls.batch); });
  if (calls.graph && last > 0) rest.record([&] { queue_all(last); });
  if (calls.meet) {
    std::vector<NcclBuffers> words;
    for (const Member& m : all_) words.push_back({m.word, m.word});
    queue({.what = Collective::all_reduce, .count = 1}, words);
    drain();
  }
  times_.begin_ns = now_ns();
  for (std::uint64_t done = 0; done < calls.times;) {
    const std::uint64_t now = std::min(calls.batch, calls.times - done);
    if (!calls.graph)
      queue_all(now);
    else
      (now == calls.batch ? whole : rest).launch();
    drain();
    times_.batch_end_ns.push_back(now_ns());  // room for all was made before
    done_.store(done += now, std::memory_order_relaxed);
  }
}

void Members::leave() {
  for (Member& m : all_) {
    use(m);
    for (void* handle : std::exchange(m.registered, {})) {
      if (handle == nullptr) continue;
      (m.how == NcclRegistration::windows ? api_.deregister_window : api_.deregister_buffer)(m.comm, handle);
    }
    if (m.comm) api_.destroy(std::exchange(m.comm, nullptr));
    if (m.stream) cudaStreamDestroy(std::exchange(m.stream, nullptr));
    if (m.word) cudaFree(std::exchange(m.word, nullptr));
  }
}

void Members::abort() noexcept {
  if (aborted_.exchange(true)) return;
  for (Member& m : all_)
    if (m.comm) api_.abort(m.comm);
}

std::string Members::names() const {
  const NcclMember &first = all_.front().who, &last = all_.back().who;
  if (all_.size() == 1) return all_.front().name();
  return fmt::format("ranks {} to {} (gpu{} to gpu{})", first.rank, last.rank, first.gpu, last.gpu);
}

void Members::fail(const std::string& who, const char* what, const std::string& why) {
  given_up_ = true;
  throw RunError(fmt::format("NCCL: {}: {}: {}{}", who, what, why, complained()));
}

void Members::make_room(const NcclCalls& calls) {
  done_ = 0;
  times_ = {};
  times_.batch_end_ns.reserve((calls.times + calls.batch - 1) / calls.batch);
}

std::string Members::Member::name() const { return fmt::format("rank {} (gpu{})", who.rank, who.gpu); }

void Members::use(const Member& m) { expect(m, cudaSetDevice(static_cast<int>(m.who.gpu)), "use"); }

void Members::prepare(Member& m) {
  use(m);
  expect(m, cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking), "make a stream");
  void* word = nullptr;
  expect(m, cudaMalloc(&word, sizeof(float)), "make room for a word");
  m.word = static_cast<float*>(word);
  expect(m, cudaMemset(word, 0, sizeof(float)), "clear a word");
  expect(m, cudaDeviceSynchronize(), "clear a word");
}

/// `calls` as one of NCCL's groups, which is ended whatever they throw. NCCL counts open groups per thread: with one
/// left open, everything later is only queued, even an abort.
template <class Calls>
void Members::together(const char* what, Calls calls) {
  expect(api_.group_start(), what);
  try {
    calls();
  } catch (...) {
    api_.group_end();
    throw;
  }
  expect(api_.group_end(), what);
}

void Members::queue(const NcclCalls& calls, const std::vector<NcclBuffers>& buffers) {
  const bool both_ways = calls.what == Collective::all_to_all || calls.what == Collective::send_recv ||
                         calls.what == Collective::gather || calls.what == Collective::scatter ||
                         calls.what == Collective::all_to_all_v;
  if (all_.size() == 1 && !both_ways) {  // as nccl-tests and frameworks call it
    queue_one(all_.front(), calls, buffers.front());
  } else {
    together("group", [&] {
      for (std::size_t i = 0; i < all_.size(); ++i) queue_one(all_[i], calls, buffers[i]);
    });
  }
  settle("queue an operation");
}

void Members::queue_one(Member& m, const NcclCalls& calls, const NcclBuffers& b) {
  constexpr ncclDataType_t kTypes[] = {ncclFloat, ncclHalf, ncclBfloat16, static_cast<ncclDataType_t>(10),
                                       static_cast<ncclDataType_t>(11)};  // ncclFloat8e4m3, e5m2: from 2.24 on
  constexpr ncclRedOp_t kReductions[] = {ncclSum, ncclMax, ncclMin};
  const ncclDataType_t type = kTypes[static_cast<std::size_t>(calls.element)];
  const ncclRedOp_t reduction = kReductions[static_cast<std::size_t>(calls.reduction)];
  const std::uint64_t count = calls.count, part = count / size_;
  const std::uint64_t each = layout_of(calls.element).bytes, part_bytes = part * each;
  const auto at = [&](const void* base, std::uint64_t parts) {
    return static_cast<const unsigned char*>(base) + parts * part_bytes;
  };
  const auto to = [&](void* base, std::uint64_t parts) {
    return static_cast<unsigned char*>(base) + parts * part_bytes;
  };
  const auto send = [&](const void* from, std::uint64_t n, unsigned whom) {
    expect(api_.send(from, n, type, static_cast<int>(whom), m.comm, m.stream), "send");
  };
  const auto receive = [&](void* into, std::uint64_t n, unsigned from) {
    expect(api_.receive(into, n, type, static_cast<int>(from), m.comm, m.stream), "receive");
  };
  const bool in_place = b.in == b.out;
  const unsigned rank = m.who.rank, next = (rank + 1) % size_, before = (rank + size_ - 1) % size_;
  switch (calls.what) {
    case Collective::all_reduce:
      return expect(api_.all_reduce(b.in, b.out, count, type, reduction, m.comm, m.stream), "all_reduce");
    case Collective::all_gather:
      return expect(api_.all_gather(in_place ? at(b.in, rank) : b.in, b.out, part, type, m.comm, m.stream),
                    "all_gather");
    case Collective::reduce_scatter:
      return expect(
          api_.reduce_scatter(b.in, in_place ? to(b.out, rank) : b.out, part, type, reduction, m.comm, m.stream),
          "reduce_scatter");
    case Collective::broadcast:
      return expect(api_.broadcast(b.in, b.out, count, type, 0, m.comm, m.stream), "broadcast");
    case Collective::reduce:
      return expect(api_.reduce(b.in, b.out, count, type, reduction, 0, m.comm, m.stream), "reduce");
    case Collective::all_to_all:
      for (unsigned r = 0; r < size_; ++r) {
        send(at(b.in, r), part, r);
        receive(to(b.out, r), part, r);
      }
      return;
    case Collective::all_to_all_v: {
      const std::vector<std::uint64_t>& begins = calls.parts;
      const std::uint64_t own = begins[rank + 1] - begins[rank];
      for (unsigned r = 0; r < size_; ++r) {
        if (const std::uint64_t n = begins[r + 1] - begins[r]; n > 0)
          send(static_cast<const unsigned char*>(b.in) + begins[r] * each, n, r);
        if (own > 0) receive(static_cast<unsigned char*>(b.out) + r * own * each, own, r);
      }
      return;
    }
    case Collective::send_recv:
      send(b.in, count, next);
      return receive(b.out, count, before);
    case Collective::gather:  // as nccl-tests: the library has none before 2.28
      if (rank != 0 || !in_place) send(in_place ? at(b.in, rank) : b.in, part, 0);
      for (unsigned r = in_place ? 1 : 0; rank == 0 && r < size_; ++r) receive(to(b.out, r), part, r);
      return;
    case Collective::scatter:
      for (unsigned r = in_place ? 1 : 0; rank == 0 && r < size_; ++r) send(at(b.in, r), part, r);
      if (rank != 0 || !in_place) receive(in_place ? to(b.out, rank) : b.out, part, 0);
      return;
  }
}

void Members::drain() {
  for (Member& m : all_) {
    if (all_.size() > 1) use(m);
    for (unsigned polls = 1;; ++polls) {
      const cudaError_t state = cudaStreamQuery(m.stream);
      if (state == cudaSuccess) break;
      if (state != cudaErrorNotReady) fail(m.name(), "operation", cudaGetErrorString(state));
      if (polls % kPolls != 0) continue;
      go_on();
      check(m, "operation");
      ::sched_yield();
    }
    check(m, "operation");
  }
}

/// Only NCCL_COMM_BLOCKING=0 makes calls come back before they are done.
void Members::settle(const char* what) {
  if (!in_progress_) return;
  for (Member& m : all_) {
    while (!check(m, what)) {
      go_on();
      ::sched_yield();
    }
  }
}

/// False: in progress. Throws errors that the library found in the meantime: a network that failed, a peer that is
/// gone.
bool Members::check(Member& m, const char* what) {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t asked = api_.async_error(m.comm, &state);
  if (asked != ncclSuccess) state = asked;
  if (state == ncclInProgress) return false;
  if (state != ncclSuccess) fail(m.name(), what, words(state, m.comm));
  return true;
}

/// Running work is no longer waited for.
void Members::go_on() const {
  if (given_up_) throw RunError("NCCL: given up");
}

void Members::expect(ncclResult_t code, const char* what) {
  if (code == ncclInProgress) in_progress_ = true;
  if (code == ncclSuccess || code == ncclInProgress) return;
  given_up_ = true;
  if (adds_bytes_ && code == ncclInvalidArgument)
    throw Unsupported(fmt::format(
        "NCCL does not calculate with numbers of 8 bits on these GPUs (those of compute capability 9.0 can): {}{}",
        what, complained()));
  throw RunError(fmt::format("NCCL: {}: {}{}", what, words(code, nullptr), complained()));
}

void Members::expect(const Member& m, cudaError_t code, const char* what) {
  if (code != cudaSuccess) fail(m.name(), what, cudaGetErrorString(code));
}

std::string Members::words(ncclResult_t code, ncclComm_t comm) const {
  const char* more = api_.last_error(comm);
  return fmt::format("{}{}{}", api_.error_text(code), more && *more ? ": " : "", more ? more : "");
}

std::string Members::complained() const {
  const std::string said = complaints_();
  return said.empty() ? said : "; NCCL warned: " + said;
}

}  // namespace headrace::nccl
