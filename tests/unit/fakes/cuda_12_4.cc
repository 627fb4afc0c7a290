// The oldest CUDA Toolkit that the build takes, as far as compiling reports: what came later must not be named.
#include "harness/backends/cuda/memory.h"
#undef CUDART_VERSION
#define CUDART_VERSION 12040
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // deprecated by the toolkit that compiles this
#pragma GCC poison cudaGetDriverEntryPointByVersion
#include "harness/backends/cuda/memory.cc"
