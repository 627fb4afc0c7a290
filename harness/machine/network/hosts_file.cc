#include "harness/machine/network/hosts_file.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/file_text.h"
#include "harness/base/printable.h"

namespace headrace {
namespace {

const std::vector<std::string> kKeys{"slots", "rack", "switch", "rail", "rdma"};
// The words of MPI's hostfiles, too.
const std::vector<std::string> kReadOver{"slot",      "count",     "cpu",       "cpus",
                                         "max_slots", "max-slots", "slots_max", "slots-max"};
const std::vector<std::string> kUsers{"user", "username", "user_name", "user-name"};
// What hosts may share besides: places, power and cooling, parts of a network.
const std::vector<std::string> kShared{"pdu",  "ups",   "feed",   "psu",   "cdu",   "chassis", "enclosure", "cabinet",
                                       "row",  "room",  "hall",   "floor", "zone",  "site",    "cell",      "pod",
                                       "unit", "spine", "island", "plane", "block", "group",   "cluster"};
constexpr std::string_view kOwnKey = "x-";
constexpr const char* kNoFile = "--hosts";  // instead of a file's name

/// The command that converts a file of another program; "" for a list.
std::string converted(const std::string& path, const char* command) {
  if (path == kNoFile) return "";
  const std::string to = path.substr(path.rfind('/') + 1) + ".hosts";
  return fmt::format("; this makes a hosts file of it: {} >{}", fmt::format(fmt::runtime(command), shell_word(path)),
                     shell_word(to));
}
constexpr const char *kOfInventory = "ansible all -i {} --list-hosts | tail -n +2",
                     *kFirstWords = "awk '{{print $1}}' {}";
// The keys right below each "hosts:".
constexpr const char* kOfMap =
    "awk '/^ *hosts:/ {{h = match($0, /[^ ]/); c = 0; next}} NF && !/^ *#/ {{i = match($0, /[^ ]/); "
    "if (i <= h) h = 0; if (h && !c) c = i; if (h && i == c) {{sub(/:( .*)?$/, \"\"); print $1}}}}' {}";

// Each name, and no pattern.
constexpr const char* kOfSsh =
    "awk 'tolower($1) == \"host\" {{for (i = 2; i <= NF; ++i) if ($i !~ /[*?!]/) print $i}}' {}";
const std::vector<std::string> kOfSshConfig{
    "host", "hostname", "user", "port", "match", "include", "identityfile", "proxyjump", "stricthostkeychecking"};

// The hosts of a JSON document: a list below "hosts", or a list of objects with this key.
constexpr const char
    *kOfJsonHosts = "python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))[\"hosts\"], sep=\"\\n\")' {}",
    *kOfJsonObjects =
        "python3 -c 'import json, sys; print(*(one[\"KEY\"] for one in json.load(open(sys.argv[1]))), "
        "sep=\"\\n\")' {}";

const std::vector<std::string> kHeadings{"name", "nodelist", "node",      "nodename",
                                         "host", "hostname", "hostnames", "host_name"};

constexpr std::string_view kHostAlone = "write the host alone";
constexpr const char* kNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:";
constexpr std::string_view kMark = "\xEF\xBB\xBF";  // U+FEFF, with which some editors begin a file
constexpr std::string_view kNoBreakSpace = "\xC2\xA0";

struct Word {
  std::string text;
  int column = 0;
};

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    words.push_back({std::string(line.substr(at, end - at)), static_cast<int>(at) + 1});
    at = end;
  }
  return words;
}

constexpr std::size_t kMostHosts = 100'000, kLongestList = 4096;

