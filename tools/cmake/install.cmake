# `cmake --install BUILD --prefix X` makes a tree that can be moved to any folder:
#   bin/headrace                     the one binary
#   lib/headrace/plugins/            optional backends
#   share/headrace/                  configs, report maker, docs, files for Slurm, Kubernetes, Prometheus and Grafana
#   share/man/man1/                  a page per verb; share/bash-completion, share/zsh: completion
# and, with `cmake --install BUILD --prefix X --component bundled` as well, to another machine:
#   lib/headrace/                    the shared libraries that it needs: all but the C and C++ libraries
# Nothing in it holds an absolute path. The binary finds lib and share by its own place. tools/package makes packages of it.
include(GNUInstallDirs)

set(HEADRACE_LIBRARIES lib/headrace)
set(HEADRACE_PLUGINS lib/headrace/plugins)

# The C library must be the machine's own: it fits the kernel, the loader and the name services there.
set(c_library "^(ld-linux|ld64|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libutil|libanl|libnsl|libnss_.*)[-.].*so")
# The C++ library, too: a newer one runs programs built for an older one, and the newest here would ask for the newest C
# library.
set(cxx_library "^(libstdc[+][+]|libgcc_s)[.]so")
# So must libibverbs, for the drivers of the machine's network cards fit one version of it; and MPI, for it fits what
# launches the processes.
set(machines_own "${c_library}|${cxx_library}|^(libibverbs|libmpi)[.]so")
set(carried PRE_EXCLUDE_REGEXES ${machines_own} POST_EXCLUDE_REGEXES "/${c_library}")
# The libraries of this machine need its C library. libjpeg needs an old one, and has another name elsewhere.
if(HEADRACE_PORTABLE)
  set(carried PRE_INCLUDE_REGEXES "^libjpeg[.]so" PRE_EXCLUDE_REGEXES ".")
endif()

# RPATH, not RUNPATH: it also holds for what the carried libraries need of each other. The build tree has the same one:
# for a path that `install` may rewrite CMake reserves room by empty entries, and for the loader an empty entry is the
# current directory.
function(headrace_carry target origin destination)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${origin}" BUILD_WITH_INSTALL_RPATH ON)
  set(component headrace)
  if(target STREQUAL "headrace_mpi")
    set(component mpi)
  elseif(target MATCHES "^headrace_(cuda|nccl)$")
    set(component cuda)
  endif()
  if(NOT CMAKE_CROSSCOMPILING)  # CMake finds none of another machine
    set(needs RUNTIME_DEPENDENCY_SET headrace_carried)
  endif()
  install(TARGETS ${target} ${needs}
    RUNTIME DESTINATION ${destination} COMPONENT ${component} LIBRARY DESTINATION ${destination} COMPONENT ${component})
endfunction()

function(headrace_install)
  headrace_carry(headrace "$ORIGIN/../lib/headrace" bin)
  if(NOT CMAKE_CROSSCOMPILING)
    install(RUNTIME_DEPENDENCY_SET headrace_carried ${carried} LIBRARY DESTINATION ${HEADRACE_LIBRARIES} COMPONENT bundled EXCLUDE_FROM_ALL
      FRAMEWORK DESTINATION ${HEADRACE_LIBRARIES} COMPONENT bundled EXCLUDE_FROM_ALL
      RUNTIME DESTINATION ${HEADRACE_LIBRARIES} COMPONENT bundled EXCLUDE_FROM_ALL)
  endif()
  install(DIRECTORY configs docs packaging/slurm packaging/node-problem-detector packaging/kubernetes packaging/prometheus
    packaging/grafana DESTINATION share/headrace USE_SOURCE_PERMISSIONS COMPONENT headrace)
  install(DIRECTORY reports DESTINATION share/headrace COMPONENT headrace
    PATTERN tests EXCLUDE PATTERN __pycache__ EXCLUDE PATTERN .pytest_cache EXCLUDE PATTERN "*.egg-info" EXCLUDE)
  # The binary knows its verbs: it writes their pages and their completion.
  install(CODE "set(program_of_headrace ${CMAKE_CROSSCOMPILING_EMULATOR} [[$<TARGET_FILE:headrace>]])" COMPONENT headrace)
  install(SCRIPT tools/cmake/install_help.cmake COMPONENT headrace)
  install(FILES LICENSE README.md ${CMAKE_BINARY_DIR}/generated/headrace.tree DESTINATION share/headrace COMPONENT headrace)
  include(packaging/packages.cmake)
endfunction()
