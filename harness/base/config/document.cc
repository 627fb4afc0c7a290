// YAML through yaml-cpp's event interface: builds our own tree, keeps every place, finds duplicate
// keys.
#include "harness/base/config/document.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <map>
#include <sstream>

#include "harness/base/file_text.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::config {
namespace {

/// No configuration is larger; a tree of aliases to aliases would be.
constexpr std::size_t kMaxValues = 200000;
constexpr std::size_t kMaxFileBytes = 16 << 20, kMaxTextBytes = 2 * kMaxFileBytes;
constexpr int kPatience_ms = 10'000;        // for the writer of a pipe
constexpr std::size_t kMostKeyBytes = 200;  // YAML itself ends at 1024

/// The limits of a tree.
struct Extent {
  std::size_t values = 0, text_bytes = 0;
};

void measure(const Value& value, Extent& extent) {
  ++extent.values;
  extent.text_bytes += value.text.size();
  for (const Value& item : value.items) measure(item, extent);
  for (const Value::Entry& entry : value.entries) {
    extent.text_bytes += entry.key.size();
    measure(entry.value, extent);
  }
}

/// The first byte that is not part of UTF-8 text; text.size() when all are.
std::size_t first_wrong_byte(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char lead = byte(i);
    const std::size_t more = lead < 0x80 ? 0 : lead < 0xc2 ? 4 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (more == 4 || lead > 0xf4 || i + more >= text.size() + (more == 0)) return i;
    for (std::size_t k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xc0) != 0x80) return i;
    const unsigned char second = more > 0 ? byte(i + 1) : 0x80;
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) || (lead == 0xf0 && second < 0x90) ||
        (lead == 0xf4 && second > 0x8f))
      return i;  // written too long, a surrogate, or beyond the last character
    i += more + 1;
  }
  return text.size();
}

/// An error after which the builder cannot continue.
struct TooLarge {
  Location where;
  std::string why;
};

/// Builds a Value from the parser's events.
class Builder final : public YAML::EventHandler {
 public:
  Builder(const std::string& file, Diagnostics& problems) : file_(file), problems_(problems) {}

