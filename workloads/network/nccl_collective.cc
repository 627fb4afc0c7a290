#include "workloads/network/nccl_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "harness/backends/loader.h"
#include "harness/backends/nccl_log.h"
#include "harness/base/units.h"
#include "harness/workload/ranks/team.h"
#include "workloads/gpu/planned.h"
#include "workloads/network/binding.h"
#include "workloads/network/rank_gpus.h"

namespace headrace::network {

/// One GPU of this process.
struct NcclCollective::End {
  NcclBuffers buffers() const { return {in->begin() + offset, (out ? out : in)->begin() + offset}; }
  NcclMemory memory() const {
    NcclMemory all{{in->begin(), in->size()}};
    if (out) all.emplace_back(out->begin(), out->size());
    return all;
  }
  Gpu& gpu;
  NcclMember member;
  std::uint64_t offset = 0;
  std::unique_ptr<GpuMemory> in{}, out{}, found{};  // `out`: none in place; `found`: of the host, what a check finds
  std::unique_ptr<GpuStream> work{};
};

/// This process's members of one group.
struct NcclCollective::Part {
  std::uint64_t bytes() const { return count * layout_of(of.element).bytes; }
  ExpectedSums expected(Collective what, const End& end) const {
    return {what, end.member.rank, size, count, of, parts};
  }

  std::size_t group = 0;  // of groups_
  unsigned size = 0;
  std::uint64_t count = 0;  // elements of one operation
  Numbers of;
  std::vector<std::uint64_t> parts;  // of all_to_all_v
  std::vector<NcclMember> members;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<NcclBuffers> buffers;
  NcclTimes times;                    // of what operate() did last
  std::unique_ptr<NcclGroup> joined;  // goes before the memory
};

namespace {

/// Is the sent data still needed when the result comes?
constexpr bool sends_apart(Collective c) {
  return c == Collective::all_to_all || c == Collective::all_to_all_v || c == Collective::send_recv;
}

std::string in_words(std::uint64_t bytes) {
  return format_quantity(static_cast<double>(bytes), Dimension::bytes, true);
}

NcclRegistration registration_of(Params& p) {
  const bool buffers =
      p.flag("registered", false,
             "buffers are registered with the library, so that it moves them without copies of its own "
             "where it can");
  const bool windows =
      p.flag("symmetric", false, "buffers are registered as symmetric windows (NCCL 2.27), for kernels of their own");
  if (buffers && windows) p.conflict("symmetric", "windows are registered buffers: leave `registered` out");
  return windows ? NcclRegistration::windows : buffers ? NcclRegistration::buffers : NcclRegistration::none;
}

}  // namespace

NcclCollective::NcclCollective(Params& p, Collective what)
    : what_(what),
      message_size_(p.bytes("message_size", 25_MiB, {.min = 8, .max = static_cast<double>(16_GiB), .multiple_of = 4},
                            "bytes of one operation; of the whole buffer where each rank has a part of it; need: those "
                            "of the job's own calls")),
      in_place_(p.flag("in_place", !sends_apart(what), "the result replaces the sent data, as frameworks do")),
      of_(numbers(p, what)),
      calls_(p.count("calls", 0, {.min = 0, .max = 1e7}, "of one repetition; 0: as many as take about 0.2 s")),
      batch_(p.count("batch", 20, {.min = 1, .max = 1000}, "queued at once, then waited for")),
      graph_(p.flag("graph", false,
                    "a batch is recorded once as a CUDA graph and launched, as compiled training steps are")),
      registration_(registration_of(p)),
      allocator_(
          p.choice("allocator", "auto", {"auto", "nccl", "cuda"},
                   "of buffers: nccl: ncclMemAlloc (NCCL 2.19), which switches and windows need; cuda: cudaMalloc; "
                   "auto: nccl's where there is one")),
      offset_(p.bytes("buffer_offset", 0, {.min = 0, .max = 4096},
                      "buffers begin so far behind a place that is aligned: whole elements")),
      imbalance_(what != Collective::all_to_all_v
                     ? 1
                     : p.ratio("imbalance", 2, {.min = 1, .max = 1024},
                               "what the busiest rank gets, over the mean: tokens of popular experts")),
      join_s_(p.seconds("join_timeout", 60, {.min = 0.1, .max = 3600}, "for all ranks to be there, and connected")),
      peer_s_(p.seconds("peer_timeout", 30, {.min = 0.1, .max = 3600},
                        "for the operations queued at once to end; of large messages that much longer which a network "
                        "of 50 MB/s takes")),
      groups_(p) {
  if (message_size_ % layout_of(of_.element).bytes != 0) p.conflict("message_size", "must be whole elements");
  if (offset_ % layout_of(of_.element).bytes != 0) p.conflict("buffer_offset", "must be whole elements");
  if (in_place_ && sends_apart(what))
    p.conflict("in_place", "cannot be: the sent data is still needed when the result comes");
  if (registration_ == NcclRegistration::windows && allocator_ == "cuda")
    p.conflict("allocator", "windows need memory of NCCL's own");
}
NcclCollective::~NcclCollective() = default;

Numbers NcclCollective::numbers(Params& p, Collective what) {
  const auto index = [](const auto& names, const std::string& word) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
  };
  Numbers of;
  of.element = static_cast<NcclElement>(
      index(kNcclElements, p.choice("element", "f32", {kNcclElements.begin(), kNcclElements.end()},
                                    "type of the numbers: 32, 16 or 8 bits; of 8 bits, exponent and mantissa")));
  if (reduces(what))
    of.reduction = static_cast<NcclReduction>(
        index(kNcclReductions, p.choice("reduction", "sum", {kNcclReductions.begin(), kNcclReductions.end()},
                                        "how the ranks' numbers are combined")));
  return of;
}

