#include "serve/http/Exchange.h"

#include "serve/protocol/JsonText.h"

#include <charconv>

namespace betz::serve {
namespace {

Result<std::string> decodePercent(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    unsigned value = 0;
    const char *digits = text.data() + i + 1;
    if (i + 2 >= text.size() ||
        std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2 ||
        value == 0)
      return invalidArgument("the target has a % without two digits");
    out.push_back(static_cast<char>(value));
    i += 2;
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0)
      parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

int codeOf(const Status &status) {
  switch (status.getCode()) {
  case StatusCode::NotFound:
    return 404;
  case StatusCode::Unavailable:
    return 503;
  case StatusCode::ResourceExhausted:
    return 507;
  case StatusCode::Internal:
    return 500;
  default:
    return 400;
  }
}

} // namespace

Result<Target> Target::parse(std::string_view text) {
  Target target;
  const size_t question = std::min(text.find('?'), text.size());
  for (std::string_view part : split(text.substr(0, question), '/')) {
    BETZ_ASSIGN_OR_RETURN(std::string decoded, decodePercent(part));
    target.path.push_back(std::move(decoded));
  }
  text.remove_prefix(std::min(question + 1, text.size()));
  for (std::string_view part : split(text, '&')) {
    const size_t equals = std::min(part.find('='), part.size());
    BETZ_ASSIGN_OR_RETURN(std::string key,
                          decodePercent(part.substr(0, equals)));
    part.remove_prefix(std::min(equals + 1, part.size()));
    BETZ_ASSIGN_OR_RETURN(target.query[key], decodePercent(part));
  }
  return target;
}

std::string_view Exchange::header(std::string_view name) const {
  return view(request[boost::core::string_view(name.data(), name.size())]);
}

bool Exchange::mayPass() {
  const std::string_view origin = header("origin");
  const size_t host = origin.find("://");
  if (!origin.empty() && (host == std::string_view::npos ||
                          origin.substr(host + 3) != header("host"))) {
    replyError(403, "pages of other sites may not use this server");
    return false;
  }
  if (service.keys.allow(header("authorization"), header("x-api-key")))
    return true;
  replyError(401, "an API key is needed: Authorization: Bearer KEY, or "
                  "X-API-Key: KEY");
  response.set(http::field::www_authenticate, "Bearer");
  return false;
}

void Exchange::reply(http::status status, std::string_view contentType,
                     std::string body) {
  response.result(status);
  response.set(http::field::content_type, contentType);
  response.body() = std::move(body);
}

void Exchange::replyJson(std::string body) {
  reply(http::status::ok, "application/json", std::move(body));
}

void Exchange::replyError(int status, std::string_view message) {
  reply(http::int_to_status(static_cast<unsigned>(status)), "application/json",
        jsonError(message));
  response.result(static_cast<unsigned>(status));
}

void Exchange::replyError(const Error &error) {
  replyError(httpStatus(error.kind), error.message);
  if (error.kind == ErrorKind::Cancelled)
    ++service.metrics.clientsGone;
  if (error.retryAfter.count() > 0) {
    // Whole seconds, so that one second is the least.
    const auto wait = std::chrono::ceil<std::chrono::seconds>(error.retryAfter);
    response.set(http::field::retry_after, std::to_string(wait.count()));
  }
}

void Exchange::replyError(const Status &status) {
  replyError(codeOf(status), status.message());
}

} // namespace betz::serve
