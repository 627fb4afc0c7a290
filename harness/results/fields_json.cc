#include "harness/results/fields_json.h"

#include <nlohmann/json.hpp>

#include "harness/results/fields_codec.h"
#include "harness/results/run_fields.h"

namespace headrace::results {

using Json = nlohmann::ordered_json;

template <class T>
Json json_of(const T& value, const PartNames& parts) {
  return Encoder{parts}(value);
}

template <class T>
void read_fields(const JsonPlace& place, T& value, PartNames& parts) {
  Decoder{parts}(place, value);
}

template Json json_of(const Repetition&, const PartNames&);
template void read_fields(const JsonPlace&, Repetition&, PartNames&);
template Json json_of(const PairMatrix&, const PartNames&);
template void read_fields(const JsonPlace&, PairMatrix&, PartNames&);
template Json json_of(const statistics::SingleRun&, const PartNames&);
template void read_fields(const JsonPlace&, statistics::SingleRun&, PartNames&);
template Json json_of(const GroupShape&, const PartNames&);
template void read_fields(const JsonPlace&, GroupShape&, PartNames&);
template Json json_of(const NoiseFloor&, const PartNames&);
template void read_fields(const JsonPlace&, NoiseFloor&, PartNames&);
template Json json_of(const MetricSummary&, const PartNames&);
template void read_fields(const JsonPlace&, MetricSummary&, PartNames&);
template Json json_of(const judging::Question&, const PartNames&);
template void read_fields(const JsonPlace&, judging::Question&, PartNames&);
template Json json_of(const PartFault&, const PartNames&);
template void read_fields(const JsonPlace&, PartFault&, PartNames&);
template Json json_of(const Judgement&, const PartNames&);
template void read_fields(const JsonPlace&, Judgement&, PartNames&);

}  // namespace headrace::results
