#include "serve/protocol/InferRequest.h"

#include "serve/protocol/JsonReader.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace betz::serve {
namespace {

constexpr size_t kNotBinary = std::numeric_limits<size_t>::max();

/// An entry of "inputs" as it was written.
struct InputTensor {
  std::string name;
  std::string datatype;
  std::vector<int64_t> shape;
  /// The text of "data"; empty where it is missing.
  std::string_view data;
  /// "binary_data_size", or kNotBinary.
  size_t binarySize = kNotBinary;
};

/// What "parameters" says of the request or of an output.
struct Parameters {
  std::optional<bool> isBinary;
  std::optional<std::chrono::nanoseconds> timeout;
  Priority priority = Priority::Normal;
};

struct Body {
  InferRequest request;
  std::vector<InputTensor> inputs;
  bool binaryByDefault = false;
  std::optional<bool> isBinaryOutput;
};

std::chrono::nanoseconds positiveTime(JsonReader &reader, double nanoseconds) {
  if (!(nanoseconds > 0) || nanoseconds > 1e18)
    reader.fail("expected a time above 0");
  return std::chrono::nanoseconds(
      reader.isBroken() ? 0 : static_cast<int64_t>(nanoseconds));
}

/// "sequence_id" and its kind: 0 and "" mean that there is none.
void refuseSequence(JsonReader &reader) {
  bool isSet = false;
  switch (reader.peek()) {
  case JsonReader::Kind::String:
    isSet = !reader.readString().empty();
    break;
  case JsonReader::Kind::Bool:
    isSet = reader.readBool();
    break;
  default:
    isSet = reader.readInteger() != 0;
  }
  if (isSet)
    reader.fail("infer has no sequences; use WS /stream");
}

void readParameters(JsonReader &reader, Parameters &parameters) {
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "timeout")
      parameters.timeout = positiveTime(reader, reader.readNumber() * 1e3);
    else if (key == "deadline_ms")
      parameters.timeout = positiveTime(reader, reader.readNumber() * 1e6);
    else if (key == "priority")
      parameters.priority = priorityOf(reader.readInteger());
    else if (key == "binary_data_output" || key == "binary_data")
      parameters.isBinary = reader.readBool();
    else if (key.starts_with("sequence_"))
      refuseSequence(reader);
    else
      reader.skipValue();
  }
}

void readInputParameters(JsonReader &reader, InputTensor &tensor) {
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key != "binary_data_size") {
      reader.skipValue();
      continue;
    }
    const int64_t size = reader.readInteger();
    if (size < 0)
      reader.fail("binary_data_size is negative");
    tensor.binarySize = static_cast<size_t>(size);
  }
}

void readInput(JsonReader &reader, InputTensor &tensor) {
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "name") {
      tensor.name = reader.readString();
    } else if (key == "datatype") {
      tensor.datatype = reader.readString();
    } else if (key == "shape") {
      tensor.shape.clear();
      reader.enterArray();
      while (reader.nextElement())
        tensor.shape.push_back(reader.readInteger());
    } else if (key == "data") {
      tensor.data = reader.skipValue();
    } else if (key == "parameters") {
      readInputParameters(reader, tensor);
    } else {
      reader.skipValue();
    }
  }
}

void readOutput(JsonReader &reader, Body &body) {
  std::string_view key;
  std::string name;
  Parameters parameters;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "name")
      name = reader.readString();
    else if (key == "parameters")
      readParameters(reader, parameters);
    else
      reader.skipValue();
  }
  if (name != "behavior")
    reader.fail(fmt::format("unknown output '{}'; there is 'behavior'", name));
  body.isBinaryOutput = parameters.isBinary;
}

void readBody(JsonReader &reader, Body &body) {
  std::string_view key;
  reader.enterObject();
  while (reader.nextMember(key)) {
    if (key == "id") {
      body.request.id = reader.readString();
    } else if (key == "parameters") {
      Parameters parameters;
      readParameters(reader, parameters);
      body.request.timeout = parameters.timeout;
      body.request.priority = parameters.priority;
      body.binaryByDefault = parameters.isBinary.value_or(false);
    } else if (key == "inputs") {
      reader.enterArray();
      while (reader.nextElement())
        readInput(reader, body.inputs.emplace_back());
    } else if (key == "outputs") {
      reader.enterArray();
      while (reader.nextElement())
        readOutput(reader, body);
    } else {
      reader.skipValue();
    }
  }
}

bool fitsI32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

/// Numbers at any depth of nested arrays, in order.
void readNested(JsonReader &reader, size_t most, std::vector<int32_t> &out) {
  reader.enterArray();
  while (reader.nextElement()) {
    if (reader.peek() == JsonReader::Kind::Array) {
      readNested(reader, most, out);
      continue;
    }
    const int64_t value = reader.readInteger();
    if (!fitsI32(value))
      reader.fail(fmt::format("{} does not fit i32", value));
    if (out.size() == most)
      return reader.fail("more elements than the shape has");
    out.push_back(static_cast<int32_t>(value));
  }
}

template <typename T>
Status readElements(std::string_view bytes, std::vector<int32_t> &out) {
  out.resize(bytes.size() / sizeof(T));
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if (!std::in_range<int32_t>(value))
      return invalidArgument(
          fmt::format("element {} is {}, which does not fit i32", i, value));
    out[i] = static_cast<int32_t>(value);
  }
  return Status::ok();
}