/// "node[001-003,7]x" -> node001x ..., as Slurm writes lists, "node[0-8/2]" as ClusterShell does; other text is itself, an IPv6
/// address in brackets too. `why`: the error.
std::vector<std::string> expanded(const std::string& text, std::string& why) {
  const std::size_t open = text.find('['), close = text.find(']', open);
  if (open == text.npos || (open == 0 && text.find(':') < close)) return {text};
  if (close == text.npos) return why = "a '[' without its ']'", std::vector<std::string>{};
  if (const std::size_t colon = text.find(':', open); colon < close) {
    const std::string range = text.substr(open + 1, close - open - 1);
    if (open == 0 || text[open - 1] == '@' || range.find_first_not_of("0123456789:") != range.npos ||
        std::ranges::count(range, ':') != 1)
      return {text};
    const std::string dashed = text.substr(0, colon) + "-" + text.substr(colon + 1);
    return why = fmt::format("a range as Ansible writes it; write {}", dashed), std::vector<std::string>{};
  }
  if (text.size() > kLongestList) return why = "a list that is too long", std::vector<std::string>{};
  std::vector<std::string> names;
  const std::vector<std::string> rests = expanded(text.substr(close + 1), why);
  for (std::size_t at = open + 1; at <= close && why.empty();) {
    const std::size_t end = std::min(text.find(',', at), close), slash = std::min(text.find('/', at), end),
                      dash = std::min(text.find('-', at), slash);
    const std::string from = text.substr(at, dash - at),
                      to = dash < slash ? text.substr(dash + 1, slash - dash - 1) : from;
    const auto number = [](const std::string& digits) {
      const bool right = !digits.empty() && digits.size() <= 9 && digits.find_first_not_of("0123456789") == digits.npos;
      return right ? std::stol(digits) : -1;
    };
    const long first = number(from), last = number(to),
               step = slash < end ? number(text.substr(slash + 1, end - slash - 1)) : 1;
    if (first < 0 || last < first || step < 1)
      return why = fmt::format("'{}' is no range, as in node[001-004,7]", text.substr(at, end - at)), names;
    if (names.size() + static_cast<std::size_t>((last - first) / step + 1) * rests.size() > kMostHosts)
      return why = "a list of too many hosts", names;
    for (long n = first; n <= last; n += step)
      for (const std::string& rest : rests)
        names.push_back(fmt::format("{}{:0{}}{}", text.substr(0, open), n, from.size(), rest));
    at = end + 1;
  }
  return names;
}

/// The logins of a line's first word: "root@node[1-2],gpu7" are three.
std::vector<std::string> logins_of(const std::string& word, std::string& why) {
  std::vector<std::string> logins;
  int depth = 0;
  std::string one;
  for (const char c : word + ",") {
    depth += (c == '[') - (c == ']');
    if (c != ',' || depth > 0) {
      one += c;
      continue;
    }
    if (!one.empty() || word.empty())
      for (std::string& login : expanded(one, why)) logins.push_back(std::move(login));
    one.clear();
  }
  if (!one.empty()) why = "a '[' without its ']'";
  return logins;
}

/// Equal names have the same (RFC 4343).
std::string plain_name(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.ends_with('.')) name.pop_back();
  return name;
}

/// Reads a line in which several words give one value.
class Reader {
 public:
  Reader(std::string path, std::string_view whole, std::vector<Host>& hosts)
      : path_(std::move(path)), whole_(whole), hosts_(hosts) {}

  void line(std::string_view text, int number) {
    number_ = number;
    text = text.substr(0, text.find('#'));
    const std::vector<Word> words = words_of(text);
    if (words.empty() || is_foreign_) return;
    if (const std::size_t at = text.find(kNoBreakSpace); at != text.npos)
      return problem({"", static_cast<int>(at) + 1}, "a no-break space; use a normal one");
    const std::string& first = words.front().text;
    if (first.starts_with(';') || first.starts_with("//")) return problem(words.front(), "comments begin with #");
    if (plain_name(first).starts_with("nodename=") && first.back() != '=')
      return problem(words.front(),
                     fmt::format("a line of slurm.conf; this lists its hosts: scontrol show hostnames {}",
                                 shell_word(first.substr(first.find('=') + 1))));
    if (const std::string what = hosts_.empty() && problems_.empty() ? foreign(words) : ""; !what.empty()) {
      is_foreign_ = true;
      return problem(words.front(), what);
    }
    if (first.find('=') != first.npos) return problem(words.front(), "a line begins with the host's name");
    const bool of_groups = first.ends_with(":children]") || first.ends_with(":vars]");
    if (first.size() > 1 && first.front() == '[' && first.back() == ']' && std::isalpha(first[1]) != 0 &&
        (of_groups || first.find(':') == first.npos))
      return problem(words.front(), "a group of an Ansible inventory" + converted(path_, kOfInventory));
    if (first.starts_with('@'))
      return problem(words.front(),
                     fmt::format("a group of ClusterShell; this lists it: nodeset -e -S '\\n' {} >hosts", first));
    if (first.starts_with(kMark)) return problem(words.front(), "a byte order mark within the file; take it out");
    std::string why;
    const std::vector<std::string> logins = logins_of(first, why);
    if (!why.empty()) return problem(words.front(), why);
    std::string line;
    for (const Word& word : words) line += word.text + ' ';
    if (words.size() > 1 && line.find('=') == line.npos) return problem(words[1], several(words));
    Host with;
    std::map<std::string, int> seen;
    for (std::size_t i = 1; i < words.size(); ++i) value(words[i], with, seen);
    for (const std::string& login : logins) add(login, with, line, words.front());
  }

