#include "workloads/network/nccl_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "harness/backends/loader.h"
#include "harness/backends/nccl_log.h"
#include "harness/base/units.h"
#include "harness/workload/ranks/team.h"
#include "workloads/network/expected_sums.h"
#include "workloads/network/rank_gpus.h"

namespace headrace::network {

/// One GPU of this process.
struct NcclCollective::End {
  End(Gpu& device, const NcclMember& m, std::uint64_t bytes, bool in_place)
      : gpu(device),
        member(m),
        in(device.allocate(bytes)),
        out(in_place ? nullptr : device.allocate(bytes)),
        staged(device.pinned(std::min(kPiece, bytes), false)),
        copies(device.stream()) {}
  NcclBuffers buffers() const { return {in->begin(), out ? out->begin() : in->begin()}; }
  Gpu& gpu;
  NcclMember member;
  std::unique_ptr<GpuMemory> in, out, staged;
  std::unique_ptr<GpuStream> copies;
};

/// This process's members of one group.
struct NcclCollective::Part {
  std::uint64_t bytes() const { return count * layout_of(of.element).bytes; }
  ExpectedSums expected(Collective what, const End& end) const { return {what, end.member.rank, size, count, of}; }

  std::size_t group = 0;  // of groups_
  unsigned size = 0;
  std::uint64_t count = 0;  // elements of one operation
  Numbers of;
  std::vector<NcclMember> members;
  std::vector<std::unique_ptr<End>> ends;
  std::vector<NcclBuffers> buffers;
  NcclTimes times;                    // of what operate() did last
  std::unique_ptr<NcclGroup> joined;  // goes before the memory
};

NcclCollective::NcclCollective(Params& p, Collective what)
    : what_(what),
      message_size_(p.bytes("message_size", 25_MiB, {.min = 8, .max = static_cast<double>(16_GiB), .multiple_of = 4},
                            "bytes of one operation; of the whole buffer where each rank has a part of it; need: those "
                            "of the job's own calls")),
      in_place_(p.flag("in_place", what != Collective::all_to_all && what != Collective::send_recv,
                       "the result replaces the sent data, as frameworks do")),
      of_(numbers(p, what)),
      calls_(p.count("calls", 0, {.min = 0, .max = 1e7}, "of one repetition; 0: as many as take about 0.2 s")),
      batch_(p.count("batch", 20, {.min = 1, .max = 1000}, "queued at once, then waited for")),
      graph_(p.flag("graph", false,
                    "a batch is recorded once as a CUDA graph and launched, as compiled training steps are")),
      registered_(p.flag("registered", false,
                         "buffers are registered with the library, so that it moves them without copies of its own "
                         "where it can")),
      join_s_(p.seconds("join_timeout", 60, {.min = 0.1, .max = 3600}, "for all ranks to be there, and connected")),
      patience_s_(p.seconds("peer_timeout", 30, {.min = 0.1, .max = 3600}, "for the operations queued at once to end")),
      groups_(p) {
  if (message_size_ % layout_of(of_.element).bytes != 0) p.conflict("message_size", "must be whole elements");
  if (in_place_ && (what == Collective::all_to_all || what == Collective::send_recv))
    p.conflict("in_place", "cannot be: the sent data is still needed when the result comes");
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
  // Processors make and check the numbers of each GPU, at about that many elements/s: before the repetitions and after them.
  constexpr double kFilled = 0.35e9;
  const double fill_s = static_cast<double>(message_size_ / layout_of(of_.element).bytes) / kFilled;
  Footprint f;
  f.repetition_s = kRepetition_s + 0.1;
  f.around_s = 2 + (graph_ ? 6 : 4) * fill_s;
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
  if (registered_)
    if (std::string why = node.backends().nccl().why_no_registration(); !why.empty()) return Skip{std::move(why)};
  GpuBackend& gpus = node.backends().gpu();
  const std::uint64_t needed = message_size_ * (in_place_ ? 1 : 2);
  for (unsigned i = 0; i < gpus.count(); ++i)
    if (const GpuFacts& facts = gpus.gpu(i).facts();
        facts.memory > 0 && needed > kMostMemory * static_cast<double>(facts.memory))
      return Skip{fmt::format("gpu{} has {} of memory, and its buffers need {}", i,
                              format_quantity(static_cast<double>(facts.memory), Dimension::bytes, true),
                              format_quantity(static_cast<double>(needed), Dimension::bytes, true))};
  std::vector<RankPlace> places = places_of(node);
  if (places.size() < 2)
    return Skip{"one GPU moves nothing between GPUs: needs two, or several ranks (mpirun -n 8 headrace run ...)"};
  return groups_.split(std::move(places), what_, message_size_, layout_of(of_.element).bytes);
}

void NcclCollective::prepare(Node& node, const DataProgress&) {
  team_ = std::make_unique<ranks::Team>(node.ranks(), node.team());
  broken_.clear();
  connected_ = false;
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
  check_data();
  connected_ = true;
  if (graph_) check_data();                                                    // recorded, too
  report_facts(nccl);                                                          // NCCL writes nothing more
  guarded("meet", kStep_s, [&] { operate(1, patience_s_ + join_s_, true); });  // connects the ranks for that, too
  chosen_ = calls_ != 0 ? calls_ : calls_for(kRepetition_s);
}

void NcclCollective::before_phase(unsigned, unsigned, std::uint64_t) {
  if (!broken_.empty()) throw RunError(broken_);
  watch_.begin();  // what the buffers hold costs no time: check_data() fills them
}

void NcclCollective::run(Worker& worker) {
  slowest_s_ = 0;
  guarded("operations", kStep_s, [&] { operate(chosen_, patience_s_, true); });
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
  groups_.report(times, what_, message_size_, sink);
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
  for (const NcclMember& m : part.members) {
    part.ends.push_back(std::make_unique<End>(node.backends().gpu().gpu(m.gpu), m, part.bytes(), in_place_));
    part.buffers.push_back(part.ends.back()->buffers());
  }
  parts_.push_back(std::move(part));
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
  if (!registered_) return;
  guarded("register buffers", kStep_s, [&] {
    for (Part& part : parts_) part.joined->register_buffers(part.buffers, part.bytes());
  });
}

void NcclCollective::operate(std::uint64_t times, double patience_s, bool meet) {
  for (Part& part : parts_)
    part.joined->start({.what = what_,
                        .element = of_.element,
                        .reduction = of_.reduction,
                        .count = part.count,
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
    const auto said = team_->all_gather("roll call after a failure", std::to_string(done), patience_s_);
    const auto behind = std::min_element(said.begin(), said.end(), [](const std::string& a, const std::string& b) {
      return std::stoull(a) < std::stoull(b);
    });
    return fmt::format("; all ranks still answer; {} has finished the fewest operations ({})",
                       team_->who(static_cast<unsigned>(behind - said.begin())), *behind);
  } catch (const RunError& e) {
    return fmt::format("; {}", e.what());
  }
}

template <class Piece>
void NcclCollective::in_pieces(const End& end, std::uint64_t count, Piece piece) const {
  const std::uint64_t most = end.staged->size() / layout_of(of_.element).bytes;
  for (std::uint64_t at = 0; at < count; at += most) piece(at, std::min(most, count - at));
}

void NcclCollective::fill(const Part& part, End& end) {
  end.copies->attach();
  const ExpectedSums data = part.expected(what_, end);
  unsigned char* const staged = end.staged->begin();
  const std::uint64_t each = layout_of(of_.element).bytes;
  in_pieces(end, part.count, [&](std::uint64_t at, std::uint64_t n) {
    data.fill(staged, at, n, in_place_);
    end.copies->copy(end.in->begin() + at * each, staged, n * each, CopyKind::h2d);
    end.copies->wait();
  });
}

void NcclCollective::check(const Part& part, End& end) {
  end.copies->attach();
  const ExpectedSums data = part.expected(what_, end);
  unsigned char* const staged = end.staged->begin();
  const std::uint64_t each = layout_of(of_.element).bytes;
  const unsigned char* out = static_cast<const unsigned char*>(end.buffers().out) + data.first(in_place_) * each;
  in_pieces(end, data.results(), [&](std::uint64_t at, std::uint64_t n) {
    end.copies->copy(staged, out + at * each, n * each, CopyKind::d2h);
    end.copies->wait();
    if (const auto why = data.wrong(staged, at, n))
      throw RunError(fmt::format("rank {} on {}: {}", end.member.rank, team_->host(team_->rank()), *why));
  });
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

void NcclCollective::check_data() {
  in_concert(*team_, "bring known numbers", kStep_s, [&] {
    for_each_end([&](const Part& part, End& end) { fill(part, end); });
    return std::string();
  });
  // The first operation connects the ranks.
  guarded("an operation of known numbers", kStep_s, [&] { operate(1, patience_s_ + join_s_, false); });
  in_concert(*team_, "check the data", kStep_s, [&] {
    for_each_end([&](const Part& part, End& end) { check(part, end); });
    return std::string();
  });
}

/// Of one operation of so many, as the slowest rank has it; the same on all ranks.
double NcclCollective::seconds_of(unsigned times) {
  guarded("operations to count", kStep_s, [&] { operate(times, patience_s_, true); });
  double each_s = 1e-7;
  for (const Part& part : parts_)
    each_s = std::max(each_s, 1e-9 * static_cast<double>(part.times.batch_end_ns.back() - part.times.begin_ns) / times);
  for (const std::string& said : team_->all_gather("the time of an operation", fmt::format("{}", each_s), kWords_s))
    each_s = std::max(each_s, std::stod(said));
  return each_s;
}

std::uint64_t NcclCollective::calls_for(double seconds) {
  // One at first: over a slow fabric it may take seconds, and what is queued at once must end within the patience.
  const double one_s = seconds_of(1);
  constexpr unsigned kTried = 5;
  constexpr double kShare = 0.25;  // of the patience
  const double each_s = one_s < kShare * patience_s_ / kTried ? seconds_of(kTried) : one_s;
  const double at_once = std::clamp(kShare * patience_s_ / each_s, 1.0, static_cast<double>(kMostCalls));
  most_at_once_ = static_cast<std::uint64_t>(at_once);
  auto calls = static_cast<std::uint64_t>(std::clamp(seconds / each_s, 5.0, static_cast<double>(kMostCalls)));
  for (const std::string& said : team_->all_gather("the number of operations", std::to_string(calls), kWords_s))
    calls = std::min<std::uint64_t>(calls, std::stoull(said));
  return calls;
}

void NcclCollective::report_facts(NcclBackend& nccl) {
  NcclLog log = read_nccl_log(nccl.heard());
  // Of thousands of ranks: to the first, and what that makes of it to all.
  for (const std::string& said : team_->gather("what NCCL decided", team_->everyone(), to_words(log), kWords_s, 0))
    log = merged(log, from_words(said));
  log = from_words(team_->broadcast("what NCCL decided on all ranks", 0, to_words(log), kWords_s));
  facts_ = {{"nccl", nccl.version()}};
  for (auto& [name, value] : facts_of(log)) facts_.emplace_back(name, std::move(value));
  const std::vector<std::string> settings = nccl.settings();
  if (!parts_.empty()) facts_.emplace_back("communicators", parts_.front().joined->mode());
  if (graph_) facts_.emplace_back("queued", "a batch at a time, as one CUDA graph");
  if (registered_) facts_.emplace_back("buffers", "registered with NCCL");
  facts_.emplace_back("settings",
                      settings.empty() ? "no NCCL_* variable" : fmt::format("{}", fmt::join(settings, ", ")));
  if (log.empty())
    facts_.emplace_back("decisions",
                        "not known: " + (nccl.why_deaf().empty() ? "NCCL wrote nothing of them" : nccl.why_deaf()));
  notes_.clear();
  if (const std::string words = groups_.words(); !words.empty()) notes_.push_back(words);
  notes_.push_back(fmt::format("NCCL {}, {}{}", nccl.version(),
                               several() ? fmt::format("{} processes", team_->size()) : "one process",
                               log.empty() ? "" : ": " + in_short(log)));
}

}  // namespace headrace::network
