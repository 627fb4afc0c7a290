// Requests for keys over libcurl, and the command of a credential_process.
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include "harness/backends/s3/key_chain.h"
#include "harness/backends/s3/transfer.h"
#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/files/replace_own.h"
#include "harness/base/system/spawn.h"
#include "harness/base/system/writers.h"

namespace headrace::s3 {
namespace {

constexpr std::size_t kMostAnswer = 1 << 20;  // [B]
constexpr double kProcess_s = 60;             // as the SDKs

std::size_t on_answer(char* data, std::size_t size, std::size_t count, void* self) noexcept {
  auto& text = *static_cast<std::string*>(self);
  if (text.size() + size * count > kMostAnswer) return 0;
  text.append(data, size * count);
  return size * count;
}

KeyAnswer ask_service(const KeyRequest& request) {
  const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), curl_easy_cleanup);
  if (!easy) return {.status = 0, .body = "libcurl gives no handle"};
  const auto set = [&](auto option, auto value) { curl_easy_setopt(easy.get(), option, value); };
  const auto timeout_ms = static_cast<long>(1000 * request.timeout_s);
  std::string body;
  std::array<char, CURL_ERROR_SIZE> words{};
  curl_slist* headers = nullptr;
  for (const std::string& line : request.headers) headers = curl_slist_append(headers, line.c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> kept(headers, curl_slist_free_all);
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROTOCOLS, kWeb);
  set(CURLOPT_CONNECTTIMEOUT_MS, timeout_ms);
  set(CURLOPT_TIMEOUT_MS, 3 * timeout_ms);
  set(CURLOPT_USERAGENT, "headrace");
  set(CURLOPT_ERRORBUFFER, words.data());
  set(CURLOPT_WRITEFUNCTION, on_answer);
  set(CURLOPT_WRITEDATA, &body);
  set(CURLOPT_HTTPHEADER, headers);
  if (request.no_proxy) set(CURLOPT_NOPROXY, "*");
  if (!request.ca_bundle.empty()) set(CURLOPT_CAINFO, request.ca_bundle.c_str());
  if (request.put || !request.body.empty()) {
    set(CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
    set(CURLOPT_COPYPOSTFIELDS, request.body.c_str());
  }
  if (request.put) set(CURLOPT_CUSTOMREQUEST, "PUT");
  const CURLcode code = curl_easy_perform(easy.get());
  if (code != CURLE_OK) return {.status = 0, .body = words[0] != 0 ? words.data() : curl_easy_strerror(code)};
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  return {.status = static_cast<int>(status), .body = std::move(body)};
}

/// By the shell, in a group of its own, so that all of it can be ended. Its standard error is that of headrace.
class ShellCommand {
 public:
  explicit ShellCommand(const std::string& command) {
    std::array<int, 2> pipe{};
    if (::pipe2(pipe.data(), O_CLOEXEC) != 0) throw RunError("no pipe: " + errno_text(errno));
    out_ = pipe[0];
    std::vector<int> all;
    for (int number = 1; number < SIGRTMIN; ++number) all.push_back(number);
    const int error = system::spawn({.words = {"/bin/sh", "-c", command},
                                     .in = system::kNoStream,
                                     .out = pipe[1],
                                     .heeded = std::move(all),
                                     .own_group = true},
                                    pid_);
    ::close(pipe[1]);
    if (error == 0) return;
    ::close(out_);
    throw RunError("it cannot be started: " + errno_text(error));
  }
  ~ShellCommand() {
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
    if (pid_ > 0) ended();
    ::close(out_);
  }
  ShellCommand(const ShellCommand&) = delete;

  std::string output() {
    std::string text;
    std::array<char, 4096> some{};
    const Deadline deadline(kProcess_s);
    for (;;) {
      pollfd readable{out_, POLLIN, 0};
      const int ready = ::poll(&readable, 1, static_cast<int>(1000 * std::max(deadline.left_s(), 0.0)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) throw RunError(fmt::format("it has not ended within {:g} s", kProcess_s));
      const ssize_t count = ::read(out_, some.data(), some.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      text.append(some.data(), static_cast<std::size_t>(count));
      if (text.size() > kMostAnswer) throw RunError("it prints more than 1 MiB");
    }
    const int status = ended();
    if (WIFSIGNALED(status)) throw RunError(fmt::format("it was ended by signal {}", WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0) throw RunError(fmt::format("it ended with {}", WEXITSTATUS(status)));
    return text;
  }

 private:
  int ended() {
    const int status = system::wait_for_end(pid_);
    pid_ = 0;
    return status;
  }

  pid_t pid_ = 0;
  int out_ = -1;
};

/// Links are followed, as by a reader of the file. A group may write a file that its owner shares, unless that is root.
std::string other_writer_of(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return "";
  const uid_t user = ::geteuid();
  if (status.st_uid != 0 && status.st_uid != user)
    return path + " belongs to " + system::with_name(system::user_id(status.st_uid));
  if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0) return "";  // only owners replace its files
  system::Writers others = system::writers_of(path);
  for (const std::string& own : {system::user_id(0), system::group_id(0), system::user_id(user)}) others.erase(own);
  if (status.st_uid != 0) std::erase_if(others, [](const std::string& one) { return one.starts_with("group "); });
  return others.empty() ? "" : path + " can be written by " + system::with_name(*others.begin());
}

}  // namespace

KeyPlaces own_key_places() {
  return {.variable = [](const char* name) -> std::optional<std::string> {
            const char* value = std::getenv(name);
            return value == nullptr ? std::nullopt : std::optional<std::string>(value);
          },
          .file = [](const std::string& path) -> std::optional<std::string> {
            std::ifstream in(path, std::ios::binary);
            if (!in) return std::nullopt;
            return std::string(std::istreambuf_iterator<char>(in), {});
          },
          .ask = ask_service,
          .other_writer =
              [](const std::string& path) {
                std::error_code error;
                const std::filesystem::path real = std::filesystem::canonical(path, error);
                if (error) return std::string();
                const std::string why = other_writer_of(real);
                return why.empty() ? other_writer_of(real.parent_path()) : why;
              },
          .run = [](const std::string& command) { return ShellCommand(command).output(); },
          .save = [](const std::string& path, const std::string& text) { files::replace_own(path, text); }};
}

}  // namespace headrace::s3