Footprint NcclCollective::footprint() const {
  // As on a node with eight GPUs behind NVLink: communicators are made, and known numbers moved before and after.
  constexpr double kBus = 100e9, kJoin_s = 2.5;
  const double operation_s = factor(gpu::PlannedNode::gpus) * static_cast<double>(message_size_) / kBus;
  Footprint f;
  f.repetition_s = std::max(kRepetition_s, 5 * operation_s) + 0.05;
  f.around_s = kJoin_s + (graph_ ? 10 : 9) * operation_s;
  if (calls_ != 0) f.repetition_s = f.around_s = 0;  // of the user's choice
  return f;
}

std::optional<Skip> NcclCollective::check(Node& node) {
  if (node.team().size() < 2) return check_here(node);
  ranks::Team team(node.ranks(), node.team());
  try {
    const auto seen = in_concert(team, "what each rank has", kWords_s, [&] {
      if (const auto skip = check_here(node)) throw Unsupported(skip->reason);
      return seen_gpus(node.backends().gpu());
    });
    gpu_ = share_gpus_out(team.places(), seen).at(team.rank());
  } catch (const Unsupported& e) {
    return Skip{e.what()};
  }
  return std::nullopt;
}

std::optional<Skip> NcclCollective::check_here(Node& node) {
  for (const Gives backend : {Gives::gpu_collectives, Gives::gpus})
    if (std::string why = node.backends().why_not(backend); !why.empty()) return Skip{std::move(why)};
  if (std::string why = node.backends().nccl().why_not(of_.element); !why.empty()) return Skip{std::move(why)};
  if (std::string why = node.backends().nccl().why_not(registration_); !why.empty()) return Skip{std::move(why)};
  if (allocator_ == "nccl" || registration_ == NcclRegistration::windows)
    if (std::string why = node.backends().nccl().why_no_memory(); !why.empty()) return Skip{std::move(why)};
  std::vector<RankPlace> places = places_of(node);
  if (places.size() < 2)
    return Skip{"one GPU moves nothing between GPUs: needs two, or several ranks (mpirun -n 8 headrace run ...)"};
  return groups_.split(std::move(places), what_, message_size_, layout_of(of_.element).bytes);
}

