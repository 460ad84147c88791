#include "runtime/program/ProgramHeader.h"
#include "runtime/base/Json.h"

#include <array>
#include <fmt/format.h>

namespace betz {
namespace {

constexpr std::array<std::string_view, 5> kBufferKinds = {
    "input", "output", "derived", "arena", "state"};

//===----------------------------------------------------------------------===//
// Encoding
//===----------------------------------------------------------------------===//

/// A constant is a number, `factor * symbol + plus` is [symbol, factor, plus].
Json encode(const Dim &dim) {
  if (dim.symbol < 0)
    return dim.plus;
  return Json::array({dim.symbol, dim.factor, dim.plus});
}

Json encode(const TensorSpec &tensor) {
  Json shape = Json::array();
  for (const Dim &dim : tensor.shape)
    shape.push_back(encode(dim));
  return {{"name", tensor.name},
          {"dtype", toString(tensor.dtype)},
          {"shape", std::move(shape)}};
}

Json encode(const InputSpec &input) {
  Json json = encode(input.tensor);
  if (!input.alias.empty())
    json["alias"] = input.alias;
  if (input.defaultValue)
    json["default"] = *input.defaultValue;
  return json;
}

Json encode(const IndexCheck &check) {
  Json json = {{"input", check.input}, {"below", check.below}};
  if (check.baseInput)
    json["base_input"] = *check.baseInput;
  if (check.splitsInput)
    json["splits_input"] = *check.splitsInput;
  return json;
}

Json encode(const SplitsCheck &check) {
  return {{"input", check.input},
          {"rows_symbol", check.rowsSymbol},
          {"max_rows", check.maxRows}};
}

Json encode(const KernelSpecEntry &kernel) {
  Json tasks = Json::array();
  for (const TaskSpace::Term &term : kernel.tasks.terms)
    tasks.push_back({{"dim", encode(term.dim)}, {"tile", term.tile}});
  return {{"name", kernel.name},
          {"code", kernel.code},
          {"section", kernel.section},
          {"tasks", std::move(tasks)},
          {"spec", kernel.spec}};
}

Json encode(const Launch &launch) {
  Json operands = Json::array();
  for (const BufferRef &ref : launch.operands)
    operands.push_back(
        Json::array({kBufferKinds[size_t(ref.kind)], ref.index, ref.offset}));
  return {{"kernel", launch.kernel}, {"operands", std::move(operands)}};
}

Json encode(const DerivedTensor &derived) {
  Json json = encode(derived.tensor);
  json["offset"] = derived.offset;
  return json;
}

Json encode(const LaunchPlan &plan);

template <typename T> Json encodeAll(const std::vector<T> &values) {
  Json array = Json::array();
  for (const T &value : values)
    array.push_back(encode(value));
  return array;
}

Json encode(const LaunchPlan &plan) {
  return {{"capacity", plan.capacity},
          {"arena_bytes", plan.arenaBytes},
          {"launches", encodeAll(plan.launches)}};
}

/// Hands out places in the section area in the order of listSections().
class SectionLayout {
public:
  Json place(std::string_view name, uint64_t size) {
    Json json = {{"name", name}, {"offset", next}, {"bytes", size}};
    next += paddedSize(size);
    return json;
  }

private:
  uint64_t next = 0;
};

/// The first target whose derived data are the very bytes of this one's.
size_t ownerOfDerivedData(const Program &program, size_t index) {
  const std::span<const std::byte> bytes =
      program.targets[index].derivedData.bytes;
  for (size_t i = 0; i < index; ++i) {
    const std::span<const std::byte> other =
        program.targets[i].derivedData.bytes;
    if (!bytes.empty() && other.data() == bytes.data() &&
        other.size() == bytes.size())
      return i;
  }
  return index;
}

Json encode(const Program &program, size_t index, SectionLayout &layout) {
  const TargetVariant &target = program.targets[index];
  Json json = {{"target", target.target},
               {"ir", layout.place("ir", target.irText.size())},
               {"derived", encodeAll(target.derived)}};
  const size_t owner = ownerOfDerivedData(program, index);
  if (owner == index)
    json["derived_data"] =
        layout.place(target.derivedData.name, target.derivedData.bytes.size());
  else
    json["derived_data_of_target"] = owner;
  json["kernels"] = encodeAll(target.kernels);
  json["plans"] = encodeAll(target.plans);
  Json executables = Json::array();
  for (const ExecutableEntry &entry : target.executables)
    executables.push_back(
        {{"isa", entry.isa},
         {"code", layout.place(entry.code.name, entry.code.bytes.size())}});
  json["executables"] = std::move(executables);
  if (!target.tuning.empty())
    json["tuning"] = target.tuning;
  return json;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

/// Calls `decodeOne` for each element of array `key`; errors name the element.
template <typename F>
Status forEach(const Json &object, const char *key, F decodeOne) {
  BETZ_ASSIGN_OR_RETURN(const Json *array, getArray(object, key));
  for (size_t i = 0; i < array->size(); ++i)
    if (Status status = decodeOne((*array)[i]); !status.isOk())
      return std::move(status).withContext(fmt::format("{}[{}]", key, i));
  return Status::ok();
}

Result<int64_t> toInteger(const Json &value) {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX))
    return dataLoss("not an integer");
  return value.get<int64_t>();
}

/// Member `key` where the object has it.
template <typename T>
Status getOptional(const Json &object, const char *key,
                   std::optional<T> &value) {
  if (!object.is_object() || !object.contains(key))
    return Status::ok();
  BETZ_ASSIGN_OR_RETURN(value, getMember<T>(object, key));
  return Status::ok();
}

Status decode(const Json &json, Dim &dim) {
  if (!json.is_array()) {
    BETZ_ASSIGN_OR_RETURN(int64_t value, toInteger(json));
    dim = Dim::constant(value);
    return Status::ok();
  }
  if (json.size() != 3)
    return dataLoss("a dimension is a number or [symbol, factor, plus]");
  BETZ_ASSIGN_OR_RETURN(int64_t symbol, toInteger(json[0]));
  BETZ_ASSIGN_OR_RETURN(dim.factor, toInteger(json[1]));
  BETZ_ASSIGN_OR_RETURN(dim.plus, toInteger(json[2]));
  if (symbol < 0 || symbol > INT32_MAX)
    return dataLoss(fmt::format("symbol {} is out of range", symbol));
  dim.symbol = int32_t(symbol);
  return Status::ok();
}

Status decode(const Json &json, TensorSpec &tensor) {
  BETZ_ASSIGN_OR_RETURN(tensor.name, getMember<std::string>(json, "name"));
  BETZ_ASSIGN_OR_RETURN(std::string dtype,
                        getMember<std::string>(json, "dtype"));
  std::optional<DType> type = parseDType(dtype);
  if (!type)
    return dataLoss(fmt::format("unknown dtype \"{}\"", dtype));
  tensor.dtype = *type;
  return forEach(json, "shape", [&](const Json &dim) {
    return decode(dim, tensor.shape.emplace_back());
  });
}

Status decode(const Json &json, InputSpec &input) {
  BETZ_RETURN_IF_ERROR(decode(json, input.tensor));
  std::optional<std::string> alias;
  BETZ_RETURN_IF_ERROR(getOptional(json, "alias", alias));
  input.alias = alias.value_or("");
  return getOptional(json, "default", input.defaultValue);
}

Status decode(const Json &json, IndexCheck &check) {
  BETZ_ASSIGN_OR_RETURN(check.input, getMember<uint32_t>(json, "input"));
  BETZ_ASSIGN_OR_RETURN(check.below, getMember<int64_t>(json, "below"));
  BETZ_RETURN_IF_ERROR(getOptional(json, "base_input", check.baseInput));
  return getOptional(json, "splits_input", check.splitsInput);
}

Status decode(const Json &json, SplitsCheck &check) {
  BETZ_ASSIGN_OR_RETURN(check.input, getMember<uint32_t>(json, "input"));
  BETZ_ASSIGN_OR_RETURN(check.rowsSymbol,
                        getMember<int32_t>(json, "rows_symbol"));
  BETZ_ASSIGN_OR_RETURN(check.maxRows, getMember<int64_t>(json, "max_rows"));
  return Status::ok();
}

Status decode(const Json &json, TaskSpace::Term &term) {
  BETZ_ASSIGN_OR_RETURN(term.tile, getMember<int64_t>(json, "tile"));
  if (!json.contains("dim"))
    return dataLoss("\"dim\" is missing");
  return decode(json["dim"], term.dim);
}

Status decode(const Json &json, KernelSpecEntry &kernel) {
  BETZ_ASSIGN_OR_RETURN(kernel.name, getMember<std::string>(json, "name"));
  BETZ_ASSIGN_OR_RETURN(kernel.code, getMember<std::string>(json, "code"));
  BETZ_ASSIGN_OR_RETURN(kernel.section,
                        getMember<std::string>(json, "section"));
  BETZ_ASSIGN_OR_RETURN(kernel.spec, getMember<std::string>(json, "spec"));
  return forEach(json, "tasks", [&](const Json &term) {
    return decode(term, kernel.tasks.terms.emplace_back());
  });
}

Status decode(const Json &json, BufferRef &ref) {
  if (!json.is_array() || json.size() != 3 || !json[0].is_string())
    return dataLoss("an operand is [kind, index, offset]");
  const std::string &kind = json[0].get_ref<const std::string &>();
  auto known = std::find(kBufferKinds.begin(), kBufferKinds.end(), kind);
  if (known == kBufferKinds.end())
    return dataLoss(fmt::format("unknown operand kind \"{}\"", kind));
  ref.kind = BufferKind(known - kBufferKinds.begin());
  BETZ_ASSIGN_OR_RETURN(int64_t index, toInteger(json[1]));
  if (index < 0 || index > UINT32_MAX)
    return dataLoss(fmt::format("operand index {} is out of range", index));
  ref.index = uint32_t(index);
  BETZ_ASSIGN_OR_RETURN(ref.offset, toInteger(json[2]));
  return Status::ok();
}

Status decode(const Json &json, Launch &launch) {
  BETZ_ASSIGN_OR_RETURN(launch.kernel, getMember<uint32_t>(json, "kernel"));
  return forEach(json, "operands", [&](const Json &operand) {
    return decode(operand, launch.operands.emplace_back());
  });
}

Status decode(const Json &json, LaunchPlan &plan) {
  BETZ_ASSIGN_OR_RETURN(plan.arenaBytes,
                        getMember<int64_t>(json, "arena_bytes"));
  BETZ_RETURN_IF_ERROR(forEach(json, "capacity", [&](const Json &value) {
    BETZ_ASSIGN_OR_RETURN(int64_t capacity, toInteger(value));
    plan.capacity.push_back(capacity);
    return Status::ok();
  }));
  return forEach(json, "launches", [&](const Json &launch) {
    return decode(launch, plan.launches.emplace_back());
  });
}

Status decode(const Json &json, DerivedTensor &derived) {
  BETZ_RETURN_IF_ERROR(decode(json, derived.tensor));
  BETZ_ASSIGN_OR_RETURN(derived.offset, getMember<int64_t>(json, "offset"));
  return Status::ok();
}

/// Takes the sections one after the other; each must start where the padding of
/// the one before it ends, so none can overlap or leave the file.
class SectionReader {
public:
  explicit SectionReader(std::span<const std::byte> area) : area(area) {}

