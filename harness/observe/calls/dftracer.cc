#include "harness/observe/calls/dftracer.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "harness/base/diagnostics.h"
#include "harness/observe/calls/lines.h"

namespace headrace::observe::calls {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Named {
  std::string_view name;
  Kind kind;
};
/// The C library's names; "64" behind one, and "__x" before, are the same call.
constexpr std::array kNames{
    Named{"open", Kind::open},       Named{"openat", Kind::open},    Named{"creat", Kind::open},
    Named{"fopen", Kind::open},      Named{"read", Kind::read},      Named{"pread", Kind::read},
    Named{"readv", Kind::read},      Named{"preadv", Kind::read},    Named{"fread", Kind::read},
    Named{"write", Kind::write},     Named{"pwrite", Kind::write},   Named{"writev", Kind::write},
    Named{"pwritev", Kind::write},   Named{"fwrite", Kind::write},   Named{"close", Kind::close},
    Named{"fclose", Kind::close},    Named{"lseek", Kind::seek},     Named{"fseek", Kind::seek},
    Named{"stat", Kind::stat},       Named{"fstat", Kind::stat},     Named{"lstat", Kind::stat},
    Named{"fstatat", Kind::stat},    Named{"access", Kind::stat},    Named{"readlink", Kind::stat},
    Named{"opendir", Kind::stat},    Named{"readdir", Kind::stat},   Named{"fsync", Kind::sync},
    Named{"fdatasync", Kind::sync},  Named{"mmap", Kind::map},       Named{"rename", Kind::change},
    Named{"renameat", Kind::change}, Named{"unlink", Kind::change},  Named{"unlinkat", Kind::change},
    Named{"mkdir", Kind::change},    Named{"rmdir", Kind::change},   Named{"take", Kind::take},
    Named{"give", Kind::give},       Named{"wait", Kind::hand_over}, Named{"sleep", Kind::sleep},
    Named{"gpu", Kind::gpu},         Named{"other", Kind::other},
};

std::optional<Kind> kind_of(std::string_view name) {
  if (name.starts_with("__x")) name.remove_prefix(3);
  if (name.ends_with("64")) name.remove_suffix(2);
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const Named& one) { return one.name == name; });
  return found == kNames.end() ? std::nullopt : std::optional(found->kind);
}

std::int64_t number(const json& object, const char* key, std::int64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<std::int64_t>() : otherwise;
}
std::string word(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? ""
         : found->is_string()  ? found->get<std::string>()
         : found->is_number()  ? found->dump()
                               : "";
}

