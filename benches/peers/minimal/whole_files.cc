// minimal_whole_files FOLDER PASSES < NAMES - open, read and close of every named file, in a random
// order each pass.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "benches/peers/minimal/minimal.h"

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: minimal_whole_files FOLDER PASSES < NAMES\n", stderr), 2;
  const int folder = open(argv[1], O_RDONLY | O_DIRECTORY);
  if (folder < 0) minimal::fail(argv[1]);
  std::vector<std::string> names;
  std::size_t largest = 1;
  for (std::string name; std::getline(std::cin, name);) {
    struct stat attributes;
    if (fstatat(folder, name.c_str(), &attributes, 0) != 0) minimal::fail(name.c_str());
    largest = std::max(largest, static_cast<std::size_t>(attributes.st_size));
    names.push_back(std::move(name));
  }
  unsigned char* const buffer = minimal::buffer(largest);
  minimal::Random random;
  std::vector<const char*> pass, order;
  for (const std::string& name : names) pass.push_back(name.c_str());
  for (int passes = std::atoi(argv[2]); passes > 0; --passes) {
    for (std::size_t i = pass.size(); i > 1; --i) std::swap(pass[i - 1], pass[random.below(i)]);
    order.insert(order.end(), pass.begin(), pass.end());
  }
  minimal::Result result;
  for (const char* name : order) {
    const std::uint64_t begin = minimal::now_ns();
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, buffer, largest);
    if (n < 0) minimal::fail(name);
    close(fd);
    result.add(begin, minimal::now_ns(), static_cast<std::uint64_t>(n));
  }
  result.print();
}
