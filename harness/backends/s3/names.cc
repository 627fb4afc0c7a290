#include "harness/backends/s3/names.h"

#include <fmt/format.h>

#include <cerrno>
#include <unordered_set>
#include <utility>

#include "harness/backends/s3/listing.h"
#include "harness/base/error.h"
#include "harness/record/recorder.h"

namespace headrace::s3 {
namespace {

class Names final : public ObjectNames {
 public:
  Names(std::shared_ptr<const Settings> settings, const std::string& bucket, unsigned retries, Ledger& ledger)
      : requests_(std::move(settings), bucket, 1, retries, ledger.stop()), ledger_(ledger) {
    ledger_.add(requests_);
  }
  ~Names() override { ledger_.remove(requests_); }

  Asked page(const std::string& prefix, std::vector<std::string>* folders, std::string& token,
             const std::function<void(const ListedObject&)>& each) override {
    if (token.empty()) begins_.clear();
    query_ = page_query(prefix, token, folders != nullptr);
    text_.clear();
    const Asked asked = ask({.key = "", .query = query_, .text = &text_});
    if (asked.error != 0) return asked;
    bool first = true;
    ListedPage found = parse(prefix, [&](const ListedObject& object) {
      if (std::exchange(first, false) && !begins_.insert(std::hash<std::string_view>{}(object.key)).second)
        throw RunError(fmt::format("list {}: the listing does not end: {} comes again", prefix, object.key));
      each(object);
    });
    if (!found.next.empty() && found.next == token)
      throw RunError(fmt::format("list {}: the listing does not end: each page names itself as the next one", prefix));
    token = std::move(found.next);
    if (folders != nullptr)
      folders->insert(folders->end(), std::make_move_iterator(found.folders.begin()),
                      std::make_move_iterator(found.folders.end()));
    return asked;
  }
  Asked head(std::string_view key) override { return ask({.key = key, .method = Method::head}); }
  std::string why(const std::string& what) const override {
    return describe(what, requests_.transfer(0).answer(), requests_.settings(), requests_.address());
  }

 private:
  Asked ask(const Ask& what) {
    requests_.start(0, what);
    const auto done = requests_.turn(1);
    const Transfer& transfer = requests_.transfer(0);
    const Answer& answer = transfer.answer();
    Asked asked{.error = 0, .begin_ns = 0, .end_ns = 0};
    if (!done.empty()) {
      asked.begin_ns = done.front().begin_ns;
      asked.end_ns = done.front().end_ns;
    }
    if (answer.transport != 0)
      asked.error = answer.system_error != 0 ? answer.system_error : EPROTO;
    else if (!answer.is_success())
      asked.error = OperationError::kHttp - answer.status;
    else if (transfer.flaw() != Transfer::Flaw::none)
      asked.error = EPROTO;
    return asked;
  }
  ListedPage parse(const std::string& prefix, const std::function<void(const ListedObject&)>& each) {
    try {
      return parse_page(prefix, text_, each);
    } catch (const std::invalid_argument& e) {
      throw RunError(fmt::format("list: {} answers, and not as an S3 store does ({}): look at AWS_ENDPOINT_URL",
                                 requests_.address().origin(), e.what()));
    }
  }

  Requests requests_;
  Ledger& ledger_;
  std::string query_, text_;
  std::unordered_set<std::size_t> begins_;  // of the pages of the present listing
};

}  // namespace

std::unique_ptr<ObjectNames> make_names(std::shared_ptr<const Settings> settings, const std::string& bucket,
                                        unsigned retries, Ledger& ledger) {
  return std::make_unique<Names>(std::move(settings), bucket, retries, ledger);
}

}  // namespace headrace::s3