void NcclCollective::prepare(Node& node, const DataProgress&) {
  team_ = std::make_unique<ranks::Team>(node.ranks(), node.team());
  broken_.clear();
  connected_ = false;
  memory_.clear();
  NcclBackend& nccl = node.backends().nccl();
  const auto versions = in_concert(*team_, "make room for messages", kStep_s, [&] {
    for (std::size_t g = 0; g < groups_.size(); ++g) add_part(node, g);
    // By way of a GPU of this process's own: in exclusive mode the others have theirs.
    std::vector<unsigned> own;
    for (const Part& part : parts_)
      for (const NcclMember& m : part.members)
        if (std::find(own.begin(), own.end(), m.gpu) == own.end()) own.push_back(m.gpu);
    watch_.open(node.backends().gpu(), own);
    nccl.listen();
    return nccl.version();
  });
  for (unsigned rank = 1; rank < versions.size(); ++rank)
    if (versions[rank] != versions[0])
      throw RunError(
          fmt::format("{} has NCCL {}, {} has {}: they do not talk; load the same on all nodes "
                      "(LD_LIBRARY_PATH, the container's image)",
                      team_->who(rank), versions[rank], team_->who(0), versions[0]));
  join(nccl);
  const double first_s = slowest_of_all(check_data());
  if (first_s > kLongest_s) {
    const double rate = static_cast<double>(message_size_) / first_s;
    guarded("repeat the operation", kStep_s, [&] {
      throw Unsupported(
          fmt::format("one operation took {:.0f} s, {} of algbw: too long to repeat; a smaller message_size "
                      "shows the rate",
                      first_s, format_quantity(rate, Dimension::bytes_per_second)));
    });
  }
  connected_ = true;
  if (graph_) check_data();  // recorded, too
  report_facts(node);        // NCCL writes nothing more
  const std::uint64_t enough = calls_for(kRepetition_s);
  chosen_ = calls_ != 0 ? calls_ : enough;
}

void NcclCollective::before_phase(unsigned, unsigned, std::uint64_t) {
  if (!broken_.empty()) throw RunError(broken_);
  watch_.begin();  // what the buffers hold costs no time: check_data() fills them
}

void NcclCollective::run(Worker& worker) {
  slowest_s_ = 0;
  guarded("operations", kStep_s, [&] { operate(chosen_, patience_s(), true); });
  for (const Part& part : parts_) {
    std::uint64_t begin = part.times.begin_ns, left = chosen_;
    for (const std::uint64_t end : part.times.batch_end_ns) {
      // The GPUs go through a batch by themselves: only its mean is known.
      const std::uint64_t now = std::min({batch_, most_at_once_, left});
      worker.recorder.ops(begin, end, static_cast<std::uint32_t>(now), now * part.bytes());
      begin = end;
      left -= now;
    }
    slowest_s_ = std::max(slowest_s_, 1e-9 * static_cast<double>(begin - part.times.begin_ns));
  }
}

std::string NcclCollective::disturbance() {
  // A line for what disturbed this repetition, then one for each counter that rose.
  std::string own = watch_.end();
  for (const std::string& note : watch_.notes()) own += "\n" + note;
  std::string why;
  const std::vector<std::string> said = team_->all_gather("the reports of the GPUs", own, kWords_s);
  for (unsigned rank = 0; rank < said.size(); ++rank) {
    const std::string who = several() ? team_->who(rank) + ": " : "";
    std::size_t at = said[rank].find('\n');
    if (const std::string held = said[rank].substr(0, at); !held.empty()) why += (why.empty() ? "" : "; ") + who + held;
    while (at != std::string::npos) {
      const std::size_t end = said[rank].find('\n', at + 1);
      const std::string note = who + said[rank].substr(at + 1, end == std::string::npos ? end : end - at - 1);
      if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
      at = end;
    }
  }
  return why;
}

