// Reads a job file by the table of keys, and rejects impossible combinations.
#include "harness/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/base/config/value_reader.h"
#include "harness/base/object_path.h"
#include "harness/job/formula.h"
#include "harness/job/job_keys.h"

namespace headrace::job {
namespace {

using config::Value;

/// Smaller values are mistakes, and quotients by them would overflow.
constexpr double kLeast = 1e-15;

/// "130kB +- 10kB" -> "130kB" and "10kB"; the second is empty without a spread.
std::pair<std::string_view, std::string_view> split_spread(std::string_view text) {
  for (const std::string_view sign : {"\u00b1", "+/-", "+-"}) {
    const std::size_t at = text.find(sign);
    if (at != std::string_view::npos && at > 0) return {text.substr(0, at), text.substr(at + sign.size())};
  }
  return {text, {}};
}

class JobReader {
 public:
  JobReader(const Value& root, Diagnostics& problems) : root_(root), problems_(problems) {}

  Job read() {
    if (!root_.is_map()) {
      problems_.error(root_.where, "a job file is a map of keys such as job, cluster, step, dataset");
      return {};
    }
    check_names();
    for (const JobSection& section : job_sections())
      if (section.make && present(section.name)) section.make(job_);
    for (const JobKey& key : job_keys()) read_key(key);
    return std::move(job_);
  }

  /// Was the key's value missing or refused?
  bool is_bad(std::string_view path) const { return bad_.count(path) > 0; }

  /// Does the file, or an override, give the key?
  bool written(std::string_view path) const {
    const Value* section = root_.find(path.substr(0, path.find('.')));
    return section && section->is_map() && section->find(path.substr(path.find('.') + 1));
  }

  /// The place of a key's value; of its section, or of the file, where it was not written.
  Location place(std::string_view path) const {
    const std::size_t dot = path.find('.');
    const Value* section = root_.find(path.substr(0, dot));
    if (!section || dot == std::string_view::npos) return section ? section->where : root_.where;
    const Value* value = section->find(path.substr(dot + 1));
    return value ? value->where : section->where;
  }

 private:
  /// Data in an object store take the defaults of that section if the file leaves it out.
  bool present(std::string_view section) const {
    const Value* value = root_.find(section);
    return (value && !value->is_null()) || (section == "object_store" && reads_objects());
  }

  bool reads_objects() const {
    const Value* data = root_.find("dataset");
    const Value* path = data && data->is_map() ? data->find("path") : nullptr;
    return path && path->is_scalar() && is_object_path(path->text);
  }

  static std::vector<std::string> keys_of(std::string_view section) {
    std::vector<std::string> names;
    for (const JobKey& key : job_keys())
      if (key.section() == section) names.emplace_back(key.name());
    return names;
  }

  void check_names() {
    std::vector<std::string> top = keys_of("");
    for (const JobSection& section : job_sections()) top.emplace_back(section.name);
    check_names(root_, "", top);
    for (const JobSection& section : job_sections()) {
      const Value* value = root_.find(section.name);
      if (!value || value->is_null()) continue;
      if (value->is_map())
        check_names(*value, section.name, keys_of(section.name));
      else
        problems_.error(value->where,
                        fmt::format("{}: must be a map of keys ({})", section.name, join(keys_of(section.name))));
    }
  }

  void check_names(const Value& map, std::string_view section, const std::vector<std::string>& known) {
    if (section.empty() && !config::names_any(map, known)) return config::refuse_names(map, known, problems_);
    for (const Value::Entry& entry : map.entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      std::string elsewhere;
      for (const JobKey& key : job_keys())
        if (key.name() == entry.key)
          elsewhere = fmt::format("; it belongs to '{}'", key.section().empty() ? "the top" : key.section());
      problems_.error(entry.key_where,
                      fmt::format("{}{}unknown key '{}'{} (keys: {})", section, section.empty() ? "" : ": ", entry.key,
                                  elsewhere.empty() ? did_you_mean(entry.key, known) : elsewhere, join(known)));
    }
  }

  void read_key(const JobKey& key) {
    const std::string_view section = key.section();
    const Value* parent = section.empty() ? &root_ : root_.find(section);
    for (const JobSection& s : job_sections())
      if (s.name == section && s.make && !present(section)) return;  // an optional section that was left out
    if (parent && !parent->is_null() && !parent->is_map()) return;   // reported already
    const Value* value = parent ? parent->find(key.name()) : nullptr;
    if (value && value->is_null()) {
      problem(*value, key, fmt::format("has no value: {}", key.allowed()));
    } else if (value && !value->is_scalar()) {
      problem(*value, key, "must be a single value");
    } else if (value) {
      read_value(key, *value);
    } else if (!key.fallback.empty()) {
      read_value(key, Value::scalar(std::string(key.fallback), {}));
    } else if (key.required) {
      problem(parent ? *parent : root_, key, fmt::format("missing: {} ({})", key.help, key.allowed()));
    }
  }