  /// One word, in which no comment begins.
  static void check_list(const std::string& text) {
    if (text.find_first_of(" \t\r\n#=") != text.npos)
      throw UsageError(
          printable(fmt::format("--hosts: '{}' is neither a file nor a list as in node[001-004],gpu1", text)));
  }

  void finish() {
    if (hosts_.empty() && problems_.empty()) problem({"", 1}, "no host in it");
    for (const Host& host : hosts_)
      if (host.rails.size() != hosts_.front().rails.size() && problems_.empty())
        problems_.push_back(printable(fmt::format(
            "{}:{}:{}: {} has {} rails, and {} has {}; give all hosts the same number", path_, place_of(host).line,
            place_of(host).column, host.name, host.rails.size(), hosts_.front().name, hosts_.front().rails.size())));
    if (!problems_.empty()) throw UsageErrors(join(problems_, "\n"));
  }

 private:
  /// What another program wrote, by its first line, and the command that converts it; "" = none that is known.
  std::string foreign(const std::vector<Word>& words) const {
    const std::string& first = words.front().text;
    if (first.starts_with('{') || first.starts_with("[{") || (first == "[" && whole_.find('{') != whole_.npos))
      return of_json();
    if (first == "-" || first == "---" ||
        (words.size() == 1 && first.size() > 1 && first.find(':') == first.size() - 1))
      return of_yaml();
    if (first == "[" || first.starts_with("[\""))
      return "a JSON list" + converted(path_, "grep -o '\"[^\"]*\"' {} | tr -d '\"'");
    if (first.starts_with("node/") || first.starts_with("nodes/"))
      return "names as kubectl prints them" + converted(path_, "cut -d/ -f2 {}");
    const std::size_t slash = first.find('/');
    if (slash != first.npos && is_address(first.substr(0, slash)) &&
        first.find_first_not_of("0123456789", slash + 1) == first.npos)
      return "a network, and no host; write a line for each host";
    if (slash != first.npos && first.find('[') > slash &&
        std::isdigit(static_cast<unsigned char>(first.c_str()[slash + 1])) != 0)
      return "PBS's exec_host" + converted(path_, "tr '+' '\\n' <{} | cut -d/ -f1");
    if (words.size() > 1 && plain_name(first) == "host" && is_ssh_config())
      return "a configuration of ssh" + converted(path_, kOfSsh);
    return of_table(words);
  }
  std::string of_json() const {
    const auto json = nlohmann::json::parse(whole_, nullptr, false);
    const auto has_text = [](const nlohmann::json& in, const std::string& key) {
      return in.is_object() && in.contains(key) && in.at(key).is_string();
    };
    const auto is_text = [](const nlohmann::json& one) { return one.is_string(); };
    if (json.is_object() && json.contains("hosts") && json.at("hosts").is_array() &&
        std::ranges::all_of(json.at("hosts"), is_text))
      return "JSON" + converted(path_, kOfJsonHosts);
    for (const std::string& key : kHeadings)
      if (json.is_array() && std::ranges::all_of(json, [&](const auto& one) { return has_text(one, key); })) {
        std::string command = kOfJsonObjects;
        return "JSON" + converted(path_, command.replace(command.find("KEY"), 3, key).c_str());
      }
    return "JSON; write a line for each host";
  }
  /// Its lines have keywords of ssh_config, or there is but one.
  bool is_ssh_config() const {
    std::size_t lines = 0;
    for (std::size_t at = 0; at < whole_.size();) {
      const std::size_t end = std::min(whole_.find('\n', at), whole_.size());
      const std::vector<Word> words = words_of(whole_.substr(at, end - at));
      at = end + 1;
      if (words.empty() || words.front().text.starts_with('#') || ++lines == 1) continue;
      const std::string key = plain_name(words.front().text.substr(0, words.front().text.find('=')));
      if (std::ranges::find(kOfSshConfig, key) != kOfSshConfig.end()) return true;
    }
    return lines == 1;
  }
  /// A list, or an Ansible inventory, whose hosts are keys.
  std::string of_yaml() const {
    bool list = false, below = false, map = false;
    for (std::size_t at = 0; at < whole_.size();) {
      const std::size_t end = std::min(whole_.find('\n', at), whole_.size());
      const std::string_view line = whole_.substr(at, end - at);
      at = end + 1;
      const std::vector<Word> words = words_of(line.substr(0, line.find('#')));
      if (words.empty()) continue;
      const bool item = words[0].text == "-";
      list |= item;
      map |= below && !item;
      below = words.size() == 1 && words[0].text == "hosts:";
    }
    if (map) return "an Ansible inventory" + converted(path_, kOfMap);
    return list ? "a YAML list" + converted(path_, "sed -n 's/^ *-  *//p' {}") : "YAML; write a line for each host";
  }
  /// Of a table of one column, as of sinfo -o %N: a word in capitals, and lines below it.
  bool is_heading_alone(const std::string& word) const {
    const bool capitals = std::ranges::none_of(word, [](unsigned char c) { return std::islower(c) != 0; });
    return capitals && std::ranges::find(kHeadings, plain_name(word)) != kHeadings.end() &&
           whole_.find_first_not_of(" \t\r\n", whole_.find(word) + word.size()) != whole_.npos;
  }
  /// By its heading, in capitals or with the hosts first: words, or fields of a CSV.
  std::string of_table(const std::vector<Word>& words) const {
    const std::string& first = words.front().text;
    if (words.size() == 1 && is_heading_alone(first))
      return "a table with a heading" + converted(path_, fmt::format("tail -n +{} {{}}", number_ + 1).c_str());
    const std::size_t cut = path_ == kNoFile ? first.npos : first.find_first_of(",;");
    const char separator = cut == first.npos ? ' ' : first[cut];
    std::string line;
    for (const Word& word : words) line += word.text + (separator == ' ' ? " " : "");
    if (separator != ' ') line += separator;
    if (line.find('=') != line.npos || std::ranges::count(line, separator) < 2) return "";
    const bool capitals = std::ranges::none_of(line, [](unsigned char c) { return std::islower(c) != 0; });
    std::ranges::transform(line, line.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::size_t at = 0;
    for (int column = 1; at < line.size(); ++column) {
      const std::size_t end = line.find(separator, at);
      const std::string name = line.substr(at, end - at);
      at = end + 1;
      if (column > 1 && !capitals && name != "hostname" && name != "nodename") continue;
      const char* split = separator == ' ' ? "" : separator == ',' ? "-F, " : "-F';' ";
      const std::string take = fmt::format("awk {}'NR > {} {{{{print ${}}}}}' {{}}", split, number_, column);
      if (std::ranges::find(kHeadings, name) != kHeadings.end())
        return "a table with a heading" + converted(path_, take.c_str());
    }
    return "";
  }
  /// The problem of a line of several words without key=value.
  std::string several(const std::vector<Word>& words) const {
    const auto is_number = [](const Word& word) { return word.text.find_first_not_of("0123456789") == word.text.npos; };
    const std::string what = fmt::format("'{}' is no key=value, as in rack=r1", words[1].text);
    // /etc/hosts has "10.0.0.1 node1 node1.cluster", Grid Engine "node1 4 all.q@node1 UNDEFINED", sinfo "node1 1 gpu idle";
    // LSF names all hosts in one line, "node1 4 node2 4".
    if (is_address(words[0].text) && !is_number(words[1]) && !is_address(words[1].text))
      return what + converted(path_, "awk '$1 !~ /^(#|127[.]|::1$|f[ef]0|255[.])/ && NF {{print $2}}' {}") +
             " (of lines as /etc/hosts has them)";
    const auto stem = [](std::string text) {
      std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0 || c == ','; });
      return text;
    };
    bool alike = true, counts = words.size() > 2 && words.size() % 2 == 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      alike &= !is_number(words[i]) && (stem(words[i].text) == stem(words[0].text) || words[0].text.back() == ',' ||
                                        (is_address(words[0].text) && is_address(words[i].text)));
      counts &= is_number(words[i]) == (i % 2 == 1);
    }
    if (alike || counts)
      return what + converted(path_, "tr -s '[:blank:]' '\\n' <{} | grep -vx '[0-9]*'") +
             " (of lines of several hosts)";
    const bool partitions = words.size() == 6 && words[1].text == "up" && is_number(words[3]);  // of sinfo -h
    if (partitions) return what + converted(path_, "awk '{{print $6}}' {}");
    return what + converted(path_, words[0].text.back() == '*' ? "awk '{{print $1}}' {} | tr -d '*'" : kFirstWords);
  }
  /// Lines that are alike are of one host: some launchers want a line for each process.
  void add(const std::string& login, Host host, const std::string& line, const Word& word) {
    if (const std::string wrong = set_login(host, login); !wrong.empty())
      return problem(word,
                     wrong + (wrong.starts_with(kHostAlone) ? converted(path_, "sed 's/:[0-9][^ ,]*//g' {}") : ""));
    const auto [at, fresh] = places_.emplace(plain_name(host.name), Place{number_, word.column, line});
    if (!fresh && at->second.text == line) return;
    if (!fresh)
      problem(word, fmt::format("a second line for {}; the first is {}:{}:{}; remove one of them", host.name, path_,
                                at->second.line, at->second.column));
    hosts_.push_back(std::move(host));
  }

  void value(const Word& word, Host& host, std::map<std::string, int>& seen) {
    const std::size_t equal = word.text.find('=');
    const std::string key = word.text.substr(0, equal);
    if (equal == word.text.npos || equal == 0 || equal + 1 == word.text.size())
      return problem(word, fmt::format("'{}' is no key=value, as in rack=r1", word.text));
    const std::string text = word.text.substr(equal + 1);
    if (key == "port" || key == "ansible_port")
      return problem(word, fmt::format("a port goes into the launcher, as in --launch 'ssh -p {} {{host}}'", text));
    if (key.starts_with("ansible_"))
      return problem(word, "a variable of an Ansible inventory" + converted(path_, kOfInventory));
    const auto is_of = [&](const std::vector<std::string>& keys) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    if (is_of(kUsers)) return problem(word, fmt::format("write the user before the host, as in {}@node01", text));
    const bool known = is_of(kKeys) || is_of(kReadOver);
    if (!known && !is_of(kShared) && !(key.starts_with(kOwnKey) && key.size() > kOwnKey.size())) {
      std::vector<std::string> all = kKeys;
      all.insert(all.end(), kShared.begin(), kShared.end());
      const std::string meant = did_you_mean(key, all);
      return problem(
          word, fmt::format("no key '{}'{}", key,
                            meant.empty() ? fmt::format("; your own keys begin with x-: x-{}={}", key, text) : meant));
    }
    if (!seen.emplace(key, word.column).second) return problem(word, "a second " + key);
    if (key == "rack") host.rack = text;
    if (key == "switch") host.leaf_switch = text;
    if (key == "rdma") host.rdma = text;
    if (!known) host.others[key] = text;
    if (key != "rail") return;
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      const std::string one = text.substr(at, end - at);
      if (one.empty() || std::find(host.rails.begin(), host.rails.end(), one) != host.rails.end())
        return problem(word, "rail wants names of network interfaces, each once, as in rail=eth1,eth2");
      host.rails.push_back(one);
      at = end + 1;
    }
  }
  void problem(const Word& word, const std::string& what) {
    problems_.push_back(printable(fmt::format("{}:{}:{}: {}", path_, number_, word.column, what)));
  }

  const std::string path_;
  const std::string_view whole_;
  std::vector<Host>& hosts_;
  int number_ = 1;
  bool is_foreign_ = false;
  struct Place {
    int line = 0, column = 0;
    std::string text;  // of the whole line
  };
  const Place& place_of(const Host& host) const { return places_.at(plain_name(host.name)); }
  std::map<std::string, Place> places_;  // by plain_name()
  std::vector<std::string> problems_;
};

}  // namespace

