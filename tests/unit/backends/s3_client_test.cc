// The client of object stores from inside: signatures by AWS's own examples, settings, addresses, listings.
#include <gtest/gtest.h>

#ifdef HEADRACE_HAS_S3
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/s3/address.h"
#include "harness/backends/s3/answer.h"
#include "harness/backends/s3/digest.h"
#include "harness/backends/s3/key_chain.h"
#include "harness/backends/s3/key_renewal.h"
#include "harness/backends/s3/listing.h"
#include "harness/backends/s3/sessions.h"
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
  Signer signer({"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", 0}, "us-east-1", "service");
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
  Signer signer({"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", 0}, "us-east-1");
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
  Signer signer({"id", "secret", "", 0}, "us-east-1");
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
  Signer signer({"K", "S", "T", 0}, "eu-west-1");
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
  Signer fresh({"K", "S", "T", 0}, "eu-west-1");
  fresh.set_time(86400);
  EXPECT_EQ(after, fresh.authorization(get));
  EXPECT_EQ(signer.authorization(get), after);
}

using Ask = std::function<KeyAnswer(const KeyRequest&)>;

Settings settings(const std::map<std::string, std::string>& variables, const std::map<std::string, std::string>& files,
                  const Ask& ask = {}, const std::function<std::string(const std::string&)>& run = {}) {
  const auto in = [](const auto& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional<std::string>(found->second);
  };
  return read_settings({.variable = [=](const char* name) { return in(variables, name); },
                        .file = [=](const std::string& path) { return in(files, path); },
                        .ask = ask,
                        .other_writer = [](const std::string&) { return std::string(); },
                        .run = run});
}

