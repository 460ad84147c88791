//===- Decode.h - Every window of a recording through a decoder -----------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/session/Session.h"

#include <string>

namespace betz {

struct DecodeOptions {
  std::string recording;
  /// A second file on the same clock that supplies the behaviour; or "".
  std::string behavior;
  /// The series to score against; "" to choose.
  std::string series;
  /// Of a decoder of several, the session that the recording is of; "" for the
  /// one with the name of its file.
  std::string session;
  /// Units that the program does not know are an error, not a warning.
  bool strict = false;
  /// Where rows of windows go; or "".
  std::string csv;
};

/// Cuts the recording into windows as the program's metadata says and decodes
/// them one by one, as a closed loop would. The report holds the number of
/// windows, the time that one takes, and R² where the recording has the
/// behaviour. Warnings go to the log.
Result<Json> decodeRecording(Session &session, const DecodeOptions &options);

/// The report for people, on standard output.
void printDecodeReport(const Json &report);

} // namespace betz
