#include "harness/results/exit_map.h"

#include "harness/judge/verdict/word.h"

namespace headrace::results {
namespace {

struct Named {
  std::string_view name;
  ExitMap map;
};

constexpr Named kMaps[] = {{"headrace", ExitMap::headrace},
                           {"posix", ExitMap::posix},
                           {"ctest", ExitMap::ctest},
                           {"nagios", ExitMap::nagios},
                           {"slurm-prolog", ExitMap::slurm_prolog},
                           {"slurm", ExitMap::slurm_prolog},
                           {"nhc", ExitMap::nhc},
                           {"npd", ExitMap::npd}};

}  // namespace

std::optional<ExitMap> exit_map_named(std::string_view name) {
  for (const Named& one : kMaps)
    if (one.name == name) return one.map;
  return std::nullopt;
}

std::vector<std::string> exit_map_names() {
  std::vector<std::string> names;
  for (const Named& one : kMaps) names.emplace_back(one.name);
  return names;
}

int mapped_exit(ExitMap map, int code, Remark remark) {
  const bool nothing_asked = remark == Remark::nothing_asked;
  switch (map) {
    case ExitMap::headrace:
      return code;
    case ExitMap::posix:
      return code == 0 ? 0 : 1;
    case ExitMap::ctest:
      return code == 0 || code == exit_code(Outcome::skipped) ? code : 1;
    case ExitMap::nagios:
      if (code == 0 && !nothing_asked) return remark == Remark::thin ? 1 : 0;
      return code == exit_code(Outcome::fail) ? 2 : 3;
    case ExitMap::slurm_prolog:
    case ExitMap::nhc:
      return code == exit_code(Outcome::fail) || nothing_asked ? 1 : 0;
    case ExitMap::npd:
      return code == exit_code(Outcome::fail) ? 1 : code == 0 && !nothing_asked ? 0 : 2;
  }
  return code;
}

}  // namespace headrace::results