std::string why_not(const std::map<std::string, std::string>& variables,
                    const std::map<std::string, std::string>& files, const Ask& ask = {}) {
  try {
    settings(variables, files, ask);
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

/// Answers as AWS does, and keeps what it was asked.
struct FakeAws {
  std::vector<KeyRequest> asked;
  std::map<std::string, KeyAnswer> answers;  // by URL
  Ask ask() {
    return [this](const KeyRequest& request) {
      asked.push_back(request);
      const auto found = answers.find(request.url);
      return found == answers.end() ? KeyAnswer{.status = 0, .body = "Connection refused"} : found->second;
    };
  }
};

constexpr const char* kSts =
    "<R><Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>lent</SecretAccessKey><SessionToken>T"
    "</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></R>";
constexpr const char* kMetadata =
    R"({"Code":"Success","AccessKeyId":"META","SecretAccessKey":"S","Token":"T","Expiration":"2099-01-01T00:00:00Z"})";

TEST(KeyChain, AWebIdentityGetsTheKeysOfARole) {
  FakeAws aws;
  aws.answers["https://sts.eu-west-1.amazonaws.com/"] = {200, kSts};
  const std::map<std::string, std::string> variables{{"HOME", "/h"},
                                                     {"AWS_REGION", "eu-west-1"},
                                                     {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"},
                                                     {"AWS_ROLE_ARN", "arn:aws:iam::1:role/x"}};
  const Settings s = settings(variables, {{"/t", "JWT+1\n"}}, aws.ask());
  EXPECT_EQ(s.key_id + s.secret + s.token, "ASIAlentT");
  ASSERT_EQ(aws.asked.size(), 1u);
  EXPECT_NE(aws.asked[0].body.find("RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx"), std::string::npos)
      << aws.asked[0].body;
  EXPECT_TRUE(aws.asked[0].body.ends_with("WebIdentityToken=JWT%2B1")) << aws.asked[0].body;
  ASSERT_TRUE(s.renewal);
  aws.answers.begin()->second = {403, "<E><Code>AccessDenied</Code><Message>not JWT+12345</Message></E>"};
  const std::string why = why_not(variables, {{"/t", "JWT+12345"}}, aws.ask());
  EXPECT_NE(why.find("AWS_WEB_IDENTITY_TOKEN_FILE: https://sts.eu-west-1.amazonaws.com/ answered: 403 AccessDenied"),
            std::string::npos)
      << why;
  EXPECT_EQ(why.find("JWT"), std::string::npos) << why;
  EXPECT_NE(why_not(variables, {}, aws.ask()).find("the token's file /t cannot be read"), std::string::npos);
}

TEST(KeyChain, KeysOfTheEnvironmentGoBeforeAll) {
  FakeAws aws;
  EXPECT_EQ(settings({{"AWS_ACCESS_KEY_ID", "K"},
                      {"AWS_SECRET_ACCESS_KEY", "S"},
                      {"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"},
                      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/"}},
                     {}, aws.ask())
                .key_id,
            "K");
  EXPECT_TRUE(aws.asked.empty());
}

TEST(KeyChain, ARoleIsAssumedWithTheKeysOfItsSource) {
  FakeAws aws;
  aws.answers["https://sts.us-east-1.amazonaws.com/"] = {200, kSts};
  const char* config =
      "[profile far]\nrole_arn = arn:r\nsource_profile = near\nexternal_id = e+1\n"
      "[profile chain]\nrole_arn = arn:s\nsource_profile = far\n"
      "[profile own]\nrole_arn = arn:o\nsource_profile = own\naws_access_key_id = OWN\naws_secret_access_key = S\n"
      "[profile a]\nrole_arn = arn:a\nsource_profile = b\n[profile b]\nrole_arn = arn:b\nsource_profile = a\n"
      "[profile both]\nrole_arn = arn:a\nsource_profile = b\ncredential_source = Environment\n"
      "[profile lost]\nrole_arn = arn:a\nsource_profile = nobody\n[profile none]\nregion = x\n"
      "[profile keyless]\nrole_arn = arn:a\nsource_profile = none\n"
      "[profile mfa]\nrole_arn = arn:a\nsource_profile = near\nmfa_serial = m\n";
  const std::map<std::string, std::string> files{
      {"/h/.aws/config", config},
      {"/h/.aws/credentials", "[near]\naws_access_key_id = NEAR\naws_secret_access_key = S\n"}};
  const auto of = [&](const char* profile) {
    aws.asked.clear();
    return settings({{"HOME", "/h"}, {"AWS_PROFILE", profile}}, files, aws.ask());
  };
  EXPECT_EQ(of("far").key_id, "ASIA");
  ASSERT_EQ(aws.asked.size(), 1u);
  EXPECT_NE(aws.asked[0].body.find("&ExternalId=e%2B1"), std::string::npos);
  EXPECT_NE(aws.asked[0].headers[0].find("Credential=NEAR/"), std::string::npos) << aws.asked[0].headers[0];
  EXPECT_NE(aws.asked[0].headers[0].find("/us-east-1/sts/aws4_request"), std::string::npos);
  of("chain");
  ASSERT_EQ(aws.asked.size(), 2u);
  EXPECT_NE(aws.asked[1].headers[0].find("Credential=ASIA/"), std::string::npos);
  EXPECT_EQ(aws.asked[1].headers.back(), "x-amz-security-token: T");
  of("own");
  EXPECT_NE(aws.asked.at(0).headers[0].find("Credential=OWN/"), std::string::npos);
  const auto why = [&](const char* profile) {
    return why_not({{"HOME", "/h"}, {"AWS_PROFILE", profile}}, files, aws.ask());
  };
  EXPECT_NE(why("a").find("name each other"), std::string::npos) << why("a");
  EXPECT_NE(why("both").find("has both"), std::string::npos);
  EXPECT_NE(why("lost").find("names nobody"), std::string::npos);
  EXPECT_NE(why("keyless").find("source_profile none has no keys"), std::string::npos);
  EXPECT_NE(why("mfa").find("MFA"), std::string::npos);
}

TEST(KeyChain, AContainerIsAskedOnThisHostOnly) {
  FakeAws aws;
  aws.answers["http://169.254.170.23/v1/credentials"] = {200, kMetadata};
  aws.answers["http://169.254.170.2/r"] = {200, kMetadata};
  const std::map<std::string, std::string> files{{"/token", "Bearer 1\n"}};
  EXPECT_EQ(settings({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "old"},
                      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token"}},
                     files, aws.ask())
                .key_id,
            "META");
  EXPECT_EQ(aws.asked.at(0).headers, std::vector<std::string>{"Authorization: Bearer 1"});
  EXPECT_EQ(settings({{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/r"}}, {}, aws.ask()).token, "T");
  for (const char* url : {"http://example.com/", "http://127.0.0.1.example.com/", "http://localhost@evil/",
                          "ftp://127.0.0.1", "http://169.254.170.2.evil/", "http://[fd00::1]/"})
    EXPECT_NE(why_not({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}}, {}, aws.ask()).find("SDKs do not ask there"),
              std::string::npos)
        << url;
  for (const char* url :
       {"http://127.0.0.1:80/x", "http://localhost/x", "http://[::1]:8080/x", "https://example.com/x"})
    EXPECT_NE(why_not({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", url}}, {}, aws.ask()).find("Connection refused"),
              std::string::npos)
        << url;
}

TEST(KeyChain, AnInstanceIsAskedWithAToken) {
  FakeAws aws;
  const std::string host = "http://169.254.169.254/latest/";
  const std::map<std::string, std::string> amazon{{"/sys/class/dmi/id/sys_vendor", "Amazon EC2\n"}};
  aws.answers[host + "api/token"] = {200, "TOKEN"};
  aws.answers[host + "meta-data/iam/security-credentials/"] = {200, "my-role\n"};
  aws.answers[host + "meta-data/iam/security-credentials/my-role"] = {200, kMetadata};
  EXPECT_EQ(settings({}, amazon, aws.ask()).key_id, "META");
  ASSERT_EQ(aws.asked.size(), 3u);
  EXPECT_TRUE(aws.asked[0].put);
  EXPECT_EQ(aws.asked[2].headers, std::vector<std::string>{"x-aws-ec2-metadata-token: TOKEN"});
  EXPECT_FALSE(settings({{"AWS_EC2_METADATA_DISABLED", "true"}}, amazon, aws.ask()).is_signed());
  EXPECT_FALSE(settings({}, {}, aws.ask()).is_signed());  // no machine of Amazon's
  EXPECT_EQ(aws.asked.size(), 3u);
  aws.answers[host + "meta-data/iam/security-credentials/"] = {404, ""};
  const Settings none = settings({}, amazon, aws.ask());
  EXPECT_FALSE(none.is_signed());
  EXPECT_NE(none.no_keys.find("404: the instance has no role"), std::string::npos) << none.no_keys;
  aws.answers.clear();
  EXPECT_NE(settings({}, amazon, aws.ask()).no_keys.find("Connection refused"), std::string::npos);
}

TEST(KeyChain, ALoginOfSsoIsUsedUntilItExpires) {
  FakeAws aws;
  aws.answers["https://portal.sso.eu-west-1.amazonaws.com/federation/credentials?role_name=R&account_id=1"] = {
      200,
      R"({"roleCredentials":{"accessKeyId":"SSO","secretAccessKey":"S","sessionToken":"T","expiration":4070908800000}})"};
  const char* config =
      "[profile s]\nsso_session = my\nsso_account_id = 1\nsso_role_name = R\n[sso-session my]\nsso_region = eu-west-1\n"
      "sso_start_url = https://x\n[profile lost]\nsso_session = other\nsso_account_id = 1\nsso_role_name = R\n";
  // As botocore names it: SHA-1 of "my".
  const std::string cache = "/h/.aws/sso/cache/3ece1471f44f63177cbc35ba0b904e0c096b6783.json";
  const auto of = [&](const char* login) {
    return std::map<std::string, std::string>{{"/h/.aws/config", config}, {cache, login}};
  };
  const std::map<std::string, std::string> variables{{"HOME", "/h"}, {"AWS_PROFILE", "s"}};
  const Settings s = settings(variables, of(R"({"accessToken":"A","expiresAt":"2099-01-01T00:00:00Z"})"), aws.ask());
  EXPECT_EQ(s.key_id, "SSO");
  EXPECT_EQ(aws.asked.at(0).headers, std::vector<std::string>{"x-amz-sso_bearer_token: A"});
  EXPECT_NE(why_not(variables, of(R"({"accessToken":"A","expiresAt":"2001-01-01T00:00:00Z"})"), aws.ask())
                .find("has expired: run `aws sso login --profile s`"),
            std::string::npos);
  EXPECT_NE(why_not(variables, {{"/h/.aws/config", config}}, aws.ask()).find("no login"), std::string::npos);
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "lost"}}, of("{}"), aws.ask()).find("no [sso-session other]"),
            std::string::npos);
}

TEST(KeyChain, AnExpiredLoginOfASessionIsRenewed) {
  const std::string portal =
                        "https://portal.sso.eu-west-1.amazonaws.com/federation/credentials?role_name=R&account_id=1",
                    oidc = "https://oidc.eu-west-1.amazonaws.com/token";
  const std::string rest =
      R"("clientId":"I","clientSecret":"hush","refreshToken":"again","registrationExpiresAt":"2099-01-01T00:00:00Z"})";
  const std::string old = R"({"accessToken":"A","expiresAt":"2001-01-01T00:00:00Z",)" + rest;
  FakeAws aws;
  aws.answers[portal] = {
      200,
      R"({"roleCredentials":{"accessKeyId":"SSO","secretAccessKey":"S","sessionToken":"T","expiration":4070908800000}})"};
  aws.answers[oidc] = {200, R"({"accessToken":"B","expiresIn":3600})"};
  const std::map<std::string, std::string> variables{{"HOME", "/h"}};
  const auto of = [](const std::string& login, bool session = true) {
    return std::map<std::string, std::string>{
        {"/h/.aws/config", std::string("[default]\nsso_account_id = 1\nsso_role_name = R\n") +
                               (session ? "sso_session = my\n[sso-session my]\n" : "") +
                               "sso_region = eu-west-1\nsso_start_url = my\n"},
        {"/h/.aws/sso/cache/3ece1471f44f63177cbc35ba0b904e0c096b6783.json", login}};
  };
  EXPECT_EQ(settings(variables, of(old), aws.ask()).key_id, "SSO");
  ASSERT_EQ(aws.asked.size(), 2u);
  EXPECT_EQ(aws.asked[0].body,
            R"({"clientId":"I","clientSecret":"hush","grantType":"refresh_token","refreshToken":"again"})");
  EXPECT_EQ(aws.asked[1].headers, std::vector<std::string>{"x-amz-sso_bearer_token: B"});
  // A login without a session, or without a registration, is not renewed.
  aws.asked.clear();
  EXPECT_NE(why_not(variables, of(old, false), aws.ask()).find("run `aws sso login"), std::string::npos);
  std::string ended = old;
  ended.replace(ended.find("2099"), 4, "2001");
  EXPECT_NE(why_not(variables, of(ended), aws.ask()).find("has expired: run `aws sso login"), std::string::npos);
  EXPECT_TRUE(aws.asked.empty());
  aws.answers[oidc] = {400, R"({"error":"invalid_grant","error_description":"not again, hush"})"};
  const std::string why = why_not(variables, of(old), aws.ask());
  EXPECT_NE(why.find("/token answered: 400 invalid_grant"), std::string::npos) << why;
  EXPECT_NE(why.find("run `aws sso login --profile default`"), std::string::npos) << why;
  EXPECT_EQ(why.find("hush"), std::string::npos) << why;
  aws.answers[oidc] = {200, R"({"accessToken":"B"})"};
  EXPECT_NE(why_not(variables, of(old), aws.ask()).find("no accessToken with expiresIn"), std::string::npos);
}

constexpr const char *kDirectory = "data--usw2-az1--x-s3",
                     *kDirectoryHost = "data--usw2-az1--x-s3.s3express-usw2-az1.us-west-2.amazonaws.com";

TEST(Sessions, AreOfDirectoryBuckets) {
  EXPECT_EQ(zone_of(kDirectory), "usw2-az1");
  for (const char* other : {"data", "data--x-s3", "--usw2-az1--x-s3", "data--usw2-az1--x-s3-old", "x-s3", ""})
    EXPECT_EQ(zone_of(other), "") << other;
  Settings s;
  s.region = "us-west-2";
  for (const Style style : {Style::automatic, Style::path}) {
    s.style = style;
    EXPECT_EQ(Address(s, kDirectory).origin(), std::string("https://") + kDirectoryHost);
  }
  s.endpoint = "http://127.0.0.1:80";
  EXPECT_EQ(Address(s, kDirectory).base(), "/data--usw2-az1--x-s3/");
}

TEST(Signer, AgreesWithBotocoreOnSessions) {
  Signer opens({"AKIDEXAMPLE", "secret", "basetoken", 0}, "us-west-2", kExpressService);
  opens.set_time(k20130524T000000Z);
  EXPECT_EQ(signature(opens.authorization({.method = "GET",
                                           .host = kDirectoryHost,
                                           .path = "/",
                                           .query = "session=",
                                           .payload_hash = kNoBody,
                                           .session_mode = "ReadWrite"})),
            "dc6165e1fca359b6339892f4a82a27086ea8901cf5e6a096972f0ab964746bdd");
  Signer uses({"ASIASESSION", "sessionsecret", "sessiontoken", 0}, "us-west-2", kExpressService, kSessionToken);
  uses.set_time(k20130524T000000Z);
  const Signer::Request get{.method = "GET", .host = kDirectoryHost, .path = "/set/a", .payload_hash = kNoBody};
  const std::string header(uses.authorization(get));
  EXPECT_NE(header.find(";x-amz-date;x-amz-s3session-token, "), std::string::npos) << header;
  EXPECT_EQ(signature(header), "29a48f499aab6af1948cee21faea856891d720fefd448ed806b7011fd9367924");
}

TEST(Sessions, AreOpenedOnceAndMayOnlyRead) {
  FakeAws aws;
  const std::string url = std::string("https://") + kDirectoryHost + "/?session=";
  aws.answers[url] = {200, kSts};
  const std::map<std::string, std::string> variables{
      {"AWS_ACCESS_KEY_ID", "KEYID"}, {"AWS_SECRET_ACCESS_KEY", "hidden"}, {"AWS_REGION", "us-west-2"}};
  const Settings s = settings(variables, {}, aws.ask());
  EXPECT_FALSE(s.sessions->of(s, "data"));
  const auto session = s.sessions->of(s, kDirectory);
  EXPECT_TRUE(aws.asked.empty());
  EXPECT_EQ(session->current(1)->key_id, "ASIA");
  EXPECT_EQ(s.sessions->of(s, kDirectory), session);
  EXPECT_EQ(session->current(2)->token, "T");
  ASSERT_EQ(aws.asked.size(), 1u);
  EXPECT_EQ(aws.asked[0].headers.back(), "x-amz-create-session-mode: ReadWrite");
  EXPECT_EQ(s.sessions->struck_out("not lent to you").find("lent"), std::string::npos);
  EXPECT_FALSE(settings({}, {}, aws.ask()).sessions->of(settings({}, {}, aws.ask()), kDirectory));

  aws.asked.clear();
  aws.answers[url] = {403, "<E><Code>AccessDenied</Code><Message>KEYID may not</Message></E>"};
  const Settings denied = settings(variables, {}, aws.ask());
  try {
    denied.sessions->of(denied, kDirectory)->current(1);
    ADD_FAILURE() << "there is no session";
  } catch (const RunError& e) {
    const std::string why = e.what();
    EXPECT_NE(why.find("open a session of s3://data--usw2-az1--x-s3: "), std::string::npos) << why;
    EXPECT_NE(why.find("403 AccessDenied"), std::string::npos) << why;
    EXPECT_NE(why.find("s3express:CreateSession"), std::string::npos) << why;
    EXPECT_EQ(why.find("KEYID"), std::string::npos) << why;
  }
  EXPECT_EQ(aws.asked.back().headers.back(), "x-amz-create-session-mode: ReadOnly");
}

TEST(KeyChain, AProcessPrintsKeys) {
  const std::map<std::string, std::string> variables{{"HOME", "/h"}},
      files{{"/h/.aws/config", "[default]\ncredential_process = get keys\n"}};
  const auto printed = [&](const char* text) {
    return settings(variables, files, {}, [=](const std::string& command) {
      EXPECT_EQ(command, "get keys");
      return std::string(text);
    });
  };
  const Settings s = printed(R"({"Version":1,"AccessKeyId":"P","SecretAccessKey":"S"})");
  EXPECT_EQ(s.key_id, "P");
  EXPECT_FALSE(s.renewal);  // these do not expire
  for (const char* bad :
       {"", "[]", R"({"Version":2,"AccessKeyId":"P","SecretAccessKey":"S"})", R"({"Version":1,"AccessKeyId":"P"})",
        R"({"Version":1,"AccessKeyId":"P\n","SecretAccessKey":"S"})",
        R"({"Version":1,"AccessKeyId":"P","SecretAccessKey":"S","Expiration":"2001-01-01T00:00:00Z"})"})
    EXPECT_THROW(printed(bad), RunError) << bad;
}

TEST(KeyRenewal, FetchesBeforeKeysExpire) {
  std::int64_t now = 1000;
  int fetched = 0;
  bool fails = false;
  KeyRenewal renewal("a source", [&] {
    if (fails) throw RunError("no answer");
    ++fetched;
    return Keys{"K" + std::to_string(fetched), "secret-of-it", "", now + 3600};
  });
  EXPECT_EQ(renewal.current(now)->key_id, "K1");
  now = 1000 + 3600 - 901;
  EXPECT_EQ(renewal.current(now)->key_id, "K1");
  now += 2;
  fails = true;
  EXPECT_EQ(renewal.current(now)->key_id, "K1");  // still valid: it is tried again
  fails = false;
  EXPECT_EQ(renewal.current(now + 59)->key_id, "K1");
  EXPECT_EQ(renewal.current(now + 60)->key_id, "K2");
  fails = true;
  now += 4000;
  EXPECT_THROW(renewal.current(now), RunError);
  EXPECT_EQ(renewal.struck_out("x secret-of-it y").find("secret"), std::string::npos);
}

TEST(Settings, WithoutKeysNothingIsSigned) { EXPECT_FALSE(settings({{"HOME", "/h"}}, {}).is_signed()); }

TEST(Settings, ReportFaultsWithoutSecrets) {
  const std::map<std::string, std::string> files{{"/h/.aws/config", kConfig}, {"/h/.aws/credentials", kKeys}};
  EXPECT_NE(why_not({{"AWS_ACCESS_KEY_ID", "hidden"}}, {}).find("only one of the two keys"), std::string::npos);
  EXPECT_EQ(why_not({{"AWS_ACCESS_KEY_ID", "hidden"}}, {}).find("hidden"), std::string::npos);
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "other"}}, files).find("only one"), std::string::npos);
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "none"}}, files).find("names none"), std::string::npos);
  EXPECT_NE(why_not({{"HOME", "/h"}, {"AWS_PROFILE", "far"}}, files).find("has neither"), std::string::npos);
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

TEST(Settings, KnowSecretsThatMustNotReturn) {
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

TEST(Answers, ReportTheServersCodeAndTheRemedy) {
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