  Status read(const Json &object, const char *key, Section &section) {
    BETZ_ASSIGN_OR_RETURN(const Json *json, getObject(object, key));
    BETZ_ASSIGN_OR_RETURN(section.name, getMember<std::string>(*json, "name"));
    BETZ_ASSIGN_OR_RETURN(uint64_t offset,
                          getMember<uint64_t>(*json, "offset"));
    BETZ_ASSIGN_OR_RETURN(uint64_t size, getMember<uint64_t>(*json, "bytes"));
    if (offset != next || next > area.size() || size > area.size() - next)
      return dataLoss(
          fmt::format("section \"{}\" of {} bytes at {} does not fit the file",
                      section.name, size, offset));
    section.bytes = area.subspan(next, size);
    next += paddedSize(size);
    return Status::ok();
  }

  Status expectEnd() const {
    if (next != area.size())
      return dataLoss(fmt::format("sections end at {}, but the file has {} "
                                  "bytes of them",
                                  next, area.size()));
    return Status::ok();
  }

private:
  std::span<const std::byte> area;
  uint64_t next = 0;
};

/// Derived data of its own, or those of a target before it.
Status decodeDerivedData(const Json &json, SectionReader &sections,
                         const std::vector<TargetVariant> &before,
                         TargetVariant &target) {
  constexpr const char *kShared = "derived_data_of_target";
  if (!json.contains(kShared))
    return sections.read(json, "derived_data", target.derivedData);
  BETZ_ASSIGN_OR_RETURN(uint64_t owner, getMember<uint64_t>(json, kShared));
  if (owner >= before.size())
    return dataLoss(fmt::format(
        "target {} has the derived data of target {}, which is not before it",
        before.size(), owner));
  target.derivedData = before[owner].derivedData;
  return Status::ok();
}

Status decode(const Json &json, SectionReader &sections,
              const std::vector<TargetVariant> &before, TargetVariant &target) {
  BETZ_ASSIGN_OR_RETURN(target.target, getMember<std::string>(json, "target"));
  Section ir;
  BETZ_RETURN_IF_ERROR(sections.read(json, "ir", ir));
  target.irText.assign(reinterpret_cast<const char *>(ir.bytes.data()),
                       ir.bytes.size());
  BETZ_RETURN_IF_ERROR(forEach(json, "derived", [&](const Json &derived) {
    return decode(derived, target.derived.emplace_back());
  }));
  BETZ_RETURN_IF_ERROR(decodeDerivedData(json, sections, before, target));
  BETZ_RETURN_IF_ERROR(forEach(json, "kernels", [&](const Json &kernel) {
    return decode(kernel, target.kernels.emplace_back());
  }));
  BETZ_RETURN_IF_ERROR(forEach(json, "plans", [&](const Json &plan) {
    return decode(plan, target.plans.emplace_back());
  }));
  std::optional<std::string> tuning;
  BETZ_RETURN_IF_ERROR(getOptional(json, "tuning", tuning));
  target.tuning = tuning.value_or("");
  return forEach(json, "executables", [&](const Json &entry) -> Status {
    ExecutableEntry &executable = target.executables.emplace_back();
    BETZ_ASSIGN_OR_RETURN(executable.isa, getMember<std::string>(entry, "isa"));
    return sections.read(entry, "code", executable.code);
  });
}

Status decodeMetadata(const Json &header, Program &program) {
  BETZ_ASSIGN_OR_RETURN(const Json *metadata, getObject(header, "metadata"));
  for (const auto &[key, value] : metadata->items()) {
    if (!value.is_string())
      return dataLoss(fmt::format("metadata \"{}\" is not a string", key));
    program.metadata[key] = value.get<std::string>();
  }
  return Status::ok();
}

Status decodeInterface(const Json &header, Program &program) {
  BETZ_RETURN_IF_ERROR(forEach(header, "symbols", [&](const Json &symbol) {
    if (!symbol.is_string())
      return dataLoss("not a string");
    program.symbols.push_back(symbol.get<std::string>());
    return Status::ok();
  }));
  BETZ_RETURN_IF_ERROR(forEach(header, "inputs", [&](const Json &input) {
    return decode(input, program.inputs.emplace_back());
  }));
  BETZ_RETURN_IF_ERROR(forEach(header, "outputs", [&](const Json &output) {
    return decode(output, program.outputs.emplace_back());
  }));
  BETZ_RETURN_IF_ERROR(forEach(header, "states", [&](const Json &state) {
    return decode(state, program.states.emplace_back());
  }));
  BETZ_RETURN_IF_ERROR(forEach(header, "index_checks", [&](const Json &check) {
    return decode(check, program.indexChecks.emplace_back());
  }));
  return forEach(header, "splits_checks", [&](const Json &check) {
    return decode(check, program.splitsChecks.emplace_back());
  });
}

} // namespace