void NcclCollective::report(const Repetition&, MetricSink& sink) const {
  const double own_s = slowest_s_ / static_cast<double>(chosen_);
  const auto said = team_->all_gather("time of one operation", fmt::format("{}", own_s), kWords_s);
  std::vector<double> times(groups_.size(), 0);
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (const unsigned member : groups_[g]) times[g] = std::max(times[g], std::stod(said.at(several() ? member : 0)));
  groups_.report(times, what_, message_size_, sink, [this](std::size_t n) { return factor(n); });
}

std::vector<WrongBlock> NcclCollective::verify(const DataProgress&) {
  check_data();  // once more, after the load; throws
  return {};
}

void NcclCollective::cleanup(Node&) { parts_.clear(); }

std::vector<RankPlace> NcclCollective::places_of(Node& node) {
  std::vector<RankPlace> places;
  if (node.ranks().size() > 1) {
    for (const unsigned rank : node.team()) places.push_back(node.ranks().places()[rank]);
  } else {
    for (unsigned i = 0; i < node.backends().gpu().count(); ++i) places.push_back({node.ranks().host(0), 0, i});
  }
  return places;
}

void NcclCollective::add_part(Node& node, std::size_t g) {
  Part part;
  part.group = g;
  part.size = static_cast<unsigned>(groups_[g].size());
  part.of = of_;
  part.count = groups_.count(g, what_, message_size_);
  for (unsigned rank = 0; rank < part.size; ++rank) {
    const unsigned member = groups_[g][rank];
    if (!several())
      part.members.push_back({rank, member});
    else if (member == team_->rank())
      part.members.push_back({rank, gpu_});
  }
  if (part.members.empty()) return;
  if (what_ == Collective::all_to_all_v) part.parts = uneven_parts(part.count, part.size, imbalance_of(part.size));
  const std::uint64_t each = layout_of(of_.element).bytes;
  const std::uint64_t in = offset_ + part.bytes();
  // Symmetric windows are of one size on all ranks.
  const std::uint64_t out = in_place_            ? 0
                            : part.parts.empty() ? in
                                                 : offset_ + part.size * largest_part(part.parts) * each;
  for (const NcclMember& m : part.members) {
    Gpu& gpu = node.backends().gpu().gpu(m.gpu);
    if (const auto free = gpu.free_memory();
        free && static_cast<double>(in + out) > kMostMemory * static_cast<double>(*free))
      throw Unsupported(fmt::format("gpu{} has {} of {} of memory free, and its buffers need {}", m.gpu,
                                    in_words(*free), in_words(gpu.facts().memory), in_words(in + out)));
    auto end = std::make_unique<End>(End{.gpu = gpu, .member = m, .offset = offset_});
    end->in = allocate(node, m.gpu, in);
    if (out > 0) end->out = allocate(node, m.gpu, out);
    end->found = gpu.pinned(sizeof(GpuWrongElements), false);
    end->work = gpu.stream();
    part.buffers.push_back(end->buffers());
    part.ends.push_back(std::move(end));
  }
  parts_.push_back(std::move(part));
}

std::unique_ptr<GpuMemory> NcclCollective::allocate(Node& node, unsigned gpu, std::uint64_t bytes) {
  NcclBackend& nccl = node.backends().nccl();
  std::string why = allocator_ == "cuda" ? "" : nccl.why_no_memory();
  if (allocator_ != "cuda" && why.empty()) {
    try {
      auto memory = nccl.allocate(gpu, bytes);
      if (memory_.empty()) memory_ = "by ncclMemAlloc";
      return memory;
    } catch (const RunError& e) {
      if (allocator_ == "nccl" || registration_ == NcclRegistration::windows) throw;
      why = e.what();
    }
  }
  memory_ = "by cudaMalloc" + (why.empty() ? "" : ": " + why);
  return node.backends().gpu().gpu(gpu).allocate(bytes);
}

