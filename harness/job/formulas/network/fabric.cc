// Sizes of switched fabrics (F23-F24).
#include <cmath>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// F23: E = 2 * (k / 2)^L [count]. End ports of a non-blocking fat tree of k-port switches.
double fat_tree_endpoints(double switch_ports, double tiers) { return 2 * std::pow(switch_ports / 2, tiers); }
const Define<fat_tree_endpoints> f23{{
    .id = "F23",
    .name = "fat_tree_endpoints",
    .title = "Fat-tree size",
    .equation = "2 * (k / 2)^L",
    .unit = "count",
    .validity = "Non-blocking, L tiers; one plane per rail.",
    .source = "Al-Fares 2008",
    .inputs = {Input("switch_ports_count", "k").whole().at_least(2), Input("tiers_count", "L").whole()},
    .example = "switch_ports_count=64 tiers_count=3",
}};

/// F24: n = ceil(E / floor(k * o / (1 + o))) [count]. Leaf switches for E end ports at o : 1 down
/// to up.
double leaf_switches(double endpoints, double switch_ports, double oversubscription) {
  const double down_ports = round_down(switch_ports * oversubscription / (1 + oversubscription));
  if (down_ports < 1) throw DomainError("leaf_switches: switch_ports_count leaves no port for endpoints");
  return round_up(endpoints / down_ports);
}
const Define<leaf_switches> f24{{
    .id = "F24",
    .name = "leaf_switches",
    .title = "Leaf switches",
    .equation = "ceil(E / floor(k * o / (1 + o)))",
    .unit = "count",
    .validity = "o is the ratio of ports down to ports up; at 1:1 there are half as many spines.",
    .source = "SPOD",
    .inputs = {{"endpoints_count", "E"},
               Input("switch_ports_count", "k").whole().at_least(2),
               Input("oversubscription_ratio", "o").above(0).otherwise(1)},
    .example = "endpoints_count=1024 switch_ports_count=64 oversubscription_ratio=2",
}};

}  // namespace
}  // namespace headrace::job