bool is_address(const std::string& name) {
  in6_addr any{};
  return inet_pton(AF_INET, name.c_str(), &any) == 1 || inet_pton(AF_INET6, name.c_str(), &any) == 1;
}

std::string set_login(Host& host, std::string_view login) {
  const std::size_t at = login.find('@');
  std::string_view name = at == login.npos ? login : login.substr(at + 1);
  if (name.starts_with('[') && name.ends_with(']') && is_address(std::string(name.substr(1, name.size() - 2))))
    name = name.substr(1, name.size() - 2);
  const std::string_view user = at == login.npos ? "" : login.substr(0, at);
  if (login.starts_with('-') || name.starts_with('-')) return "no host's name begins with '-'";
  if (at == 0) return "the user is before the '@', as in root@node01";
  if (name.empty())
    return at == login.npos ? "a host has a name" : "the host's name follows the '@', as in root@node01";
  if (const std::size_t zone = name.find('%'); zone < name.npos && name.find(':') < zone)
    return "zones of addresses (%eth0) are not supported; write the host's global address";
  if (name.starts_with('[')) return "write [ADDRESS] without a port; the port goes into --launch 'ssh -p 2222 {host}'";
  if (name.find_first_not_of(kNames) != name.npos || user.find_first_not_of(kNames) != user.npos)
    return "a host's name has letters, digits, and . _ - : alone, and so has a user's before an '@'";
  if (name.find(':') != name.npos && !is_address(std::string(name)))
    return std::string(kHostAlone) +
           ": leave out MPICH's number of processes; a port goes into the launcher, as in --launch 'ssh -p 2222 "
           "{host}', "
           "or into ~/.ssh/config";
  host.name = name;
  host.user = user;
  return "";
}