void NcclCollective::join(NcclBackend& nccl) {
  const bool names = several() && !parts_.empty() && parts_.front().members.front().rank == 0;
  const auto said =
      in_concert(*team_, "name the groups", kStep_s, [&] { return names ? nccl.make_id() : std::string(); });
  guarded("join the groups", kStep_s, [&] {
    for (Part& part : parts_)
      part.joined = nccl.join(several() ? said.at(groups_[part.group].front()) : nccl.make_id(), part.size,
                              part.members, join_s_);
  });
  if (registration_ == NcclRegistration::none) return;
  took_buffers_ = true;
  guarded("register buffers", kStep_s, [&] {
    for (Part& part : parts_) {
      std::vector<NcclMemory> memory;
      for (const auto& end : part.ends) memory.push_back(end->memory());
      took_buffers_ = part.joined->register_buffers(memory, registration_) && took_buffers_;
    }
  });
}

void NcclCollective::operate(std::uint64_t times, double patience_s, bool meet) {
  for (Part& part : parts_)
    part.joined->start({.what = what_,
                        .element = of_.element,
                        .reduction = of_.reduction,
                        .count = part.count,
                        .parts = part.parts,
                        .times = times,
                        .batch = std::min(batch_, most_at_once_),
                        .patience_s = patience_s,
                        .graph = graph_ && connected_,
                        .meet = meet},
                       part.buffers);
  for (Part& part : parts_) part.times = part.joined->wait();
}

void NcclCollective::guarded(const char* what, double timeout_s, const std::function<void()>& step) {
  try {
    in_concert(*team_, what, timeout_s, [&] {
      step();
      return std::string();
    });
  } catch (const Unsupported&) {
    for (Part& part : parts_)
      if (part.joined) part.joined->abort();
    throw;
  } catch (const RunError& e) {
    broken_ = e.what();
    for (Part& part : parts_)
      if (part.joined) part.joined->abort();
    broken_ += roll_call();
    throw RunError(broken_);
  }
}

std::string NcclCollective::roll_call() const {
  if (!several()) return "";
  if (const std::string lost = team_->lost(); !lost.empty()) return "; " + lost;
  try {
    std::uint64_t done = UINT64_MAX;  // of a rank in no group
    for (const Part& part : parts_) done = std::min(done, part.joined ? part.joined->done() : 0);
    const auto said = team_->all_gather("roll call after a failure", std::to_string(done), peer_s_);
    const auto behind = std::min_element(said.begin(), said.end(), [](const std::string& a, const std::string& b) {
      return std::stoull(a) < std::stoull(b);
    });
    return fmt::format("; all ranks still answer; {} has finished the fewest operations ({})",
                       team_->who(static_cast<unsigned>(behind - said.begin())), *behind);
  } catch (const RunError& e) {
    return fmt::format("; {}", e.what());
  }
}

void NcclCollective::fill(const Part& part, End& end) {
  end.work->attach();
  // An operation that leaves an earlier one's result is found.
  if (end.out) end.work->fill(end.out->begin(), end.out->size() / 8 * 8, {.flip = ~std::uint64_t{0}});
  end.work->bring(end.in->begin() + offset_, part.expected(what_, end), in_place_);
  end.work->wait();
}

