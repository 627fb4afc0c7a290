// minimal_get_objects THREADS PASSES < URLS - GET of every URL over libcurl, each thread its own connection and every
// so many-th of them, not signed; bodies are counted and dropped.
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

void get(const std::vector<std::string>& urls, int thread, int threads, int passes, minimal::Result& result) {
  CURL* easy = curl_easy_init();
  std::uint64_t bytes = 0;
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L << 10);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bytes);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = static_cast<std::size_t>(thread); i < urls.size(); i += static_cast<std::size_t>(threads)) {
      bytes = 0;
      curl_easy_setopt(easy, CURLOPT_URL, urls[i].c_str());
      const std::uint64_t begin = minimal::now_ns();
      if (curl_easy_perform(easy) != CURLE_OK) minimal::fail(urls[i].c_str());
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
  std::vector<std::string> urls;
  for (std::string url; std::getline(std::cin, url);) urls.push_back(std::move(url));
  minimal::Result all;
  std::vector<minimal::Result> results(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i)
    running.emplace_back(get, std::cref(urls), i, threads, passes, std::ref(results[static_cast<std::size_t>(i)]));
  for (std::thread& thread : running) thread.join();
  for (const minimal::Result& one : results) all.merge(one);
  all.print();
}
