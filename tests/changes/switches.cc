#include "tests/changes/switches.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int headrace_active_change = -1;
unsigned char* headrace_asked = nullptr;

namespace {

/// Before any other initialization. The record is a mapped file, so that processes that end by a signal, and those
/// that a test starts, leave theirs, too.
__attribute__((constructor(101))) void read_environment() {
  if (const char* number = getenv("HEADRACE_CHANGE")) headrace_active_change = atoi(number);
  const char* path = getenv("HEADRACE_CHANGES_ASKED");
  if (path == nullptr) return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  struct stat status = {};
  void* bytes = MAP_FAILED;
  if (file >= 0 && fstat(file, &status) == 0)
    bytes = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (bytes == MAP_FAILED) {
    perror(path);
    _exit(1);
  }
  headrace_asked = static_cast<unsigned char*>(bytes);
  close(file);
}

}  // namespace
