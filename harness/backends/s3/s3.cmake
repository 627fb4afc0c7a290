# s3: needs libcurl 7.66 (curl_multi_poll), OpenSSL 3 for signatures and pugixml for listings.
find_package(CURL QUIET)
find_package(OpenSSL QUIET)
find_path(PUGIXML_INCLUDE_DIR pugixml.hpp)
find_library(PUGIXML_LIBRARY NAMES pugixml)
if(NOT CURL_FOUND)
  set(why_not "curl/curl.h or libcurl not found (Debian: libcurl4-openssl-dev)")
  return()
endif()
if(NOT OPENSSL_FOUND OR OPENSSL_VERSION VERSION_LESS 3)
  set(why_not "OpenSSL 3 not found (Debian: libssl-dev)")
  return()
endif()
if(NOT PUGIXML_INCLUDE_DIR OR NOT PUGIXML_LIBRARY)
  set(why_not "pugixml.hpp or libpugixml not found (Debian: libpugixml-dev)")
  return()
endif()

headrace_links(LIBCURL_WORKS "${CURL_INCLUDE_DIRS}" "${CURL_LIBRARIES}" "
  #include <curl/curl.h>
  int main() {
    return curl_multi_poll(curl_multi_init(), nullptr, 0, 0, nullptr);
  }")
if(NOT LIBCURL_WORKS)
  set(why_not "${CURL_LIBRARIES} is older than 7.66")
  return()
endif()

set(s3_sources address.cc settings.cc signer.cc answer.cc transfer.cc requests.cc readers.cc listing.cc digest.cc
  uploads.cc key_chain.cc key_renewal.cc key_service.cc sessions.cc)
list(TRANSFORM s3_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(APPEND s3_sources ${PROJECT_SOURCE_DIR}/harness/base/secrets.cc ${PROJECT_SOURCE_DIR}/harness/base/system/spawn.cc
  ${PROJECT_SOURCE_DIR}/harness/base/system/writers.cc)
# Apart from the plugin's entry, so that tests can link signing and requests.
add_library(headrace_s3_client OBJECT EXCLUDE_FROM_ALL ${s3_sources})
headrace_compile_by_folder(headrace_s3_client)
target_link_libraries(headrace_s3_client PUBLIC headrace_flags ${CURL_LIBRARIES} OpenSSL::Crypto ${PUGIXML_LIBRARY}
  nlohmann_json::nlohmann_json)
target_compile_definitions(headrace_s3_client PUBLIC CURL_DISABLE_DEPRECATION)  # of what libcurl before 7.85 has
target_include_directories(headrace_s3_client SYSTEM PUBLIC ${CURL_INCLUDE_DIRS} ${PUGIXML_INCLUDE_DIR})
set_target_properties(headrace_s3_client PROPERTIES CXX_VISIBILITY_PRESET hidden)

headrace_plugin(s3 ${CMAKE_CURRENT_LIST_DIR}/s3_backend.cc)
target_link_libraries(headrace_s3 PRIVATE headrace_s3_client)
