// The client of object stores from inside: signatures by AWS's own examples, settings, addresses, listings.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_S3
#include <array>
#include <map>
#include <span>

#include "harness/backends/s3/address.h"
#include "harness/backends/s3/answer.h"
#include "harness/backends/s3/digest.h"
#include "harness/backends/s3/listing.h"
#include "harness/backends/s3/settings.h"
#include "harness/backends/s3/signer.h"
#include "harness/base/error.h"

namespace headrace::s3::s3_client_test {
namespace {

constexpr std::int64_t k20150830T123600Z = 1440938160, k20130524T000000Z = 1369353600;
constexpr std::string_view kNoBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string signature(std::string_view authorization) {
  return std::string(authorization.substr(authorization.find("Signature=") + 10));
}

/// Of the suite "aws-sig-v4-test-suite": service "service", host example.amazonaws.com.
std::string suite(std::string_view method, std::string_view path, std::string_view query = "") {
  Signer signer("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", "us-east-1", "service");
  signer.set_time(k20150830T123600Z);
  return signature(
      signer.authorization({.method = method, .host = "example.amazonaws.com", .path = path, .query = query}));
}

TEST(Signer, AgreesWithThePublishedSuite) {
  EXPECT_EQ(suite("GET", "/"), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
  EXPECT_EQ(suite("POST", "/"), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  EXPECT_EQ(suite("GET", "/", "Param1=value1&Param2=value2"),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
  EXPECT_EQ(suite("GET", "/%E1%88%B4"), "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
  EXPECT_NE(suite("GET", "/"), suite("HEAD", "/"));
}

/// Of "Authenticating Requests (AWS Signature Version 4)" of S3's API reference.
std::string s3_example(std::string_view query) {
  Signer signer("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", "us-east-1");
  signer.set_time(k20130524T000000Z);
  EXPECT_EQ(signer.date(), "20130524T000000Z");
  return std::string(signer.authorization({.method = "GET",
                                           .host = "examplebucket.s3.amazonaws.com",
                                           .path = "/",
                                           .query = query,
                                           .payload_hash = kNoBody}));
}

/// Of RFC 1321, and of what S3 makes of the parts of an upload.
TEST(Digest, IsThatOfContentMd5AndOfETags) {
  const auto bytes = [](std::string_view text) {
    return std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size());
  };
  const auto abc = md5_of(bytes("abc")), none = md5_of({});
  ASSERT_TRUE(abc && none);
  EXPECT_EQ(hex_of(*abc), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(base64_of(*abc), "kAFQmDzST7DWlj99KOF/cg==");
  EXPECT_EQ(hex_of(*none), "d41d8cd98f00b204e9800998ecf8427e");
  const std::array parts{*abc, *none};
  std::string both(reinterpret_cast<const char*>(abc->data()), 16);
  both.append(reinterpret_cast<const char*>(none->data()), 16);
  EXPECT_EQ(etag_of(parts), hex_of(*md5_of(bytes(both))) + "-2");
}

TEST(Signer, SignsTheDigestOfABody) {
  Signer signer("id", "secret", "", "us-east-1");
  signer.set_time(k20130524T000000Z);
  const auto signed_with = [&](std::string_view md5) {
    return std::string(signer.authorization(
        {.method = "PUT", .host = "h", .path = "/b/k", .content_md5 = md5, .payload_hash = kUnsignedPayload}));
  };
  EXPECT_NE(
      signed_with("kAFQmDzST7DWlj99KOF/cg==").find("SignedHeaders=content-md5;host;x-amz-content-sha256;x-amz-date"),
      std::string::npos);
  EXPECT_NE(signature(signed_with("kAFQmDzST7DWlj99KOF/cg==")), signature(signed_with("1B2M2Y8AsgTpgAmY7PhCfg==")));
  EXPECT_NE(signed_with("").find("SignedHeaders=host;"), std::string::npos);
}

TEST(Signer, AgreesWithTheExamplesOfS3) {
  EXPECT_EQ(s3_example("lifecycle="),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date, "
            "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(signature(s3_example("max-keys=2&prefix=J")),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Signer, SignsTheTokenAndTakesANewDay) {
  Signer signer("K", "S", "T", "eu-west-1");
  const Signer::Request get{.method = "GET", .host = "h", .path = "/k", .payload_hash = kUnsignedPayload};
  signer.set_time(86399);
  EXPECT_EQ(signer.date(), "19700101T235959Z");
  const std::string before(signer.authorization(get));
  EXPECT_NE(before.find("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"), std::string::npos);
  EXPECT_NE(before.find("Credential=K/19700101/eu-west-1/s3/aws4_request"), std::string::npos);
  signer.set_time(86400);
  const std::string after(signer.authorization(get));
  EXPECT_NE(after.find("Credential=K/19700102/"), std::string::npos);
  // A signer that never saw the day before comes to the same.
  Signer fresh("K", "S", "T", "eu-west-1");
  fresh.set_time(86400);
  EXPECT_EQ(after, fresh.authorization(get));
  EXPECT_EQ(signer.authorization(get), after);
}

Settings settings(const std::map<std::string, std::string>& variables,
                  const std::map<std::string, std::string>& files) {
  const auto in = [](const auto& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  return read_settings([&](const char* name) { return in(variables, name); },
                       [&](const std::string& path) { return in(files, path); });
}

std::string why_not(const std::map<std::string, std::string>& variables,
                    const std::map<std::string, std::string>& files) {
  try {
    settings(variables, files);
  } catch (const RunError& e) {
    return e.what();
  }
  return "";
}

constexpr const char* kConfig =
    "# mine\n[default]\nregion = eu-west-1\ns3 =\n  addressing_style = path\n  endpoint_url = https://e:9000/\n"
    "[profile far]\nregion=ap-south-1\nrole_arn = arn:aws:iam::1:role/x\n";
constexpr const char* kKeys =
    "[default]\naws_access_key_id = ID\naws_secret_access_key=SEC=RET\n[other]\naws_access_key_id=O\n";

TEST(Settings, ComeFromTheFiles) {
  const Settings s = settings({{"HOME", "/h"}}, {{"/h/.aws/config", kConfig}, {"/h/.aws/credentials", kKeys}});
  EXPECT_EQ(s.key_id, "ID");
  EXPECT_EQ(s.secret, "SEC=RET");
  EXPECT_EQ(s.region, "eu-west-1");
  EXPECT_EQ(s.endpoint, "https://e:9000");
  EXPECT_EQ(s.style, Style::path);
  EXPECT_EQ(s.source, "profile default");
}

TEST(Settings, TheEnvironmentGoesFirst) {
  const Settings s = settings({{"HOME", "/h"},
                               {"AWS_ACCESS_KEY_ID", "E"},
                               {"AWS_SECRET_ACCESS_KEY", "F"},
                               {"AWS_SESSION_TOKEN", "T"},
                               {"AWS_REGION", "us-west-2"},
                               {"AWS_ENDPOINT_URL", "http://127.0.0.1:80"}},
                              {{"/h/.aws/config", kConfig}, {"/h/.aws/credentials", kKeys}});
  EXPECT_EQ(s.key_id, "E");
  EXPECT_EQ(s.token, "T");
  EXPECT_EQ(s.region, "us-west-2");
  EXPECT_EQ(s.endpoint, "http://127.0.0.1:80");
}

TEST(Settings, ServicesHaveEndpointsOfTheirOwn) {
  const std::string config =
      "\xef\xbb\xbf[default]\nservices = mine\nendpoint_url = https://all\n[services mine]\ndynamodb =\n  endpoint_url "
      "= "
      "https://other\ns3 =\n  endpoint_url = HTTPS://store/storage/v1/s3/\n[profile plain]\nendpoint_url = "
      "https://all\n"
      "[profile wrong]\nservices = gone\n";
  const std::map<std::string, std::string> files{{"/h/.aws/config", config}};
  EXPECT_EQ(settings({{"HOME", "/h"}}, files).endpoint, "https://store/storage/v1/s3");
  EXPECT_EQ(settings({{"HOME", "/h"}, {"AWS_ENDPOINT_URL", "https://env"}}, files).endpoint, "https://env");
  EXPECT_EQ(settings({{"HOME", "/h"}, {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"}}, files).endpoint, "");
  EXPECT_EQ(settings({{"HOME", "/h"}, {"AWS_PROFILE", "plain"}}, files).endpoint, "https://all");
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "wrong"}}, files).find("no [services gone]"), std::string::npos);
  const Address address(settings({{"HOME", "/h"}}, files), "bucket");
  EXPECT_EQ(address.origin() + address.base(), "https://store/storage/v1/s3/bucket/");
}

TEST(Settings, RolesOfTheEnvironmentAreNamed) {
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}}, {}).find("export-credentials"),
            std::string::npos);
  EXPECT_EQ(why_not({{"HOME", "/h"},
                     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"},
                     {"AWS_ACCESS_KEY_ID", "K"},
                     {"AWS_SECRET_ACCESS_KEY", "S"}},
                    {}),
            "");
}

TEST(Settings, WithoutKeysNothingIsSigned) { EXPECT_FALSE(settings({{"HOME", "/h"}}, {}).is_signed()); }

TEST(Settings, ReportWhatIsWrongAndNoSecret) {
  const std::map<std::string, std::string> files{{"/h/.aws/config", kConfig}, {"/h/.aws/credentials", kKeys}};
  EXPECT_NE(why_not({{"AWS_ACCESS_KEY_ID", "hidden"}}, {}).find("only one of the two keys"), std::string::npos);
  EXPECT_EQ(why_not({{"AWS_ACCESS_KEY_ID", "hidden"}}, {}).find("hidden"), std::string::npos);
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "other"}}, files).find("only one"), std::string::npos);
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "none"}}, files).find("names none"), std::string::npos);
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "far"}}, files).find("role_arn"), std::string::npos);
  for (const char* bad :
       {"127.0.0.1:9000", "ftp://host", "http://", "http:///path", "http://host/path?x", "http://me@host"})
    EXPECT_NE(why_not({{"AWS_ENDPOINT_URL", bad}}, {}).find("no URL of a host"), std::string::npos) << bad;
}

