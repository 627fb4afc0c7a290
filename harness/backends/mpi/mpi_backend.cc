// MPI: who else was launched, and collectives in host memory.
#include <fmt/format.h>
#include <mpi.h>

#include <climits>
#include <cstdlib>

#include "harness/backends/plugin.h"
#include "harness/base/error.h"

#ifdef OPEN_MPI
/// Open MPI's own variable of this name: seconds between its decision to abort this process and the abort.
extern "C" int opal_abort_delay __attribute__((weak));
#endif

namespace headrace {
namespace {

#ifdef OPEN_MPI
constexpr int kAbortDelay_s = 120;
#endif

/// Open MPI ends each process as soon as its launcher is gone, and unwritten results are lost. The parent process
/// watches the launcher instead: it asks this process to stop and gives it time to write.
void outlive_launcher() {
#ifdef OPEN_MPI
  if (&opal_abort_delay != nullptr) opal_abort_delay = kAbortDelay_s;
#endif
}

void check(int code, const char* operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw RunError(fmt::format("{}: {}", operation, text));
}

/// MPI counts in int.
int int_count(std::uint64_t count) {
  if (count > INT_MAX) throw RunError(fmt::format("MPI counts to {}: {} elements are too many", INT_MAX, count));
  return static_cast<int>(count);
}

class Group final : public MpiGroup {
 public:
  explicit Group(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  ~Group() override {
    int finished = 0;
    MPI_Finalized(&finished);
    if (finished == 0) MPI_Comm_free(&comm_);
  }
  unsigned rank() const override { return static_cast<unsigned>(rank_); }
  unsigned size() const override { return static_cast<unsigned>(size_); }
  void barrier() override { check(MPI_Barrier(comm_), "MPI_Barrier"); }

  void run(Collective what, const float* in, float* out, std::uint64_t count) override {
    const bool in_place = in == out;
    const void* from = in_place ? MPI_IN_PLACE : in;
    const int all = int_count(count), part = all / size_;
    switch (what) {
      case Collective::all_reduce:
        return check(MPI_Allreduce(from, out, all, MPI_FLOAT, MPI_SUM, comm_), "MPI_Allreduce");
      case Collective::all_gather:
        return check(MPI_Allgather(from, part, MPI_FLOAT, out, part, MPI_FLOAT, comm_), "MPI_Allgather");
      case Collective::reduce_scatter:
        return check(MPI_Reduce_scatter_block(from, out, part, MPI_FLOAT, MPI_SUM, comm_), "MPI_Reduce_scatter_block");
      case Collective::broadcast:
        return check(MPI_Bcast(rank_ == 0 ? const_cast<float*>(in) : out, all, MPI_FLOAT, 0, comm_), "MPI_Bcast");
      case Collective::all_to_all:
        return check(MPI_Alltoall(from, part, MPI_FLOAT, out, part, MPI_FLOAT, comm_), "MPI_Alltoall");
      case Collective::send_recv: {
        const int next = (rank_ + 1) % size_, before = (rank_ + size_ - 1) % size_;
        return check(in_place ? MPI_Sendrecv_replace(out, all, MPI_FLOAT, next, 0, before, 0, comm_, MPI_STATUS_IGNORE)
                              : MPI_Sendrecv(in, all, MPI_FLOAT, next, 0, out, all, MPI_FLOAT, before, 0, comm_,
                                             MPI_STATUS_IGNORE),
                     "MPI_Sendrecv");
      }
      case Collective::reduce:
        return check(MPI_Reduce(rank_ == 0 ? from : in, out, all, MPI_FLOAT, MPI_SUM, 0, comm_), "MPI_Reduce");
      case Collective::gather: {
        const void* own = !in_place ? in : rank_ == 0 ? MPI_IN_PLACE : in + std::ptrdiff_t{rank_} * part;
        return check(MPI_Gather(own, part, MPI_FLOAT, out, part, MPI_FLOAT, 0, comm_), "MPI_Gather");
      }
      case Collective::scatter: {
        void* own = !in_place ? out : rank_ == 0 ? MPI_IN_PLACE : out + std::ptrdiff_t{rank_} * part;
        return check(MPI_Scatter(in, part, MPI_FLOAT, own, part, MPI_FLOAT, 0, comm_), "MPI_Scatter");
      }
      case Collective::all_to_all_v:
        throw RunError("all_to_all_v is not measured over MPI");
    }
  }

 private:
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
};

/// One thread at a time calls MPI, but not always the same one. Each sees the effects of the earlier ones. Open MPI
/// takes locks as soon as more than one thread may ever call. An all-reduce of 8 bytes then takes half as long again.
/// It keeps nothing per thread, so that calls in turn need none.
#ifdef OPEN_MPI
constexpr int kThreads = MPI_THREAD_SINGLE;
#else
constexpr int kThreads = MPI_THREAD_SERIALIZED;
#endif

class Library final : public MessagePassing {
 public:
  void start() override {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, kThreads, &provided), "MPI_Init_thread");
    if (provided < kThreads)
      throw RunError("this MPI cannot be called from more than one thread (MPI_THREAD_SERIALIZED)");
    outlive_launcher();
    check(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
  }
  void stop() override {
    MPI_Comm_free(&world_);
    check(MPI_Finalize(), "MPI_Finalize");
  }
  unsigned rank() const override { return static_cast<unsigned>(rank_); }
  unsigned size() const override { return static_cast<unsigned>(size_); }

  std::vector<std::string> all_gather(const std::string& own) override {
    const auto n = static_cast<std::size_t>(size_);
    const int length = int_count(own.size());
    std::vector<int> lengths(n), starts(n);
    check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, world_), "MPI_Allgather");
    for (std::size_t i = 1; i < n; ++i) starts[i] = starts[i - 1] + lengths[i - 1];
    std::string all(static_cast<std::size_t>(starts.back() + lengths.back()), '\0');
    check(MPI_Allgatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, world_),
          "MPI_Allgatherv");
    std::vector<std::string> said;
    for (std::size_t i = 0; i < n; ++i)
      said.push_back(all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
    return said;
  }

  std::unique_ptr<MpiGroup> group(const std::vector<unsigned>& ranks) override {
    const std::vector<int> members(ranks.begin(), ranks.end());
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    check(MPI_Comm_group(world_, &all), "MPI_Comm_group");
    check(MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some), "MPI_Group_incl");
    check(MPI_Comm_create_group(world_, some, 0, &comm), "MPI_Comm_create_group");
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    return std::make_unique<Group>(comm);
  }

  std::vector<std::pair<std::string, std::string>> facts() const override {
    std::vector<std::pair<std::string, std::string>> all{{"library", version()}};
    // What decides how Open MPI and UCX send: a named list, not the whole environment.
    for (const char* name : {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_mtl",
                             "OMPI_MCA_coll_tuned_use_dynamic_rules", "UCX_TLS", "UCX_NET_DEVICES"}) {
      if (const char* value = std::getenv(name)) all.emplace_back(name, value);
    }
    return all;
  }
  static std::string version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string all(text);
    return all.substr(0, all.find_first_of(",\n"));  // "Open MPI v4.1.4"
  }

 private:
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

class MpiPlugin final : public Plugin {
 public:
  std::string version() const override { return Library::version(); }
  std::unique_ptr<MessagePassing> message_passing() override { return std::make_unique<Library>(); }
};

}  // namespace
}  // namespace headrace

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::MpiPlugin plugin;
  return &plugin;
}