std::vector<std::span<const std::byte>> listSections(const Program &program) {
  std::vector<std::span<const std::byte>> sections;
  for (size_t i = 0; i < program.targets.size(); ++i) {
    const TargetVariant &target = program.targets[i];
    sections.push_back(std::as_bytes(std::span(target.irText)));
    if (ownerOfDerivedData(program, i) == i)
      sections.push_back(target.derivedData.bytes);
    for (const ExecutableEntry &entry : target.executables)
      sections.push_back(entry.code.bytes);
  }
  return sections;
}

std::string encodeHeader(const Program &program) {
  SectionLayout layout;
  Json header = {{"symbols", program.symbols},
                 {"inputs", encodeAll(program.inputs)},
                 {"outputs", encodeAll(program.outputs)},
                 {"states", encodeAll(program.states)},
                 {"index_checks", encodeAll(program.indexChecks)},
                 {"splits_checks", encodeAll(program.splitsChecks)},
                 {"metadata", Json::object()}};
  for (const auto &[key, value] : program.metadata)
    header["metadata"][key] = value;
  Json targets = Json::array();
  for (size_t i = 0; i < program.targets.size(); ++i)
    targets.push_back(encode(program, i, layout));
  header["targets"] = std::move(targets);
  return header.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status decodeHeader(std::string_view text, std::span<const std::byte> area,
                    Program &program) {
  BETZ_ASSIGN_OR_RETURN(Json header, parseJson(text));
  BETZ_RETURN_IF_ERROR(decodeInterface(header, program));
  BETZ_RETURN_IF_ERROR(decodeMetadata(header, program));
  SectionReader sections(area);
  BETZ_RETURN_IF_ERROR(forEach(header, "targets", [&](const Json &target) {
    TargetVariant variant;
    BETZ_RETURN_IF_ERROR(decode(target, sections, program.targets, variant));
    program.targets.push_back(std::move(variant));
    return Status::ok();
  }));
  return sections.expectEnd();
}

} // namespace betz