TEST(Settings, HoldNoControlCharacter) {
  const struct {
    std::map<std::string, std::string> variables, files;
    const char* place;
  } kCases[] = {
      {{{"AWS_ACCESS_KEY_ID", "hidden\r"}, {"AWS_SECRET_ACCESS_KEY", "S"}}, {}, "AWS_ACCESS_KEY_ID, character 7: "},
      {{{"AWS_ACCESS_KEY_ID", "K"}, {"AWS_SECRET_ACCESS_KEY", "hid\nden"}}, {}, "AWS_SECRET_ACCESS_KEY, character 4: "},
      {{{"AWS_SESSION_TOKEN", "hidden\nX-Evil: 1"}}, {}, "AWS_SESSION_TOKEN, character 7: "},
      {{{"AWS_REGION", "eu\x7f"}}, {}, "AWS_REGION, character 3: "},
      {{{"AWS_ENDPOINT_URL", "http://h\r\n"}}, {}, "AWS_ENDPOINT_URL, character 9: "},
      {{{"AWS_CA_BUNDLE", "/x\x1b"}}, {}, "AWS_CA_BUNDLE, character 3: "},
      {{{"AWS_PROFILE", "a\nb"}}, {}, "AWS_PROFILE, character 2: "},
      {{{"HOME", "/h"}},
       {{"/h/.aws/credentials", "[default]\naws_access_key_id=hid\001den\naws_secret_access_key=S\n"}},
       "/h/.aws/credentials:2:22: "},
      {{{"HOME", "/h"}}, {{"/h/.aws/config", "[default]\nregion = eu\rX: 1\n"}}, "/h/.aws/config:2:12: "},
  };
  for (const auto& one : kCases) {
    const std::string why = why_not(one.variables, one.files);
    EXPECT_EQ(why.rfind(one.place, 0), 0u) << why;
    EXPECT_EQ(why.find("hid"), std::string::npos) << why;
  }
  for (const char* region : {"eu/", "a b", "x.example.com#", "a:1", "a@b", "ü"})
    EXPECT_NE(why_not({{"AWS_REGION", region}}, {}).find("no name of a region"), std::string::npos) << region;
  // Ends of lines as Windows writes them, and comments, do no harm in files.
  EXPECT_EQ(settings({{"HOME", "/h"}}, {{"/h/.aws/config", "# \x01\r\n[default]\r\nregion = eu-1\r\n"}}).region,
            "eu-1");
}