  void read_value(const JobKey& key, const Value& value) {
    if (key.set_text) {
      key.set_text(job_, value.text);
      job_.values[std::string(key.path)] = value.text;
      if (value.text.empty()) problem(value, key, "must not be empty");
    } else if (!key.choices.empty()) {
      read_choice(key, value);
    } else {
      read_number(key, value);
    }
  }

  void read_choice(const JobKey& key, const Value& value) {
    for (std::size_t i = 0; i < key.choices.size(); ++i) {
      if (key.choices[i] != value.text) continue;
      key.set(job_, static_cast<double>(i));
      job_.values[std::string(key.path)] = value.text;
      return;
    }
    static const std::map<std::string, const char*, std::less<>> kOfOthers{
        {"webdataset", "; WebDataset tars are 'shards'"},
        {"wds", "; WebDataset tars are 'shards'"},
        {"tar", "; tars are 'shards'"},
        {"tfrecord", "; TFRecord files are 'shards'"},
        {"mds", "; MDS shards are 'shards'"},
        {"parquet", "; Parquet files are 'shards'"},
        {"imagefolder", "; a file per image is 'files'"}};
    const auto other = key.path == "dataset.layout" ? kOfOthers.find(value.text) : kOfOthers.end();
    problem(
        value, key,
        fmt::format("'{}' is not allowed{} (allowed: {})", value.text,
                    other != kOfOthers.end() ? other->second : did_you_mean(value.text, key.choices), key.allowed()));
  }

  void read_number(const JobKey& key, const Value& value) {
    const auto [text, spread] = split_spread(value.text);
    const Parsed parsed = parse_quantity(text, key.dimension);
    if (!parsed) return problem(value, key, quoted(text, parsed.error));
    if (!key.range.allows(parsed.value)) {
      const bool beyond = parsed.value > key.range.max && key.range.max >= 1e15;
      return problem(value, key,
                     fmt::format("{} is out of range: must be {}{}", value.text, key.allowed(),
                                 beyond ? " and at most 1e15 in its base unit" : ""));
    }
    if (parsed.value != 0 && std::abs(parsed.value) < kLeast)
      return problem(value, key,
                     fmt::format("{} is out of range: must be {} and not below 1e-15 in its base unit", value.text,
                                 key.allowed()));
    if (!spread.empty()) read_spread(key, value, spread, parsed.value);
    key.set(job_, parsed.value);
    job_.values[std::string(key.path)] = exact_quantity(parsed.value, key.dimension);
  }

  void read_spread(const JobKey& key, const Value& value, std::string_view spread, double center) {
    if (key.range.integer) return problem(value, key, "a whole number takes no spread");
    const std::size_t percent = spread.find('%');
    const bool relative =
        percent != std::string_view::npos && spread.find_first_not_of(' ', percent + 1) == std::string_view::npos;
    const Parsed parsed =
        relative ? parse_quantity(spread.substr(0, percent), Dimension::ratio) : parse_quantity(spread, key.dimension);
    if (!parsed) return problem(value, key, "the spread " + quoted(spread, parsed.error));
    const double deviation = relative ? parsed.value / 100 * center : parsed.value;
    if (deviation < 0) return problem(value, key, "a spread must not be below 0");
    if (deviation > 0) job_.spreads[std::string(key.path)] = deviation;
  }

  /// Puts the text in front of a reason that does not name it yet.
  static std::string quoted(std::string_view text, const std::string& why) {
    return why.starts_with('\'') ? why : fmt::format("'{}' {}", text, why);
  }

  void problem(const Value& value, const JobKey& key, const std::string& why) {
    problems_.error(value.where, fmt::format("{}: {}", key.path, why));
    bad_.insert(key.path);
  }

