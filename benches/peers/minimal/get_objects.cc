// minimal_get_objects THREADS PASSES < URLS - GET of every URL over libcurl, not signed. Thread i of n gets every n-th
// URL over its own connection. Bodies are counted and dropped. "URL 0-99": these bytes of it.
#include <curl/curl.h>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "benches/peers/minimal/minimal.h"

namespace {

std::size_t count(char*, std::size_t size, std::size_t items, void* total) {
  *static_cast<std::uint64_t*>(total) += size * items;
  return size * items;
}

struct Wanted {
  std::string url, range;
};

void get(const std::vector<Wanted>& wanted, int thread, int threads, int passes, minimal::Result& result) {
  CURL* easy = curl_easy_init();
  std::uint64_t bytes = 0;
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bytes);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = static_cast<std::size_t>(thread); i < wanted.size(); i += static_cast<std::size_t>(threads)) {
      bytes = 0;
      curl_easy_setopt(easy, CURLOPT_URL, wanted[i].url.c_str());
      if (!wanted[i].range.empty()) curl_easy_setopt(easy, CURLOPT_RANGE, wanted[i].range.c_str());
      const std::uint64_t begin = minimal::now_ns();
      if (curl_easy_perform(easy) != CURLE_OK) minimal::fail(wanted[i].url.c_str());
      result.add(begin, minimal::now_ns(), bytes);
    }
  }
  curl_easy_cleanup(easy);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: minimal_get_objects THREADS PASSES < URLS\n", stderr), 2;
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const int threads = std::atoi(argv[1]), passes = std::atoi(argv[2]);
  std::vector<Wanted> wanted;
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t space = line.find(' ');
    wanted.push_back({line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1)});
  }
  minimal::Result all;
  std::vector<minimal::Result> results(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back(get, std::cref(wanted), i, threads, passes, std::ref(results[static_cast<std::size_t>(i)]));
  for (std::thread& thread : running) thread.join();
  for (const minimal::Result& one : results) all.merge(one);
  all.print();
}