TEST(Settings, KnowWhatMustNotComeBack) {
  const Settings s = settings({{"AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"},
                               {"AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG"},
                               {"AWS_SESSION_TOKEN", "IQoJb3JpZ2luX2VjEJr//////////wEa"},
                               {"https_proxy", "http://me:p%40ssw0rd@proxy:3128"},
                               {"HTTP_PROXY", "http://not-read:by-curl@proxy"}},
                              {});
  Answer answer;
  answer.status = 403;
  answer.error =
      "<Error><Code>AccessDenied</Code><Message>AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1, "
      "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41 token IQoJb3JpZ2luX2VjEJr&#x2F;/ and "
      "Basic bWU6cEBzc3cwcmQ= or p@ssw0rd</Message></Error>";
  const std::string text = describe("get s3://b/k", answer, s, Address(s, "b"));
  for (const char* secret : {"AKIAIOSF", "f0e8bdb8", "IQoJb3Jp", "bWU6cEBz", "p@ssw0rd"})
    EXPECT_EQ(text.find(secret), std::string::npos) << text;
  EXPECT_EQ(text.rfind("get s3://b/k: the server answered 403 AccessDenied (AWS4-HMAC-SHA256 Credential=****", 0), 0u)
      << text;
}

TEST(Addresses, FollowTheEndpoint) {
  Settings s;
  s.region = "eu-west-1";
  const Address amazon(s, "data-set");
  EXPECT_EQ(amazon.origin(), "https://data-set.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(amazon.base(), "/");
  const Address dots(s, "data.set");  // no certificate covers it
  EXPECT_EQ(dots.host(), "s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(dots.base(), "/data.set/");
  s.endpoint = "http://127.0.0.1:80";
  EXPECT_EQ(Address(s, "b").host(), "127.0.0.1");
  s.endpoint = "https://store:9000";
  s.style = Style::virtual_host;
  EXPECT_EQ(Address(s, "bucket").origin(), "https://bucket.store:9000");
}

TEST(Addresses, AreEncodedAsTheyAreSigned) {
  std::string path, query;
  append_encoded(path, "a b/ü+~", true);
  append_encoded(query, "a/b=c", false);
  EXPECT_EQ(path, "a%20b/%C3%BC%2B~");
  EXPECT_EQ(query, "a%2Fb%3Dc");
  EXPECT_EQ(parse_url("s3://b/p/q/").prefix, "p/q");
  EXPECT_EQ(parse_url("s3://b").prefix, "");
  EXPECT_THROW(parse_url("s3:///p"), RunError);
}

TEST(Answers, ReportTheServersCodeAndWhatToDo) {
  Settings s;
  s.endpoint = "http://h";
  const Address address(s, "b");
  const auto words = [&](int status, std::string_view body) {
    Answer answer;
    answer.status = status;
    answer.error = body;
    return describe("get k", answer, s, address);
  };
  EXPECT_NE(words(301, "<Error><Code>PermanentRedirect</Code><Region>eu-1</Region></Error>").find("AWS_REGION=eu-1"),
            std::string::npos);
  EXPECT_NE(words(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>").find("clock"), std::string::npos);
  EXPECT_NE(words(404, "<html>").find("not as an S3 store does"), std::string::npos);
  Answer slow;
  slow.status = 503;
  slow.error = "<Error><Code>SlowDown</Code></Error>";
  EXPECT_TRUE(slow.is_throttled() && slow.is_passing());
  slow.status = 404;
  slow.error = "<Error><Code>NoSuchKey</Code></Error>";
  EXPECT_FALSE(slow.is_throttled() || slow.is_passing());
}

TEST(Answers, VersionsDifferWithTheETag) {
  EXPECT_EQ(version_of("\"abc\""), version_of("abc"));
  EXPECT_NE(version_of("abc"), version_of("abd"));
  EXPECT_EQ(version_of(""), 0u);  // a store that reports none
}

std::vector<std::string> keys_of(std::string text, std::string* next = nullptr) {
  std::vector<std::string> keys;
  const ListedPage page = parse_page("", text, [&](const ListedObject& object) { keys.emplace_back(object.key); });
  if (next) *next = page.next;
  return keys;
}

TEST(Listings, BringNoHeaders) {
  std::string text =
      "<ListBucketResult><Contents><Key>k</Key><ETag>&quot;a&#10;X: 1&quot;</ETag></Contents></ListBucketResult>";
  EXPECT_THROW(parse_page("", text, [](const ListedObject&) {}), std::invalid_argument);
}

TEST(Listings, AreRead) {
  std::string next;
  EXPECT_EQ(keys_of("<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a&amp;b "
                    "&lt;</Key><Size>3</Size><ETag>&quot;x&quot;</ETag></Contents><NextContinuationToken>t</"
                    "NextContinuationToken></ListBucketResult>",
                    &next),
            std::vector<std::string>{"a&b <"});
  EXPECT_EQ(next, "t");
  EXPECT_THROW(keys_of("<html></html>"), std::invalid_argument);
  EXPECT_THROW(keys_of("<ListBucketResult><Contents>"), std::invalid_argument);
  EXPECT_THROW(keys_of("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"), std::invalid_argument);
}

}  // namespace
}  // namespace headrace::s3::s3_client_test

#else

TEST(S3Client, IsNotBuilt) { GTEST_SKIP() << "the build found no libcurl, OpenSSL or pugixml"; }

#endif
