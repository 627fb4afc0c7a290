# `cmake --install BUILD --prefix X` makes a tree that can be copied to another machine and to any folder:
#   bin/headrace                     the one binary
#   lib/headrace/                    shared libraries that it brings along: all but the C library
#   lib/headrace/plugins/            optional backends
#   share/headrace/                  configs, report maker, docs
#   share/man/man1/                  a page per verb; share/bash-completion, share/zsh: completion
# Nothing in it holds an absolute path. The binary looks for lib and share beside itself.

set(HEADRACE_LIBRARIES lib/headrace)
set(HEADRACE_PLUGINS lib/headrace/plugins)

# The C library must be the machine's own: it fits the kernel, the loader and the name services there.
set(c_library "^(ld-linux|ld64|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libutil|libanl|libnsl|libnss_.*)[-.].*so")
# So must libibverbs, for the drivers of the machine's network cards fit one version of it; and MPI, for it fits what
# launches the processes.
set(machines_own "${c_library}|^(libibverbs|libmpi)[.]so")
set(carried PRE_EXCLUDE_REGEXES ${machines_own} POST_EXCLUDE_REGEXES "/${c_library}")

# RPATH, not RUNPATH: it also holds for what the carried libraries need of each other. The build tree has the same one:
# for a path that `install` may rewrite CMake reserves room by empty entries, and for the loader an empty entry is the
# current directory.
function(headrace_carry target origin destination)
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${origin}" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target} RUNTIME_DEPENDENCY_SET headrace_carried
    RUNTIME DESTINATION ${destination} LIBRARY DESTINATION ${destination})
endfunction()

function(headrace_install)
  headrace_carry(headrace "$ORIGIN/../lib/headrace" bin)
  install(RUNTIME_DEPENDENCY_SET headrace_carried ${carried} LIBRARY DESTINATION ${HEADRACE_LIBRARIES})
  install(DIRECTORY configs docs DESTINATION share/headrace)
  install(DIRECTORY reports DESTINATION share/headrace
    PATTERN tests EXCLUDE PATTERN __pycache__ EXCLUDE PATTERN .pytest_cache EXCLUDE PATTERN "*.egg-info" EXCLUDE)
  # The binary knows its verbs: it writes their pages and their completion.
  install(CODE "set(headrace [[$<TARGET_FILE:headrace>]])")
  install(SCRIPT tools/cmake/install_help.cmake)
  install(FILES LICENSE README.md ${CMAKE_BINARY_DIR}/generated/headrace.tree DESTINATION share/headrace)
endfunction()