std::vector<std::string> names_in(const std::string& list) {
  std::string why;
  std::vector<std::string> names = logins_of(list, why);
  return why.empty() ? names : std::vector{list};
}

bool is_same_host(const std::string& a, const std::string& b) { return plain_name(a) == plain_name(b); }

std::optional<std::size_t> host_named(const std::vector<std::string>& hosts, const std::string& name) {
  if (const auto same = std::find(hosts.begin(), hosts.end(), name); same != hosts.end())
    return static_cast<std::size_t>(same - hosts.begin());
  const auto first_of = [](const std::string& full) {
    return is_address(full) ? full : full.substr(0, full.find('.'));
  };
  const std::string asked = plain_name(name);
  const bool is_short = asked.find('.') == asked.npos;
  std::optional<std::size_t> equal, alike;
  std::size_t equals = 0, likes = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string host = plain_name(hosts[i]);
    if (host == asked) {
      equal = i;
      ++equals;
    } else if (first_of(host) == first_of(asked) && is_short != (host.find('.') == host.npos)) {
      alike = i;
      ++likes;
    }
  }
  if (equals > 0) return equals == 1 ? equal : std::nullopt;  // of several, either may be meant
  return likes == 1 ? alike : std::nullopt;
}

std::map<std::string, std::string> Host::attributes() const {
  std::map<std::string, std::string> all = others;
  if (!rack.empty()) all["rack"] = rack;
  if (!leaf_switch.empty()) all["switch"] = leaf_switch;
  return all;
}

std::vector<Host> hosts_from(std::string_view text, const std::string& path) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw UsageError(printable(path + ":1:1: is in UTF-16; save it as UTF-8, as in iconv -f UTF-16 -t UTF-8"));
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  std::vector<Host> hosts;
  Reader reader(path, text, hosts);
  int number = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    reader.line(text.substr(at, end - at), ++number);
    at = end + 1;
  }
  reader.finish();
  return hosts;
}

std::vector<Host> read_hosts(const std::string& path) {
  std::string text;
  std::error_code ignored;
  // "node1,node2" and "node[1-4]" are no names of files, as long as there are none.
  if (path.find_first_of(",[") != path.npos && !std::filesystem::exists(path, ignored)) {
    Reader::check_list(path);
    return hosts_from(path, kNoFile);
  }
  try {
    text = file_text(path, std::size_t{64} << 20);
  } catch (const UsageError& e) {
    throw UsageError(path + ": " + e.what());
  }
  return hosts_from(text, path);
}

}  // namespace headrace
