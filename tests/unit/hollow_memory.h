// Memory of which only addresses are there until somebody writes: of GPUs that hold more than this machine.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

namespace headrace::testing {

using HollowMemory = std::unique_ptr<unsigned char, std::function<void(unsigned char*)>>;

inline HollowMemory hollow_memory(std::uint64_t bytes) {
  void* place = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) throw std::runtime_error("no addresses");
  return {static_cast<unsigned char*>(place), [bytes](unsigned char* begin) { ::munmap(begin, bytes); }};
}

}  // namespace headrace::testing