  const Value& root_;
  Diagnostics& problems_;
  Job job_;
  std::set<std::string_view> bad_;  // paths of keys
};

/// Fills in values that follow from others; a step time is required.
void complete(Job& job, const JobReader& reader, Diagnostics& problems) {
  // Of a wrong value nothing is derived, and what would be is not missing.
  const bool derivable = !problems.empty() && reader.written("step.mfu") && reader.written("cluster.gpu_flops");
  try {
    if (problems.empty()) derive_values(job);
  } catch (const DomainError& e) {
    problems.error(reader.place("step"), e.what());
  }
  if (job.step.time == 0 && !reader.is_bad("step.time") && !derivable)
    problems.error(reader.place("step.time"),
                   "step.time: missing: stall-free time of one optimizer step (above 0 s); or give "
                   "cluster.gpu_flops, "
                   "step.mfu, model.parameters and model.sequence_length");
}

/// Read profiles by layout, and loaders that cannot read so.
void check_reading(const Job& job, const JobReader& reader, Diagnostics& problems) {
  const auto refuse = [&](std::string_view path, const std::string& why) {
    problems.error(reader.place(path), fmt::format("{}: {}", path, why));
  };
  const auto given = [&](std::string_view path) { return job.values.count(std::string(path)) > 0; };
  static const std::map<std::string, std::vector<std::string>> kProfiles{
      {"files", {"whole", "pil", "mmap", "npz", "ranged"}},
      {"shards", {"wds", "mds", "row_group", "ranged"}},
      {"tokens", {"mmap", "ranged"}},
  };
  if (!given("dataset.layout") || !given("dataset.read_profile") || job.derived.count("dataset.read_profile")) return;
  const std::string& layout = job.values.at("dataset.layout");
  const std::string& profile = job.values.at("dataset.read_profile");
  const auto& allowed = kProfiles.at(layout);
  if (std::find(allowed.begin(), allowed.end(), profile) == allowed.end()) {
    std::string others;
    for (const auto& [other, profiles] : kProfiles)
      if (std::find(profiles.begin(), profiles.end(), profile) != profiles.end())
        others += (others.empty() ? "" : " or ") + other;
    refuse("dataset.read_profile",
           fmt::format("'{}' reads {}, and layout is {} (allowed: {})", profile, others, layout, join(allowed, " | ")));
  } else if (profile == "wds" && job.loader.kind == LoaderKind::pytorch && reader.written("loader.kind")) {
    refuse("loader.kind",
           "'pytorch' asks for samples by index, and wds reads a tar from front to end: pytorch_iterable does so");
  }
}

/// Values that are each allowed and cannot be together.
void check_combinations(const Job& job, const JobReader& reader, Diagnostics& problems) {
  const auto refuse = [&](std::string_view path, const std::string& why) {
    problems.error(reader.place(path), fmt::format("{}: {}", path, why));
  };
  /// A wrong value was reported; its consequences would only confuse.
  const auto good = [&](std::initializer_list<std::string_view> paths) {
    return std::none_of(paths.begin(), paths.end(), [&](std::string_view path) { return reader.is_bad(path); });
  };
  const Job::Parallelism& p = job.parallelism;
  const double gpus = job.cluster.gpus();
  if (!good({"cluster.nodes", "cluster.gpus_per_node", "parallelism.tensor", "parallelism.pipeline",
             "parallelism.context", "parallelism.expert"})) {
    // reported already
  } else if (std::fmod(gpus, job.gpus_per_replica()) != 0) {
    refuse("cluster.gpus_per_node",
           fmt::format("{} GPUs ({} nodes * {}) cannot be divided by tensor * pipeline * context = "
                       "{} * {} * {} = {}",
                       gpus, job.cluster.nodes, job.cluster.gpus_per_node, p.tensor, p.pipeline, p.context,
                       job.gpus_per_replica()));
  } else if (std::fmod(gpus / p.pipeline, p.expert) != 0) {
    refuse("parallelism.expert",
           fmt::format("{} must divide the {} GPUs of one pipeline stage", p.expert, gpus / p.pipeline));
  }
  const Job::Model& model = job.model;
  if (model.experts && std::fmod(*model.experts, p.expert) != 0 && good({"model.experts", "parallelism.expert"}))
    refuse("model.experts", fmt::format("{} cannot be divided by parallelism.expert = {}", *model.experts, p.expert));
  if (model.experts && model.top_k && *model.top_k > *model.experts && good({"model.top_k", "model.experts"}))
    refuse("model.top_k", fmt::format("{} must be at most model.experts = {}", *model.top_k, *model.experts));
  if (model.active_parameters && model.parameters && *model.active_parameters > *model.parameters &&
      good({"model.active_parameters", "model.parameters"}))
    refuse("model.active_parameters", "must be at most model.parameters");
  if (model.layers && *model.layers < p.pipeline * p.virtual_stages && good({"model.layers", "parallelism.pipeline"}))
    refuse("model.layers", fmt::format("{} layers cannot fill pipeline * virtual_stages = {} chunks", *model.layers,
                                       p.pipeline * p.virtual_stages));
  if (job.step.utilization && *job.step.utilization > job.step.target_utilization &&
      good({"step.utilization", "step.target_utilization"}))
    refuse("step.target_utilization", "must be at least step.utilization");
  if (good({"parallelism.window", "parallelism.overlap", "parallelism.exposed"}) && job.model.parameters &&
      job.replicas() * p.context > 1 && p.overlap * p.window + p.exposed <= 0)
    refuse("parallelism.window",
           "overlap * window + exposed leaves no time for the gradients: one of them must be above 0");
  if (job.loader.shuffle_buffer && job.loader.kind == LoaderKind::pytorch && reader.written("loader.kind"))
    refuse("loader.shuffle_buffer",
           "a loader of kind 'pytorch' shuffles the order of its indices and keeps no buffer of samples: leave it out, "
           "or name the kind that does (pytorch_iterable | tfdata | in_flight)");
  if (job.loader.shuffle_initial && good({"loader.shuffle_initial", "loader.shuffle_buffer"})) {
    if (!job.loader.shuffle_buffer)
      refuse("loader.shuffle_initial", "there is no buffer to fill: give loader.shuffle_buffer");
    else if (*job.loader.shuffle_initial > *job.loader.shuffle_buffer)
      refuse("loader.shuffle_initial",
             fmt::format("must be at most loader.shuffle_buffer = {}", *job.loader.shuffle_buffer));
  }
  if (job.dataset.codec != SampleCodec::none && job.dataset.layout == Layout::tokens && good({"dataset.layout"}))
    refuse("dataset.codec", "tokens are not decoded: none, or layout files or shards");
  if (job.dataset.image_size && job.dataset.codec != SampleCodec::jpeg && job.dataset.codec != SampleCodec::png &&
      good({"dataset.codec"}))
    refuse("dataset.image_size", "only images are resized: dataset.codec jpeg or png");
  if (!job.checkpoint) return;
  const Job::Checkpoint& c = *job.checkpoint;
  const bool derivable = !problems.empty() && reader.written("model.layers");  // as in complete()
  if (!job.model.parameters && good({"model.parameters"}) && !derivable)
    refuse("model.parameters", "missing: a checkpoint's size follows from it");
  if (c.restore && *c.restore <= c.restore_overhead && good({"checkpoint.restore", "checkpoint.restore_overhead"}))
    refuse("checkpoint.restore", "must be longer than checkpoint.restore_overhead");
  if (!c.async && c.stall <= c.overhead && good({"checkpoint.stall", "checkpoint.overhead"}))
    refuse("checkpoint.stall", "must be longer than checkpoint.overhead");
  if (!good({"checkpoint.stall", "checkpoint.interval", "checkpoint.mode"})) return;
  if (c.stall > c.interval || (c.async && c.stall == c.interval))
    refuse("checkpoint.stall",
           fmt::format("{} must be {} checkpoint.interval = {}", compact_quantity(c.stall, Dimension::seconds),
                       c.async ? "shorter than" : "at most", compact_quantity(c.interval, Dimension::seconds)));
}

}  // namespace

Job parse_job(const Value& root, Diagnostics& problems) {
  JobReader reader(root, problems);
  Job job = reader.read();
  complete(job, reader, problems);
  check_reading(job, reader, problems);
  check_combinations(job, reader, problems);
  return job;
}

Job load_job(const std::string& path, const std::vector<std::string>& overrides) {
  Diagnostics problems;
  Value root = config::read_yaml(path, problems);
  problems.throw_if_any();  // later errors would only repeat that the file cannot be read
  if (root.find("job") == nullptr && (root.find("workloads") != nullptr || root.find("extends") != nullptr))
    throw UsageError(path + ": this is a configuration, no job: a job describes the training (configs/jobs/*.yaml)");
  for (const std::string& assignment : overrides) config::apply_override(root, assignment, problems);
  Job job = parse_job(root, problems);
  problems.throw_if_any();
  return job;
}

void set_format_overhead(Job& job, double bytes) {
  job.dataset.format_overhead = bytes;
  job.values["dataset.format_overhead"] = exact_quantity(std::round(bytes), Dimension::bytes);
}

}  // namespace headrace::job
