// What the copies that notice.py makes are compiled with: one switch per change, at most one of them on.
#pragma once

extern "C" {
extern int headrace_active_change;     // the number of the change that is made, or -1
extern unsigned char* headrace_asked;  // a byte for each change, or null where nothing is recorded
}

/// Whether change `number` is made in this process; notes that its code was reached.
inline bool headrace_change(int number) {
  if (headrace_asked != nullptr) headrace_asked[number] = 1;
  return headrace_active_change == number;
}
