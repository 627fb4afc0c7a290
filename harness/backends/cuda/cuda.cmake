# cuda: needs the CUDA Toolkit 12.4 or later. The runtime is linked statically and looks for the driver by itself. So
# the plugin loads on machines without a driver, and reports that.
set(cuda_least 12.4)
find_package(CUDAToolkit ${cuda_least} QUIET)
if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static OR NOT CUDAToolkit_NVCC_EXECUTABLE)
  set(why_not "CUDA Toolkit ${cuda_least} or later not found (nvcc on PATH, or -DCUDAToolkit_ROOT=DIR)")
  return()
endif()

# One small file of kernels: compiled by hand, because enabling the language CUDA costs every configuration seconds.
# Machine code for every GPU that training runs on and that this toolkit knows. Drivers refuse intermediate code of a newer
# toolkit. From intermediate code they compile for all others from Turing.
execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-code OUTPUT_VARIABLE known_code)
set(cuda_machine_code -gencode=arch=compute_75,code=compute_75)
foreach(number 75 80 86 89 90 100 103 120 121)
  if(known_code MATCHES "sm_${number}[^0-9]")
    list(APPEND cuda_machine_code -gencode=arch=compute_${number},code=sm_${number})
  endif()
endforeach()
if(NOT HEADRACE_CUDA_HOST)
  set(HEADRACE_CUDA_HOST ${CMAKE_CXX_COMPILER})
endif()
set(cuda_kernels ${CMAKE_CURRENT_BINARY_DIR}/cuda_kernels.o)
add_custom_command(OUTPUT ${cuda_kernels}
  COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -c ${CMAKE_CURRENT_LIST_DIR}/kernels.cu -o ${cuda_kernels} -O2 -std=c++17
          -ccbin ${HEADRACE_CUDA_HOST} -allow-unsupported-compiler -Xcompiler=-fPIC,-fvisibility=hidden
          -I${PROJECT_SOURCE_DIR} ${cuda_machine_code}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/kernels.cu ${CMAKE_CURRENT_LIST_DIR}/kernels.h
          ${PROJECT_SOURCE_DIR}/harness/backends/expected_sums.h ${PROJECT_SOURCE_DIR}/harness/backends/collective.h
  COMMENT "Compiling CUDA kernels" VERBATIM)

set(HEADRACE_CUDA_INCLUDE ${CUDAToolkit_INCLUDE_DIRS} CACHE INTERNAL "for tests of the backend from inside")
set(cuda_sources cuda_backend.cc device.cc memory.cc stream.cc blas.cc nvjpeg.cc nvml.cc nvml_links.cc cufile.cc cufile_many.cc gds_counters.cc)
list(TRANSFORM cuda_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
headrace_plugin(cuda ${cuda_sources} ${cuda_kernels})
target_link_libraries(headrace_cuda PRIVATE CUDA::cudart_static)
# Nothing of the static runtime may meet another copy of it in the same process.
target_link_options(headrace_cuda PRIVATE ${headrace_hide_libraries})
