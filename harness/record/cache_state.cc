// The states' words, and the text of a proof.
#include "harness/record/cache_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace headrace {
namespace {

constexpr double kName = 64;  // [B] no file system keeps a name and its attributes in less

constexpr std::array<std::pair<CacheState, std::string_view>, 4> kStates{{{CacheState::cold, "cold"},
                                                                          {CacheState::warm, "warm"},
                                                                          {CacheState::bypassed, "bypassed"},
                                                                          {CacheState::asis, "asis"}}};

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }

struct Evidence {
  bool seen = false;  // is there anything to judge by?
  bool good = true;
  std::string reported;
};

Evidence residency(const CacheProof& proof, bool wanted) {
  Evidence evidence;
  if (proof.resident_before < 0) return evidence;
  evidence.seen = true;
  evidence.good =
      wanted ? proof.resident_before >= CacheProof::kLeastOfState : proof.resident_before <= CacheProof::kMostOfOther;
  evidence.reported = percent(proof.resident_before) + " in the page cache before";
  return evidence;
}

Evidence traffic(const CacheProof& proof, bool wanted) {
  Evidence evidence;
  if (proof.counter.empty()) return evidence;
  evidence.seen = true;
  if (proof.delivered_bytes == 0) {
    evidence.good = wanted;
    evidence.reported = "what came from storage was not delivered in time";
    return evidence;
  }
  const double share = static_cast<double>(proof.storage_bytes) / static_cast<double>(proof.delivered_bytes);
  // Around the page cache, every reader goes to the storage itself.
  const unsigned readers = proof.declared == CacheState::cold ? proof.use.readers : 1;
  evidence.good =
      wanted ? share * readers >= CacheProof::kLeastOfState * proof.rounding : share <= CacheProof::kMostOfOther;
  evidence.reported = percent(share) + " of the bytes from storage";
  if (readers > 1) evidence.reported += fmt::format(" (each was read {} times)", readers);
  if (!evidence.good && !proof.compression.empty())
    evidence.reported += "; " + proof.compression;
  else if (evidence.good && wanted && proof.rounding < 1)
    evidence.reported += fmt::format(" (stored compressed, as {})", percent(proof.rounding));
  else if (!evidence.good && proof.rounding > 1 + CacheProof::kMostOfOther)
    evidence.reported += fmt::format(" ({} with whole blocks, had all come from there)", percent(proof.rounding));
  else if (share > 1 + CacheProof::kMostOfOther)
    evidence.reported += " (with read-ahead and metadata)";
  return evidence;
}

/// Why a cache below that of the files may have given the bytes. "" = there is none, or too little was in it. For names
/// any content of it may: they are a small part of it.
std::string given_below(const CacheProof& proof) {
  if (proof.second_cache.empty()) return "";
  const double most = proof.use.names_only ? 0 : CacheProof::kMostOfOther * static_cast<double>(proof.delivered_bytes);
  if (static_cast<double>(proof.second_cache_bytes) <= most) return "";
  return fmt::format("{} ({:.3g} MB of it were in memory before)", proof.second_cache,
                     static_cast<double>(proof.second_cache_bytes) / 1e6);
}

constexpr const char* kNotCounted = "this file system's traffic is not counted";

/// Names: each operation's bytes from storage, or requests to a server, show where they were.
void judge_names(CacheProof& proof) {
  const bool cold = proof.declared == CacheState::cold;
  const auto each = [&proof](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(proof.operations);
  };
  if (proof.counter.empty()) {
    proof.proven = !cold;
    proof.why = cold ? kNotCounted : fmt::format("every name was asked for before; {}", kNotCounted);
  } else if (proof.counter != CacheProof::kOwnCounter) {
    const double asked = each(proof.requests);
    proof.proven = cold ? asked >= CacheProof::kLeastOfState : asked <= CacheProof::kMostOfOther;
    proof.why = fmt::format("{:.3g} requests to the server for each operation", asked);
  } else {
    const double bytes = each(proof.storage_bytes);
    proof.proven = cold ? bytes >= kName : bytes <= CacheProof::kMostOfOther * kName;
    proof.why = fmt::format("{:.3g} B from storage for each operation", bytes);
  }
  if (!proof.caveat.empty()) proof.why += "; " + proof.caveat;
}

}  // namespace

std::string_view to_string(CacheState state) {
  for (const auto& [known, name] : kStates)
    if (known == state) return name;
  return "";
}

std::optional<CacheState> parse_cache_state(std::string_view text) {
  for (const auto& [state, name] : kStates)
    if (name == text) return state;
  return std::nullopt;
}

CacheProof nothing_proven(CacheState declared) {
  CacheProof proof;
  proof.declared = declared;
  proof.required = declared != CacheState::asis;
  if (proof.required) proof.why = "nothing was looked at";
  return proof;
}

void judge(CacheProof& proof) {
  if (proof.declared == CacheState::asis) {
    proof.proven = true;
    proof.why = proof.resident_before < 0 ? "no state was asked for"
                                          : "no state was asked for; " + residency(proof, true).reported;
    return;
  }
  // Bytes that were read, but not delivered in time, had a source, too.
  const bool nothing = (proof.use.names_only ? proof.operations : proof.delivered_bytes + proof.storage_bytes) == 0;
  const std::string below = given_below(proof);
  if (nothing || !proof.obstacle.empty() || !below.empty()) {
    proof.proven = false;
    proof.why = !proof.obstacle.empty() ? proof.obstacle : nothing ? "nothing was read" : below;
    return;
  }
  if (proof.use.names_only) return judge_names(proof);
  const Evidence memory =
      proof.declared == CacheState::bypassed ? Evidence{} : residency(proof, proof.declared == CacheState::warm);
  const Evidence storage = traffic(proof, proof.declared != CacheState::warm);
  // Pages that are not in memory here need not come from storage.
  const bool decides = proof.declared == CacheState::warm ? memory.seen || storage.seen : storage.seen;
  proof.proven = decides && memory.good && storage.good;
  if (!memory.seen && !storage.seen) {
    proof.why = "the kernel reports neither cached pages nor reads from storage";
    return;
  }
  proof.why = memory.reported;
  if (!memory.seen && proof.declared != CacheState::bypassed) proof.why = "the kernel does not report cached pages";
  if (!proof.why.empty()) proof.why += "; ";
  proof.why += storage.seen ? storage.reported : kNotCounted;
  if (!proof.caveat.empty()) proof.why += "; " + proof.caveat;
}

void add(CacheProof& all, const CacheProof& more) {
  all.delivered_bytes += more.delivered_bytes;
  all.operations += more.operations;
  all.requests += more.requests;
  all.storage_bytes += more.storage_bytes;
  all.device_bytes += more.device_bytes;
  all.resident_before = all.declared == CacheState::warm ? std::min(all.resident_before, more.resident_before)
                                                         : std::max(all.resident_before, more.resident_before);
  all.resident_after = more.resident_after;
  all.required = all.required || more.required;
  if (all.warm_names.empty()) all.warm_names = more.warm_names;
  if (all.proven && !more.proven) {
    all.proven = false;
    all.why = more.why;
  }
}

}  // namespace headrace