  Value root;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value value;
    value.where = place(mark);
    finish(std::move(value), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {  // an alias inside the value it names
      problems_.error(place(mark), "an alias cannot be inside the value that it names");
      Value nothing;
      nothing.where = place(mark);
      return finish(std::move(nothing), YAML::NullAnchor);
    }
    finish(copy(found->second, place(mark)), YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& text) override {
    // yaml-cpp turns \N and \_ into single bytes.
    if (first_wrong_byte(text) < text.size()) problems_.error(place(mark), "an escape that gives no UTF-8 character");
    finish(Value::scalar(text, place(mark)), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value::Kind::list, mark, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value::Kind::map, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// A list or map that is being read; `key` is the map's key that waits for its value.
  struct Frame {
    Value value;
    YAML::anchor_t anchor;
    bool has_key = false;
    std::string key;
    Location key_where;
    std::map<std::string, int> lines;  // of the keys so far
  };

  Location place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  void open(Value::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    Frame frame;
    frame.value.kind = kind;
    frame.value.where = place(mark);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }
  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    finish(std::move(frame.value), frame.anchor);
  }

  /// For an anchor or an alias; counted before it is made.
  Value copy(const Value& value, const Location& where) {
    measure(value, copied_);
    if (copied_.values > kMaxValues || copied_.text_bytes > kMaxTextBytes)
      throw TooLarge{where, "anchors and aliases make it larger than any configuration"};
    return value;
  }

  void finish(Value value, YAML::anchor_t anchor) {
    if (++values_ > kMaxValues) throw TooLarge{value.where, fmt::format("more than {} values", kMaxValues)};
    if (anchor != YAML::NullAnchor) anchors_[anchor] = copy(value, value.where);
    if (frames_.empty()) {
      root = std::move(value);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.value.is_list()) {
      frame.value.items.push_back(std::move(value));
    } else if (!frame.has_key) {
      if (!value.is_scalar() || value.text.size() > kMostKeyBytes)
        problems_.error(value.where, "a key must be a plain word");
      frame.has_key = true;
      frame.key = value.text;
      frame.key_where = value.where;
    } else {
      frame.has_key = false;
      add(frame, std::move(value));
    }
  }

  void add(Frame& frame, Value value) {
    const auto [first, is_new] = frame.lines.emplace(frame.key, frame.key_where.line);
    if (!is_new) {
      problems_.error(frame.key_where,
                      "duplicate key '" + frame.key + "' (first at line " + std::to_string(first->second) + ")");
      return;
    }
    frame.value.entries.push_back({frame.key, frame.key_where, std::move(value)});
  }

  const std::string& file_;
  Diagnostics& problems_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Value> anchors_;
  std::size_t values_ = 0;  // read
  Extent copied_;           // by anchors and aliases
};

Location place_in(std::string_view text, std::size_t at, const std::string& file) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line = before.rfind('\n');
  return {file, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(before.size() - (line == before.npos ? 0 : line + 1)) + 1};
}

/// The parser's words end in line breaks sometimes; ours do not.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

bool is_plain(const std::string& text) {
  const auto alnum = [](unsigned char c) { return std::isalnum(c) || c >= 0x80; };
  if (text.empty() || text == "null" || text == "Null" || text == "NULL") return false;
  const bool number =
      text.size() > 1 && (text[0] == '-' || text[0] == '.') && std::isdigit(static_cast<unsigned char>(text[1]));
  if (!number && !alnum(text[0]) && !std::strchr("_/$", text[0])) return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  if (text.find(": ") != std::string::npos || text.find(" #") != std::string::npos) return false;
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

std::string scalar_text(const std::string& text) {
  if (is_plain(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char digits[] = "0123456789abcdef";
      quoted += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

/// Appends `value` after "key:" or "-"; nested blocks go to the next line at `indent`.
void write(const Value& value, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  switch (value.kind) {
    case Value::Kind::null:
      out += " ~\n";
      return;
    case Value::Kind::scalar:
      out += ' ' + scalar_text(value.text) + '\n';
      return;
    case Value::Kind::list:
      if (value.items.empty()) {
        out += " []\n";
        return;
      }
      out += '\n';
      for (const Value& item : value.items) {
        out += margin + '-';
        write(item, indent + 2, out);
      }
      return;
    case Value::Kind::map:
      if (value.entries.empty()) {
        out += " {}\n";
        return;
      }
      out += '\n';
      for (const Value::Entry& entry : value.entries) {
        out += margin + scalar_text(entry.key) + ':';
        write(entry.value, indent + 2, out);
      }
  }
}

void relocate(Value& value, const Location& where) {
  value.where = where;
  for (Value& item : value.items) relocate(item, where);
  for (Value::Entry& entry : value.entries) {
    entry.key_where = where;
    relocate(entry.value, where);
  }
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Value* Value::find(std::string_view key) { return const_cast<Value*>(static_cast<const Value*>(this)->find(key)); }

void Value::set(std::string_view key, Value value) {
  if (Value* old = find(key)) {
    *old = std::move(value);
    return;
  }
  const Location place = value.where;
  entries.push_back({std::string(key), place, std::move(value)});
}

Value Value::scalar(std::string text, Location where) {
  Value value;
  value.kind = Kind::scalar;
  value.text = std::move(text);
  value.where = std::move(where);
  return value;
}

Value parse_yaml(std::string_view text, const std::string& file_name, Diagnostics& problems) {
  if (const std::size_t wrong = first_wrong_byte(text); wrong < text.size()) {
    problems.error(place_in(text, wrong, file_name), "not UTF-8 text");
    return {};
  }
  Builder builder(file_name, problems);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) {
      Builder rest(file_name, problems);
      if (parser.HandleNextDocument(rest)) problems.error(rest.root.where, "a second document ('---') in one file");
    }
  } catch (const YAML::Exception& e) {
    const Location where{file_name, e.mark.is_null() ? 1 : e.mark.line + 1, e.mark.is_null() ? 1 : e.mark.column + 1};
    const bool deep = dynamic_cast<const YAML::DeepRecursion*>(&e) != nullptr;
    problems.error(
        where, deep ? "lists and maps are nested deeper than any configuration" : "not valid YAML: " + one_line(e.msg));
    return {};
  } catch (const TooLarge& e) {
    problems.error(e.where, e.why);
    return {};
  }
  if (builder.root.where.file.empty()) builder.root.where = {file_name, 1, 1};
  return std::move(builder.root);
}

Value read_yaml(const std::string& path, Diagnostics& problems) {
  const auto refuse = [&](const std::string& why) {
    problems.error({path, 0, 0}, why);
    return Value{};
  };
  // A pipe without a writer must not be waited for.
  const system::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file && is_named_pipe(file.get())) return refuse(kIsNamedPipe);
  std::string text;
  char block[1 << 16];
  for (;;) {
    const ssize_t got = file ? ::read(file.get(), block, sizeof block) : -1;
    if (got == 0) break;
    if (got > 0) {
      text.append(block, static_cast<std::size_t>(got));
      if (text.size() <= kMaxFileBytes) continue;
      problems.error(place_in(text, kMaxFileBytes, path), "larger than 16 MiB: not a configuration");
      return {};
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return refuse(std::string("cannot be read: ") + std::strerror(errno));
    pollfd ready{file.get(), POLLIN, 0};
    if (::poll(&ready, 1, kPatience_ms) == 0)
      return refuse(fmt::format("a pipe that says nothing for {} s", kPatience_ms / 1000));
  }
  return parse_yaml(text, path, problems);
}

std::string to_yaml(const Value& value) {
  std::string out;
  write(value, 0, out);
  return out.substr(1);  // the space or line break after a key that is not there
}

void apply_override(Value& root, std::string_view assignment, Diagnostics& problems) {
  const Location where{"--set", 0, 0};
  const std::string whole(assignment);
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    problems.error(where, "'" + whole + "': write key=value, as in step.time=200ms");
    return;
  }
  Diagnostics syntax;
  Value value = parse_yaml(assignment.substr(equals + 1), "--set", syntax);
  if (!syntax.empty()) {
    problems.error(where, "'" + whole + "': " + syntax.errors().front().text);
    return;
  }
  relocate(value, where);

  Value* at = &root;
  std::string_view path = assignment.substr(0, equals);
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (key.empty()) return problems.error(where, "'" + whole + "': an empty word in the key");
    if (at->is_list()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (error != std::errc{} || end != key.data() + key.size() || index >= at->items.size())
        return problems.error(where, "'" + whole + "': '" + std::string(key) + "' is not an index of a list of " +
                                         std::to_string(at->items.size()));
      at = &at->items[index];
    } else if (at->is_scalar() && at == root.find("job") && !root.find("workloads")) {  // a job file
      const std::size_t prefix = std::string_view("job.").size();
      return problems.error(where, "here keys have no \"job.\" before them: write " + whole.substr(prefix));
    } else if (at->is_scalar()) {
      return problems.error(where, "'" + whole + "': '" + std::string(key) + "' is inside a single value");
    } else {
      if (at->is_null()) {
        at->kind = Value::Kind::map;
        at->where = where;
      }
      if (!at->find(key)) {
        Value fresh;
        fresh.where = where;
        at->set(key, std::move(fresh));
      }
      at = at->find(key);
    }
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  *at = std::move(value);
}

}  // namespace headrace::config
