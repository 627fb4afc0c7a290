# `headrace observe --trace` loads it into the command: one shared object next to the plugins; needs only the C library.
add_library(headrace_trace MODULE ${CMAKE_CURRENT_LIST_DIR}/shim.cc)
target_include_directories(headrace_trace PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(headrace_trace PRIVATE -Wall -Wextra -Wpedantic $<$<BOOL:${HEADRACE_WERROR}>:-Werror> -O2 -fno-exceptions -fno-rtti)
target_link_options(headrace_trace PRIVATE -nodefaultlibs -Wl,-z,defs)
target_link_libraries(headrace_trace PRIVATE c ${CMAKE_DL_LIBS})
set_target_properties(headrace_trace PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/plugins)
headrace_carry(headrace_trace "$ORIGIN/.." ${HEADRACE_PLUGINS})
add_dependencies(headrace headrace_trace)
