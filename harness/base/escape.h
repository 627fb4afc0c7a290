// Texts as CSV, XML, Prometheus and shells hold them.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// One cell of a CSV file. RFC 4180: in quotes where a comma, a quote or a line break asks for it. Spreadsheets run cells that
/// begin with = + - @, a tab or a carriage return: those get a ' in front, numbers do not.
std::string csv_field(std::string_view text);

/// One word that bash takes as it is, in quotes where it has to be. Control characters are escaped, as in $'a\nb'.
std::string shell_word(std::string_view text);

/// The same for a command that /bin/sh runs, which may know no escapes.
std::string sh_word(std::string_view text);

/// The value of a label in Prometheus's text format.
std::string prometheus_label(std::string_view text);

/// Markup escaped; what XML 1.0 cannot hold, and what directs a terminal or hides, printable.
std::string xml_escaped(std::string_view text);

}  // namespace headrace
