// The content of a folder's file `.headrace`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::files {

/// The process that has locked a folder.
struct Holder {
  long pid = 0;
  std::string host, since_utc;

  static Holder this_process();
  /// False: it was of this machine, and is not there any more.
  bool may_live() const;
  std::string text() const;  // "pid 12 on node1 since 2026-01-31 12:00:00 UTC"
};

struct Mark {
  std::string kind;              // what the folder is for: "scratch", "run", "data_set" ...
  bool made = false;             // headrace made the folder, too: it goes with the last file
  std::optional<Holder> holder;  // the last one that there was
  std::string token;             // of a prefix in an object store: is in every key below it; "" = a folder
  /// Files written in this very folder by name: digests of allowed contents, the one before and the present.
  std::map<std::string, std::vector<std::string>> files;
};

/// Nothing when the text is no mark.
std::optional<Mark> parse_mark(std::string_view text);
std::string mark_text(const Mark& mark);

/// Length and hash of a text: enough to show whether it was changed.
std::string digest_of(std::string_view text);

}  // namespace headrace::files
