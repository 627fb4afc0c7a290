# Compiles for every distribution with glibc 2.28 or later (RHEL 8, Debian 10, Ubuntu 20.04 and newer). Headers and symbol
# versions of the C library are Zig's (PyPI: ziglang). The C++ library is the static one of this machine's g++. Other
# libraries are static where that needs no later C library, and the machine's own otherwise.
#   cmake -B build/portable -DCMAKE_TOOLCHAIN_FILE=packaging/portable/toolchain.cmake -DZIG=/path/to/zig
find_program(ZIG zig REQUIRED)
find_program(GXX g++ REQUIRED)
set(HEADRACE_PORTABLE ON)
set(HEADRACE_CUDA_HOST ${GXX})  # nvcc does not know Zig
set(HEADRACE_COMPAT ${CMAKE_BINARY_DIR}/compat.o CACHE FILEPATH "")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ZIG GXX HEADRACE_COMPAT HEADRACE_SYSROOT)
set(machine ${CMAKE_HOST_SYSTEM_PROCESSOR})
if(HEADRACE_SYSROOT)  # for another machine: the folder with Debian's arm64 packages
  set(machine aarch64)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${machine})
  set(CMAKE_FIND_ROOT_PATH ${HEADRACE_SYSROOT})
  set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  set(CMAKE_DISABLE_FIND_PACKAGE_MPI ON)  # CMake asks programs that come with it
  set(CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit ON)
  set(ENV{PKG_CONFIG_LIBDIR} ${HEADRACE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
  # Static: CMake copies no library of another machine into a tree.
  set(JPEG_LIBRARY ${HEADRACE_SYSROOT}/usr/lib/aarch64-linux-gnu/libjpeg.a)
  add_link_options(-s)  # for `strip` of this machine may know no other
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
endif()
set(target -target ${machine}-linux-gnu.2.28)
set(CMAKE_C_COMPILER ${ZIG} cc ${target})
set(CMAKE_CXX_COMPILER ${ZIG} c++ ${target})
if(NOT EXISTS ${HEADRACE_COMPAT})
  execute_process(COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -c ${CMAKE_CURRENT_LIST_DIR}/compat.c -o ${HEADRACE_COMPAT}
    COMMAND_ERROR_IS_FATAL ANY)
endif()

# -I: before the C library's, which the C++ library's headers include as the next ones of the same name.
execute_process(COMMAND ${GXX} -x c++ -E -v /dev/null OUTPUT_QUIET ERROR_VARIABLE searched)
string(REGEX MATCHALL "\n /[^\n]*c[+][+][^\n]*" cxx_headers "${searched}")
execute_process(COMMAND ${GXX} -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${GXX} -print-file-name=libstdc++.a OUTPUT_VARIABLE cxx_library OUTPUT_STRIP_TRAILING_WHITESPACE)
if(HEADRACE_SYSROOT)
  string(REPLACE ${multiarch} aarch64-linux-gnu cxx_headers "${cxx_headers}")
  string(REPLACE ${multiarch} aarch64-linux-gnu cxx_library ${HEADRACE_SYSROOT}${cxx_library})
  set(multiarch aarch64-linux-gnu)
endif()
set(CMAKE_CXX_FLAGS_INIT "-Wno-unknown-warning-option -Wno-c2y-extensions -nostdinc++ -I${CMAKE_CURRENT_LIST_DIR}/include")
foreach(folder ${cxx_headers})
  string(STRIP "${folder}" folder)
  string(APPEND CMAKE_CXX_FLAGS_INIT " -I${HEADRACE_SYSROOT}${folder}")
endforeach()
string(APPEND CMAKE_CXX_FLAGS_INIT " -idirafter ${HEADRACE_SYSROOT}/usr/include/${multiarch}"
  " -idirafter ${HEADRACE_SYSROOT}/usr/include")
set(CMAKE_CXX_STANDARD_LIBRARIES "${cxx_library} ${HEADRACE_COMPAT} -lunwind")
# Plugins take the C++ library from the program. Libraries of this machine may need its later C library.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-nostdlib++ -rdynamic -Wl,--allow-shlib-undefined")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-nostdlib++")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-nostdlib++")

set(CMAKE_LIBRARY_ARCHITECTURE ${multiarch})
set(OPENSSL_USE_STATIC_LIBS ON)
find_library(PUGIXML_LIBRARY libpugixml.a PATHS /usr/lib/${multiarch} /usr/lib64)
