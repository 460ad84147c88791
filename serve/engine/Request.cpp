#include "serve/engine/Request.h"

namespace betz::serve {

std::string_view toString(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Invalid:
    return "invalid";
  case ErrorKind::UnknownModel:
    return "unknown_model";
  case ErrorKind::QueueFull:
    return "queue_full";
  case ErrorKind::Cancelled:
    return "cancelled";
  case ErrorKind::Device:
    return "device";
  case ErrorKind::NotReady:
    return "not_ready";
  case ErrorKind::Late:
    return "late";
  case ErrorKind::Expired:
    return "expired";
  }
  return "unknown";
}

int httpStatus(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Invalid:
    return 400;
  case ErrorKind::UnknownModel:
    return 404;
  case ErrorKind::QueueFull:
    return 429;
  case ErrorKind::Cancelled:
    return 499;
  case ErrorKind::Device:
  case ErrorKind::NotReady:
    return 503;
  case ErrorKind::Late:
  case ErrorKind::Expired:
    return 504;
  }
  return 500;
}

} // namespace betz::serve