/// An integer type of the protocol, and how its bytes are read.
struct IntegerType {
  std::string_view name;
  size_t width;
  Status (*read)(std::string_view bytes, std::vector<int32_t> &out);
};
constexpr IntegerType kTypes[] = {
    {"INT32", 4, readElements<int32_t>},
    {"UINT8", 1, readElements<uint8_t>},
    {"INT64", 8, readElements<int64_t>},
    {"INT8", 1, readElements<int8_t>},
    {"INT16", 2, readElements<int16_t>},
    {"UINT16", 2, readElements<uint16_t>},
    {"UINT32", 4, readElements<uint32_t>},
    {"UINT64", 8, readElements<uint64_t>},
};

const IntegerType *findType(std::string_view name) {
  for (const IntegerType &type : kTypes)
    if (type.name == name)
      return &type;
  return nullptr;
}

/// The number of elements of a shape [n], which may have ones before it.
Result<size_t> elementCount(const InputTensor &tensor) {
  const std::vector<int64_t> &shape = tensor.shape;
  const bool isFlat = !shape.empty() && shape.back() >= 0 &&
                      fitsI32(shape.back()) &&
                      std::all_of(shape.begin(), shape.end() - 1,
                                  [](int64_t extent) { return extent == 1; });
  if (!isFlat)
    return invalidArgument("the shape must be [n], n 0 or more");
  return static_cast<size_t>(shape.back());
}

/// Elements from the front of `binary`, which loses them.
Status readBinaryTensor(const InputTensor &tensor, const IntegerType &type,
                        size_t count, std::string_view &binary,
                        std::vector<int32_t> &out) {
  if (!tensor.data.empty())
    return invalidArgument("has both data and binary_data_size");
  if (tensor.binarySize != count * type.width)
    return invalidArgument(
        fmt::format("binary_data_size is {}, but {} elements of {} have {}",
                    tensor.binarySize, count, type.name, count * type.width));
  if (tensor.binarySize > binary.size())
    return invalidArgument(fmt::format("binary_data_size is {}, but only {} "
                                       "bytes of the body are left",
                                       tensor.binarySize, binary.size()));
  const std::string_view bytes = binary.substr(0, tensor.binarySize);
  binary.remove_prefix(tensor.binarySize);
  return type.read(bytes, out);
}

Status readTextTensor(const InputTensor &tensor, size_t count,
                      std::vector<int32_t> &out) {
  if (tensor.data.empty())
    return invalidArgument("has neither data nor binary_data_size");
  JsonReader reader(tensor.data);
  readNested(reader, count, out);
  BETZ_RETURN_IF_ERROR(reader.finish().withContext("data"));
  if (out.size() != count)
    return invalidArgument(
        fmt::format("data has {} elements, the shape {}", out.size(), count));
  return Status::ok();
}

Status readTensor(const InputTensor &tensor, std::string_view &binary,
                  std::vector<int32_t> &out) {
  const IntegerType *type = findType(tensor.datatype);
  if (!type)
    return invalidArgument(fmt::format(
        "datatype '{}' is no integer type; send INT32", tensor.datatype));
  BETZ_ASSIGN_OR_RETURN(const size_t count, elementCount(tensor));
  return tensor.binarySize == kNotBinary
             ? readTextTensor(tensor, count, out)
             : readBinaryTensor(tensor, *type, count, binary, out);
}

std::vector<int32_t> *targetOf(std::string_view name, EventArrays &events) {
  if (name == "neuron_id")
    return &events.neuronId;
  if (name == "time_bin")
    return &events.timeBin;
  if (name == "value")
    return &events.value;
  if (name == "row_splits" || name == "offsets")
    return &events.rowSplits;
  return name == "window_start" ? &events.windowStart : nullptr;
}

Status readTensors(const std::vector<InputTensor> &inputs,
                   std::string_view binary, EventArrays &events) {
  std::vector<const std::vector<int32_t> *> seen;
  for (const InputTensor &tensor : inputs) {
    std::vector<int32_t> *target = targetOf(tensor.name, events);
    if (!target)
      return invalidArgument(
          fmt::format("unknown input '{}'; there are neuron_id, time_bin, "
                      "value, row_splits and window_start",
                      tensor.name));
    if (std::ranges::find(seen, target) != seen.end())
      return invalidArgument(
          fmt::format("input '{}' is there twice", tensor.name));
    seen.push_back(target);
    BETZ_RETURN_IF_ERROR(
        readTensor(tensor, binary, *target)
            .withContext(fmt::format("input '{}'", tensor.name)));
  }
  if (!binary.empty())
    return invalidArgument(
        fmt::format("{} bytes of the body belong to no tensor", binary.size()));
  for (const char *name : {"neuron_id", "time_bin", "value"})
    if (std::ranges::find(seen, targetOf(name, events)) == seen.end())
      return invalidArgument(fmt::format("input '{}' is missing", name));
  return Status::ok();
}

} // namespace

Priority priorityOf(int64_t level) {
  if (level == 1)
    return Priority::Urgent;
  return level == 0 || level == 2 ? Priority::Normal : Priority::Bulk;
}

Result<InferRequest> parseInferRequest(std::string_view json,
                                       std::string_view binary) {
  Body body;
  JsonReader reader(json);
  readBody(reader, body);
  BETZ_RETURN_IF_ERROR(reader.finish().withContext("body"));
  EventArrays &events = body.request.events;
  BETZ_RETURN_IF_ERROR(readTensors(body.inputs, binary, events));
  if (events.rowSplits.empty())
    events.rowSplits = {0, static_cast<int32_t>(events.neuronId.size())};
  body.request.isBinaryOutput =
      body.isBinaryOutput.value_or(body.binaryByDefault);
  return std::move(body.request);
}

} // namespace betz::serve
