# What `cpack -G DEB` and `cpack -G RPM` make of an install: headrace, and apart the plugins that need MPI or GPUs' libraries.
# They depend on the distribution's own libraries, so they fit the distribution that they are built on.
set(CPACK_PACKAGE_NAME headrace)
set(CPACK_PACKAGE_VENDOR "the headrace authors")
set(HEADRACE_MAINTAINER "headrace packagers <root@localhost>" CACHE STRING "Who answers for the packages: NAME <ADDRESS>")
set(CPACK_PACKAGE_CONTACT "${HEADRACE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "measure whether storage, host and network can feed a training job")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL headrace mpi cuda)
string(CONCAT CPACK_COMPONENT_HEADRACE_DESCRIPTION
  "headrace turns a described training job into required rates, measures this\n"
  "node, cluster and storage with the job's own access patterns, and gives a\n"
  "verdict per requirement: met or not, by how much, and what to change.")
string(CONCAT CPACK_COMPONENT_MPI_DESCRIPTION
  "This is the plugin for MPI: processes that mpirun or srun starts, and\n"
  "collectives over MPI.")
string(CONCAT CPACK_COMPONENT_CUDA_DESCRIPTION
  "These are the plugins for GPUs: copies, GPUDirect Storage, burn-in, and\n"
  "collectives by NCCL.")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_HEADRACE_PACKAGE_NAME headrace)
set(CPACK_DEBIAN_HEADRACE_PACKAGE_RECOMMENDS "python3-matplotlib, python3-jinja2")
set(CPACK_DEBIAN_HEADRACE_PACKAGE_SUGGESTS "headrace-mpi, headrace-cuda")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME headrace-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "headrace (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME headrace-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "headrace (= ${PROJECT_VERSION})")

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE Apache-2.0)
set(CPACK_RPM_PACKAGE_GROUP "Applications/System")
set(CPACK_RPM_MAIN_COMPONENT headrace)
set(CPACK_RPM_PACKAGE_SUMMARY "Measures whether storage, host and network can feed a training job")
set(CPACK_RPM_SPEC_MORE_DEFINE "Packager: ${HEADRACE_MAINTAINER}")
set(CPACK_RPM_HEADRACE_PACKAGE_NAME headrace)
set(CPACK_RPM_MPI_PACKAGE_NAME headrace-mpi)
set(CPACK_RPM_CUDA_PACKAGE_NAME headrace-cuda)
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/lib/headrace /usr/share/man /usr/share/man/man1 /usr/share/zsh
  /usr/share/zsh/site-functions /usr/share/bash-completion /usr/share/bash-completion/completions)

# What Debian's rules ask of each package: a licence and a list of changes in share/doc.
find_program(HEADRACE_GZIP gzip DOC "Packs lists of changes")
set(changes ${CMAKE_BINARY_DIR}/generated/changelog)
file(CONFIGURE OUTPUT ${changes} @ONLY CONTENT "headrace (@PROJECT_VERSION@) unstable; urgency=medium

  * See CHANGELOG.md of the source.

 -- @CPACK_PACKAGE_CONTACT@  Thu, 01 Jan 2026 00:00:00 +0000
")
execute_process(COMMAND ${HEADRACE_GZIP} -9nkf ${changes})
foreach(component headrace mpi cuda)
  string(REGEX REPLACE "^headrace-headrace$" "headrace" package headrace-${component})
  install(FILES packaging/copyright ${changes}.gz DESTINATION share/doc/${package} COMPONENT ${component})
endforeach()

include(CPack)
