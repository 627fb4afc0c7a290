#include "harness/results/expected_json.h"

#include <nlohmann/json.hpp>

#include "harness/base/file_text.h"
#include "harness/results/run_file.h"
#include "harness/results/stored_record.h"
#include "harness/results/stored_verdict.h"

namespace headrace::results {
namespace {

using Json = nlohmann::ordered_json;
using expectations::Expected;
using expectations::Part;

Part read_part(const JsonPlace& place) {
  Part part;
  part.kind = place.at("kind").text();
  part.name = place.at("name").text();
  part.model = place.text("model", "");
  part.link = place.text("link", "");
  part.units = place.number("units", 1);
  part.rate = place.number("bytes_per_s", 0);
  part.how = place.text("how", "");
  part.source = place.text("source", "");
  part.up = place.flag("up", true);
  if (part.rate < 0 || part.units < 0) place.refuse("a rate below 0");
  return part;
}

}  // namespace

Json parts_part(std::span<const Part> parts) {
  Json all = Json::array();
  for (const Part& part : parts) {
    Json one{{"kind", part.kind}, {"name", part.name}, {"model", part.model}, {"link", part.link}};
    if (part.units != 1) one["units"] = part.units;
    if (part.rate > 0) one["bytes_per_s"] = part.rate;
    one["how"] = part.how;
    if (!part.source.empty()) one["source"] = part.source;
    if (!part.up) one["up"] = false;
    all.push_back(std::move(one));
  }
  return all;
}

Json expected_part(std::span<const Expected> figures) {
  Json all = Json::array();
  for (const Expected& e : figures) {
    Json one{{"point", e.point},         {"metric", e.metric}, {"part", e.part.name},
             {"part_kind", e.part.kind}, {"how", e.part.how},  {"standing", to_string(e.standing)}};
    if (e.part.rate > 0) {
      one["bytes_per_s"] = e.part.rate;
      one["usual"] = {e.usual_low, e.usual_high};
      one["far_below"] = e.least;
    }
    if (e.measured) one["measured"] = *e.measured;
    if (e.low) one["low"] = *e.low;
    if (e.high) one["high"] = *e.high;
    if (const auto share = e.share()) one["share"] = *share;
    if (e.reason != Reason::none) one["reason"] = to_string(e.reason);
    if (!e.why.empty()) one["why"] = e.why;
    one["told"] = sentence(e);
    one["source"] = e.source;
    all.push_back(std::move(one));
  }
  return all;
}

RecordedParts read_recorded_parts(const std::string& path) {
  const std::string file = run_file_in(path);
  try {
    const nlohmann::json document = parse_kind(file_text(file), "headrace.run", kLongLists);
    const JsonPlace root(document);
    RecordedParts all;
    if (!root.has("parts")) root.refuse("it has no rates of the machine's parts, as an earlier headrace measured it");
    root.at("parts").each([&](const JsonPlace& one) { all.parts.push_back(read_part(one)); });
    root.at("points").each([&](const JsonPlace& one) { all.points.push_back(read_recorded_point(one)); });
    return all;
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace headrace::results
