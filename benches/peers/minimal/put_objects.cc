// minimal_put_objects SIZE < URLS - PUT of SIZE bytes to every URL over libcurl, one connection, not signed.
#include <curl/curl.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "benches/peers/minimal/minimal.h"

namespace {

struct Body {
  const unsigned char* bytes;
  std::size_t size, sent;
};

std::size_t give(char* to, std::size_t size, std::size_t items, void* body) {
  Body& b = *static_cast<Body*>(body);
  const std::size_t part = std::min(size * items, b.size - b.sent);
  std::memcpy(to, b.bytes + b.sent, part);
  b.sent += part;
  return part;
}

std::size_t drop(char*, std::size_t size, std::size_t items, void*) { return size * items; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: minimal_put_objects SIZE < URLS\n", stderr), 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::size_t size = std::strtoull(argv[1], nullptr, 10);
  std::vector<std::string> urls;
  for (std::string url; std::getline(std::cin, url);) urls.push_back(std::move(url));
  Body body{minimal::buffer(size), size, 0};
  CURL* easy = curl_easy_init();
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
  curl_easy_setopt(easy, CURLOPT_READDATA, &body);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
  curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
  minimal::Result result;
  for (const std::string& url : urls) {
    body.sent = 0;
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    const std::uint64_t begin = minimal::now_ns();
    if (curl_easy_perform(easy) != CURLE_OK) minimal::fail(url.c_str());
    result.add(begin, minimal::now_ns(), size);
  }
  result.print();
  curl_slist_free_all(headers);
  curl_easy_cleanup(easy);
}