void NcclCollective::check(const Part& part, End& end) {
  end.work->attach();
  const ExpectedSums data = part.expected(what_, end);
  const std::uint64_t each = layout_of(of_.element).bytes;
  const unsigned char* out = static_cast<const unsigned char*>(end.buffers().out) + data.first(in_place_) * each;
  auto* found = new (end.found->begin()) GpuWrongElements;
  end.work->check(out, data, *found);
  end.work->wait();
  if (found->count == 0) return;
  const GpuWrongElements wrong = *found;
  end.work->copy(end.found->begin(), out + wrong.first * each, each, CopyKind::d2h);
  end.work->wait();
  throw RunError(
      fmt::format("rank {} on {} (gpu{}): wrong data: {} of {} elements; element {} (byte {} of the result) "
                  "is {}, must be {}",
                  end.member.rank, team_->host(team_->rank()), end.member.gpu, wrong.count, data.results(), wrong.first,
                  wrong.first * each, element_value(bits_at(end.found->begin(), 0, of_.element), of_.element),
                  data.result(wrong.first)));
}

/// A thread for each GPU. Throws what the first of them that failed threw.
void NcclCollective::for_each_end(const std::function<void(const Part&, End&)>& step) {
  std::vector<std::exception_ptr> failed;
  std::vector<std::thread> threads;
  for (const Part& part : parts_) failed.resize(failed.size() + part.ends.size());
  std::size_t number = 0;
  for (const Part& part : parts_)
    for (const auto& end : part.ends)
      threads.emplace_back([&step, &part, &end, why = &failed[number++]] {
        try {
          step(part, *end);
        } catch (...) {
          *why = std::current_exception();
        }
      });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& why : failed)
    if (why) std::rethrow_exception(why);
}

double NcclCollective::check_data() {
  in_concert(*team_, "bring known numbers", kStep_s, [&] {
    for_each_end([&](const Part& part, End& end) { fill(part, end); });
    return std::string();
  });
  // The first operation connects the ranks.
  guarded("an operation of known numbers", kStep_s, [&] { operate(1, patience_s() + join_s_, false); });
  const double took_s = operation_s(1);
  in_concert(*team_, "check the data", kStep_s, [&] {
    for_each_end([&](const Part& part, End& end) { check(part, end); });
    return std::string();
  });
  return took_s;
}

double NcclCollective::operation_s(unsigned times) const {
  double each_s = 1e-7;
  for (const Part& part : parts_)
    each_s = std::max(each_s, 1e-9 * static_cast<double>(part.times.batch_end_ns.back() - part.times.begin_ns) / times);
  return each_s;
}

double NcclCollective::slowest_of_all(double own_s) {
  double each_s = own_s;
  for (const std::string& said : team_->all_gather("the time of an operation", fmt::format("{}", own_s), kWords_s))
    each_s = std::max(each_s, std::stod(said));
  return each_s;
}

double NcclCollective::patience_s() const {
  return peer_s_ + std::max(1.0, factor(kManyRanks)) * static_cast<double>(message_size_) / kSlowestBus;
}

double NcclCollective::imbalance_of(std::size_t n) const { return std::min(imbalance_, static_cast<double>(n)); }

double NcclCollective::factor(std::size_t n) const {
  if (what_ != Collective::all_to_all_v || n < 2) return bus_factor(what_, static_cast<unsigned>(n));
  // The busiest rank gets its part from all others.
  const std::uint64_t count = message_size_ / layout_of(of_.element).bytes;
  const auto parts = uneven_parts(count, static_cast<unsigned>(n), imbalance_of(n));
  return static_cast<double>((n - 1) * largest_part(parts)) / static_cast<double>(count);
}

/// The time of one operation of `times`, on the slowest rank; the same on all ranks.
double NcclCollective::seconds_of(unsigned times, double more_s) {
  guarded("operations to count", kStep_s, [&] { operate(times, patience_s() + more_s, true); });
  return slowest_of_all(operation_s(times));
}

