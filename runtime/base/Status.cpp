#include "runtime/base/Status.h"

namespace betz {

std::string_view toString(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return "ok";
  case StatusCode::CheckFailed:
    return "check failed";
  case StatusCode::InvalidArgument:
    return "invalid argument";
  case StatusCode::NotFound:
    return "not found";
  case StatusCode::DataLoss:
    return "data loss";
  case StatusCode::Unavailable:
    return "unavailable";
  case StatusCode::ResourceExhausted:
    return "resource exhausted";
  case StatusCode::Internal:
    return "internal error";
  }
  return "unknown";
}

Status Status::withContext(std::string_view context) && {
  if (!isOk())
    text = std::string(context) + ": " + text;
  return std::move(*this);
}

Status invalidArgument(std::string message, std::source_location where) {
  return {StatusCode::InvalidArgument, std::move(message), where};
}
Status notFound(std::string message, std::source_location where) {
  return {StatusCode::NotFound, std::move(message), where};
}
Status dataLoss(std::string message, std::source_location where) {
  return {StatusCode::DataLoss, std::move(message), where};
}
Status unavailable(std::string message, std::source_location where) {
  return {StatusCode::Unavailable, std::move(message), where};
}
Status resourceExhausted(std::string message, std::source_location where) {
  return {StatusCode::ResourceExhausted, std::move(message), where};
}
Status internalError(std::string message, std::source_location where) {
  return {StatusCode::Internal, std::move(message), where};
}
Status checkFailed(std::string message, std::source_location where) {
  return {StatusCode::CheckFailed, std::move(message), where};
}

} // namespace betz
