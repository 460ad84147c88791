//===- EventList.h - JSON lists of events ---------------------------------===//
#pragma once

#include "serve/engine/StreamSession.h"
#include "serve/protocol/JsonReader.h"

#include <vector>

namespace betz::serve {

/// Appends the events of [{"neuron_id": n, "time_bin": t, "value": v}, ...];
/// `value` may be left out and is 1 then. More than `most` are an error.
void readEventList(JsonReader &reader, size_t most,
                   std::vector<StreamEvent> &events);

/// An integer in [low, 2^31); `name` is for the error.
int32_t readI32(JsonReader &reader, std::string_view name, int32_t low);

} // namespace betz::serve