std::uint64_t NcclCollective::calls_for(double seconds) {
  // One at first, before which the ranks connect. Over a slow network that may take seconds, and all queued operations
  // must end within the patience.
  const double one_s = seconds_of(1, join_s_);
  constexpr unsigned kTried = 5;
  constexpr double kShare = 0.25;  // of the patience
  const double each_s = one_s < kShare * peer_s_ / kTried ? seconds_of(kTried) : one_s;
  const double at_once = std::clamp(kShare * peer_s_ / each_s, 1.0, static_cast<double>(kMostCalls));
  most_at_once_ = static_cast<std::uint64_t>(at_once);
  const double fewest = each_s > 1 ? 1 : 5;
  auto calls = static_cast<std::uint64_t>(std::clamp(seconds / each_s, fewest, static_cast<double>(kMostCalls)));
  for (const std::string& said : team_->all_gather("the number of operations", std::to_string(calls), kWords_s))
    calls = std::min<std::uint64_t>(calls, std::stoull(said));
  return calls;
}

/// `own`, and what other ranks have instead.
std::string NcclCollective::of_all_ranks(const std::string& own) {
  std::string all = own;
  std::vector<std::string> known{own};
  const std::vector<std::string> said = team_->all_gather("what each rank has", own, kWords_s);
  for (unsigned rank = 0; rank < said.size(); ++rank) {
    if (said[rank].empty() || std::find(known.begin(), known.end(), said[rank]) != known.end()) continue;
    known.push_back(said[rank]);
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", team_->who(rank), said[rank]);
  }
  return all;
}

void NcclCollective::report_facts(Node& node) {
  NcclBackend& nccl = node.backends().nccl();
  NcclLog log = read_nccl_log(nccl.heard());
  // With thousands of ranks: to the first, and its summary to all.
  for (const std::string& said : team_->gather("what NCCL decided", team_->everyone(), to_words(log), kWords_s, 0))
    log = merged(log, from_words(said));
  log = from_words(team_->broadcast("what NCCL decided on all ranks", 0, to_words(log), kWords_s));
  facts_ = {{"nccl", nccl.version()}};
  for (auto& [name, value] : facts_of(log)) facts_.emplace_back(name, std::move(value));
  const std::vector<std::string> settings = nccl.settings();
  if (!parts_.empty()) facts_.emplace_back("communicators", parts_.front().joined->mode());
  if (graph_) facts_.emplace_back("queued", "a batch at a time, as one CUDA graph");
  facts_.emplace_back("memory", of_all_ranks(memory_) +
                                    (offset_ == 0 ? "" : fmt::format("; {} bytes behind an aligned place", offset_)));
  if (registration_ != NcclRegistration::none)
    facts_.emplace_back("buffers", of_all_ranks(!took_buffers_ ? "not registered: NCCL takes none of this memory here"
                                                : registration_ == NcclRegistration::windows ? "symmetric windows"
                                                                                             : "registered with NCCL"));
  facts_.emplace_back("settings",
                      settings.empty() ? "no NCCL_* variable" : fmt::format("{}", fmt::join(settings, ", ")));
  if (log.empty())
    facts_.emplace_back("decisions",
                        "not known: " + (nccl.why_deaf().empty() ? "NCCL wrote nothing of them" : nccl.why_deaf()));
  notes_.clear();
  if (const std::string words = groups_.words(); !words.empty()) notes_.push_back(words);
  const auto members = static_cast<unsigned>(parts_.empty() ? 0 : parts_.front().members.size());
  std::map<std::string, int> places;
  for (const Part& part : parts_)
    for (const NcclMember& m : part.members)
      places[gpu::gpu_name(m.gpu)] = node.backends().gpu().gpu(m.gpu).facts().numa_node;
  for (const std::string& own :
       {bound_too_tightly(members + (groups_.shape() && groups_.shape()->nodes > 1)), bound_far(places, numa_nodes())})
    if (std::string bound = of_all_ranks(own); !bound.empty()) notes_.push_back(std::move(bound));
  notes_.push_back(fmt::format("NCCL {}, {}{}", nccl.version(),
                               several() ? fmt::format("{} processes", team_->size()) : "one process",
                               log.empty() ? "" : ": " + in_short(log)));
}

}  // namespace headrace::network
