//===- DecoderInfo.h - How a decoder cuts recordings into windows ---------===//
#pragma once

#include "runtime/base/Json.h"
#include "runtime/io/Windows.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace betz {

/// Model metadata, of a program or a module: keys and their JSON.
using Metadata = std::map<std::string, std::string>;

struct DecoderWindows {
  WindowSpec windows;
  int32_t maxNeurons = 0;
  std::optional<UnitMap> unitMap;
};

/// The JSON of a key, or null where it is absent.
Result<Json> readMetadata(const Metadata &metadata, const std::string &key);

/// `count` numbers of a key, or none where it is absent.
Result<std::vector<double>> readNumbers(const Metadata &metadata,
                                        const std::string &key, size_t count);

/// Of a decoder of several recordings, the metadata of the one called
/// `session`: its units, and the scale of its targets. Of any other decoder,
/// the metadata as it is. An unknown name is an error that lists the known.
Result<Metadata> metadataOfSession(const Metadata &metadata,
                                   const std::string &session);

/// An error where the metadata holds no model configuration.
Result<DecoderWindows> readDecoderWindows(const Metadata &metadata);

} // namespace betz