class EventReader {
 public:
  /// Why the line is no use; "" where it is.
  std::string take(std::string_view line) {
    while (line.ends_with(',') || line.ends_with(' ')) line.remove_suffix(1);
    if (line.empty() || line == "[" || line == "]") return "";
    const json event = json::parse(line, nullptr, false);
    if (event.is_discarded() || !event.is_object()) return "is no JSON";
    const std::string name = word(event, "name"), category = word(event, "cat");
    const auto given = event.find("args");
    static const json kNone = json::object();
    const json& arguments = given != event.end() && given->is_object() ? *given : kNone;
    if (name.empty()) return "has no name";
    if (word(arguments, "name").size() >= PATH_MAX || word(arguments, "fname").size() >= PATH_MAX ||
        word(arguments, "cwd").size() >= PATH_MAX)
      return kTooLong;
    if (name == "FH") {  // the name of a file's number
      names_[word(arguments, "value")] = word(arguments, "name");
      return "";
    }
    if (name == "note" && category == "headrace") {
      builder_.log().notes.push_back(word(arguments, "text"));
      return "";
    }
    const int pid = static_cast<int>(number(event, "pid", -1));
    if (pid < 0) return "has no pid";
    const int tid = static_cast<int>(number(event, "tid", pid));
    if (name == "start" && category == "dftracer") {
      const std::uint32_t process = builder_.process(pid);
      if (const auto parent = number(arguments, "ppid", 0); parent > 0) parents_[process] = static_cast<int>(parent);
      builder_.log().processes[process].command = word(arguments, "command");
      if (folder_.empty()) folder_ = word(arguments, "cwd");
      if (number(arguments, "waits", 0) != 0) builder_.log().waits_known = true;
      return "";
    }
    if (!event.contains("ts")) return "";  // it is no call
    const std::optional<Kind> kind = kind_of(name);
    if (!kind || (category != "POSIX" && category != "STDIO")) return "";
    const auto time = event.find("ts");
    if (!time->is_number()) return "has no time";
    Call call{.begin_s = time->get<double>() * 1e-6, .thread = builder_.thread(tid, pid)};
    const auto lasted = event.find("dur");
    if (lasted != event.end() && lasted->is_number()) call.seconds = std::max(0.0, lasted->get<double>() * 1e-6);
    call.kind = *kind;
    call.bytes = number(arguments, "ret", 0);
    const std::int64_t each = number(arguments, "size", 1);
    if (name.starts_with("fread") || name.starts_with("fwrite"))
      if (__builtin_mul_overflow(call.bytes, std::max<std::int64_t>(1, each), &call.bytes)) call.bytes = INT64_MAX;
    call.asked = static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, number(arguments, "count", std::max<std::int64_t>(0, call.bytes))));
    call.offset = number(arguments, "offset", -1);
    if (call.kind == Kind::open)
      call.to_read =
          arguments.contains("mode") && arguments["mode"].is_string()
              ? word(arguments, "mode").starts_with("r") && word(arguments, "mode").find('+') == std::string::npos
              : (number(arguments, "flags", 0) & O_ACCMODE) == O_RDONLY;
    if (call.kind == Kind::seek && call.bytes > 0) call.offset = call.bytes;
    if (const std::string by_hash = word(arguments, "fhash"); !by_hash.empty())
      call.file = builder_.file("#" + by_hash);
    else if (const std::string by_name = word(arguments, "fname"); !by_name.empty())
      call.file = builder_.file(by_name);
    if (const std::string to = word(arguments, "renamed_to"); !to.empty()) call.renamed_to = builder_.file("#" + to);
    if (const auto had = arguments.find("processor_us"); had != arguments.end() && had->is_number())
      call.processor_s = had->get<double>() * 1e-6;
    builder_.add(call);
    return "";
  }

  Log finish(const BadLines& bad) {
    Log& log = builder_.log();
    if (log.calls.empty())
      throw UsageError("--from: no call on a file was found in it" +
                       (bad.count() > 0 ? "; " + bad.text() : std::string()));
    for (const auto& [process, parent] : parents_)  // one that was traced
      if (std::any_of(log.processes.begin(), log.processes.end(),
                      [p = parent](const Process& one) { return one.pid == p; }))
        builder_.started(process, parent);
    const auto cwd = names_.find(folder_);
    const std::string folder = cwd != names_.end() ? cwd->second : folder_;
    std::uint64_t unnamed = 0;
    for (std::string& file : log.files) {
      if (file.starts_with("#")) {
        const auto known = names_.find(file.substr(1));
        if (known == names_.end()) {
          ++unnamed;
          continue;
        }
        file = known->second;
      }
      if (!file.starts_with("/") && !folder.empty()) file = (fs::path(folder) / file).lexically_normal().string();
    }
    log.durations_known = true;
    if (bad.count() > 0) log.notes.push_back(bad.text());
    if (unnamed > 0)
      log.notes.push_back(
          fmt::format("{} files have a number alone: the trace of the process that named them is missing", unnamed));
    if (!log.waits_known) log.notes.push_back("the log has no work of threads between their calls on files");
    return builder_.take();
  }

 private:
  LogBuilder builder_{"DFTracer"};
  std::unordered_map<std::string, std::string> names_;
  std::unordered_map<std::uint32_t, int> parents_;
  std::string folder_;
};

}  // namespace

Log read_dftracer(const std::vector<std::string>& files) {
  EventReader reader;
  BadLines bad;
  for (const std::string& path : files) {
    Lines lines(path);
    std::string_view line;
    while (lines.next(line))
      if (const std::string why = reader.take(line); !why.empty()) bad.add(lines, why);
  }
  return reader.finish(bad);
}

Log read_dftracer_text(const std::string& name, std::string_view text) {
  EventReader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string why = reader.take(text.substr(0, end)); !why.empty())
      throw UsageError(fmt::format("{}: a line of it {}", name, why));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish(BadLines());
}

}  // namespace headrace::observe::calls
