#include "serve/protocol/InferRequest.h"
#include "runtime/base/Json.h"
#include "serve/protocol/InferResponse.h"

#include <cstring>
#include <fmt/format.h>
#include <gmock/gmock.h>

using namespace betz;
using namespace betz::serve;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

template <typename T> std::string bytesOf(std::initializer_list<T> values) {
  return {reinterpret_cast<const char *>(values.begin()),
          values.size() * sizeof(T)};
}

std::string tensor(const char *name, std::string_view rest) {
  return fmt::format(R"({{"name":"{}",{}}})", name, rest);
}

/// An infer body with the three event tensors of two events, then `more`.
std::string bodyWith(std::string_view more, std::string_view top = "") {
  return fmt::format(
      R"({{{}"inputs":[{},{},{}{}]}})", top,
      tensor("neuron_id", R"("datatype":"INT32","shape":[2],"data":[3,4])"),
      tensor("time_bin", R"("shape":[2],"datatype":"INT64","data":[5,6])"),
      tensor("value", R"("data":[[1],[2]],"datatype":"UINT8","shape":[1,2])"),
      more);
}

std::string errorOf(std::string_view json, std::string_view binary = "") {
  return parseInferRequest(json, binary).status().message();
}

TEST(InferRequest, ReadsJson) {
  const std::string splits =
      "," +
      tensor("row_splits", R"("datatype":"INT32","shape":[3],"data":[0,1,2])");
  Result<InferRequest> request = parseInferRequest(
      bodyWith(
          splits,
          R"("id":"a7","parameters":{"timeout":2500,"priority":1,"x":[]},)"),
      "");
  ASSERT_TRUE(request.isOk()) << request.status().message();
  EXPECT_EQ(request->id, "a7");
  EXPECT_THAT(request->events.neuronId, ElementsAre(3, 4));
  EXPECT_THAT(request->events.timeBin, ElementsAre(5, 6));
  EXPECT_THAT(request->events.value, ElementsAre(1, 2));
  EXPECT_THAT(request->events.rowSplits, ElementsAre(0, 1, 2));
  EXPECT_EQ(request->timeout, std::chrono::microseconds(2500));
  EXPECT_EQ(request->priority, Priority::Urgent);
  EXPECT_FALSE(request->isBinaryOutput);
}

TEST(InferRequest, WithoutRowSplitsIsOneWindow) {
  Result<InferRequest> request = parseInferRequest(bodyWith(""), "");
  ASSERT_TRUE(request.isOk()) << request.status().message();
  EXPECT_THAT(request->events.rowSplits, ElementsAre(0, 2));
  EXPECT_EQ(request->priority, Priority::Normal);
  EXPECT_EQ(request->timeout, std::nullopt);
}

TEST(InferRequest, ReadsBinaryTensorsInTheirOrder) {
  const char *json =
      R"({"parameters":{"binary_data_output":true},"inputs":[
        {"name":"offsets","datatype":"INT32","shape":[2],
         "parameters":{"binary_data_size":8}},
        {"name":"value","datatype":"UINT8","shape":[3],
         "parameters":{"binary_data_size":3}},
        {"name":"neuron_id","datatype":"INT32","shape":[3],"data":[9,8,7]},
        {"name":"time_bin","datatype":"UINT64","shape":[3],
         "parameters":{"binary_data_size":24}},
        {"name":"window_start","datatype":"INT16","shape":[1],
         "parameters":{"binary_data_size":2}}]})";
  const std::string binary =
      bytesOf<int32_t>({0, 3}) + bytesOf<uint8_t>({1, 2, 255}) +
      bytesOf<uint64_t>({10, 11, 12}) + bytesOf<int16_t>({-2});
  Result<InferRequest> request = parseInferRequest(json, binary);
  ASSERT_TRUE(request.isOk()) << request.status().message();
  EXPECT_THAT(request->events.rowSplits, ElementsAre(0, 3));
  EXPECT_THAT(request->events.value, ElementsAre(1, 2, 255));
  EXPECT_THAT(request->events.neuronId, ElementsAre(9, 8, 7));
  EXPECT_THAT(request->events.timeBin, ElementsAre(10, 11, 12));
  EXPECT_THAT(request->events.windowStart, ElementsAre(-2));
  EXPECT_TRUE(request->isBinaryOutput);

  EXPECT_THAT(errorOf(json, binary + "x"), HasSubstr("1 bytes of the body "
                                                     "belong to no tensor"));
  EXPECT_THAT(errorOf(json, binary.substr(0, 36)),
              HasSubstr("input 'window_start': binary_data_size is 2, but "
                        "only 1 bytes"));
  EXPECT_THAT(errorOf(json, ""), HasSubstr("input 'offsets'"));
}

TEST(InferRequest, AnOutputsOwnSettingWins) {
  auto isBinary = [](std::string_view top) {
    return parseInferRequest(bodyWith("", top), "")->isBinaryOutput;
  };
  EXPECT_TRUE(isBinary(
      R"("outputs":[{"name":"behavior","parameters":{"binary_data":true}}],)"));
  EXPECT_FALSE(isBinary(
      R"("outputs":[{"name":"behavior","parameters":{"binary_data":false}}],
         "parameters":{"binary_data_output":true},)"));
  EXPECT_TRUE(isBinary(R"("parameters":{"binary_data_output":true},
                          "outputs":[{"name":"behavior"}],)"));
}

TEST(InferRequest, SaysWhatIsWrong) {
  auto extra = [](const char *name, std::string_view rest) {
    return errorOf(bodyWith("," + tensor(name, rest)));
  };
  EXPECT_THAT(extra("spikes", R"("datatype":"INT32")"),
              HasSubstr("unknown input 'spikes'; there are neuron_id"));
  EXPECT_THAT(extra("value", R"("datatype":"INT32","shape":[0],"data":[])"),
              HasSubstr("input 'value' is there twice"));
  EXPECT_THAT(extra("row_splits", R"("datatype":"FP32","shape":[1])"),
              HasSubstr("input 'row_splits': datatype 'FP32'"));
  EXPECT_THAT(extra("row_splits", R"("datatype":"INT32","shape":[2,2])"),
              HasSubstr("the shape must be [n]"));
  EXPECT_THAT(extra("row_splits", R"("datatype":"INT32","shape":[-1])"),
              HasSubstr("the shape must be [n]"));
  EXPECT_THAT(extra("row_splits", R"("datatype":"INT32","shape":[2])"),
              HasSubstr("neither data nor binary_data_size"));
  EXPECT_THAT(
      extra("row_splits", R"("datatype":"INT32","shape":[3],"data":[0,2])"),
      HasSubstr("data has 2 elements, the shape 3"));
  EXPECT_THAT(
      extra("row_splits", R"("datatype":"INT32","shape":[1],"data":[0,2])"),
      HasSubstr("more elements than the shape has"));
  EXPECT_THAT(extra("row_splits",
                    R"("datatype":"INT32","shape":[1],"data":[2147483648])"),
              HasSubstr("2147483648 does not fit i32"));
  EXPECT_THAT(
      extra("row_splits", R"("datatype":"INT32","shape":[1],"data":["x"])"),
      HasSubstr("expected a number"));
  EXPECT_THAT(extra("row_splits", R"("datatype":"INT32","shape":[1],
                                     "parameters":{"binary_data_size":8})"),
              HasSubstr("binary_data_size is 8, but 1 elements of INT32 have"));
  EXPECT_THAT(errorOf("{}"), HasSubstr("input 'neuron_id' is missing"));
  EXPECT_THAT(errorOf("[]"), HasSubstr("body: at byte 0: expected an object"));
  EXPECT_THAT(errorOf(bodyWith("", R"("outputs":[{"name":"spikes"}],)")),
              HasSubstr("unknown output 'spikes'"));
  EXPECT_THAT(errorOf(bodyWith("", R"("parameters":{"timeout":-1},)")),
              HasSubstr("expected a time above 0"));
  EXPECT_THAT(errorOf(bodyWith("", R"("parameters":{"sequence_id":5},)")),
              HasSubstr("use WS /stream"));
}

TEST(InferRequest, AcceptsAbsentSequences) {
  EXPECT_EQ(errorOf(bodyWith("", R"("parameters":{"sequence_id":0,
            "sequence_start":false,"sequence_end":false},)")),
            "");
}

TEST(InferRequest, HugeIntegersOfWideTypesAreRefused) {
  const char *json = R"({"inputs":[{"name":"value","datatype":"UINT64",
      "shape":[1],"parameters":{"binary_data_size":8}}]})";
  EXPECT_THAT(errorOf(json, bytesOf<uint64_t>({UINT64_MAX})),
              HasSubstr("18446744073709551615, which does not fit i32"));
}

Decoded decodedOf(std::span<const float> values) {
  Decoded decoded;
  decoded.behavior = values;
  decoded.columns = 2;
  decoded.windows = int64_t(values.size()) / 2;
  decoded.version = "3";
  decoded.queued = std::chrono::microseconds(12);
  decoded.computed = std::chrono::microseconds(345);
  return decoded;
}

TEST(InferResponse, WritesJson) {
  const std::vector<float> values = {0.5f, -1e-7f, 3, 4};
  InferResponse response =
      writeInferResponse("m", "a\"7", decodedOf(values), false);
  EXPECT_EQ(response.jsonBytes, response.body.size());
  Result<Json> json = parseJson(response.body);
  ASSERT_TRUE(json.isOk()) << response.body;
  EXPECT_EQ((*json)["model_name"], "m");
  EXPECT_EQ((*json)["model_version"], "3");
  EXPECT_EQ((*json)["id"], "a\"7");
  EXPECT_EQ((*json)["parameters"]["queue_us"], 12);
  EXPECT_EQ((*json)["parameters"]["infer_us"], 345);
  const Json &output = (*json)["outputs"][0];
  EXPECT_EQ(output["name"], "behavior");
  EXPECT_EQ(output["datatype"], "FP32");
  EXPECT_EQ(output["shape"], Json({2, 2}));
  EXPECT_EQ(output["data"].get<std::vector<float>>(), values);
}

TEST(InferResponse, WritesBytesBehindTheJson) {
  const std::vector<float> values = {1.5f, -2};
  InferResponse response = writeInferResponse("m", "", decodedOf(values), true);
  ASSERT_EQ(response.body.size(), response.jsonBytes + 8);
  Result<Json> json = parseJson(response.body.substr(0, response.jsonBytes));
  ASSERT_TRUE(json.isOk()) << response.body;
  EXPECT_FALSE(json->contains("id"));
  EXPECT_EQ((*json)["outputs"][0]["parameters"]["binary_data_size"], 8);
  EXPECT_FALSE((*json)["outputs"][0].contains("data"));
  EXPECT_EQ(
      std::memcmp(response.body.data() + response.jsonBytes, values.data(), 8),
      0);
}

TEST(InferResponse, WritesMetadataAndIndex) {
  ModelInfo model;
  model.name = "xs";
  model.version = "2";
  model.columns = 3;
  model.state = ModelState::Ready;
  Json metadata = *parseJson(writeModelMetadata(model));
  EXPECT_EQ(metadata["versions"], Json::array({"2"}));
  EXPECT_EQ(metadata["inputs"].size(), 4u);
  EXPECT_EQ(metadata["inputs"][3]["name"], "row_splits");
  EXPECT_EQ(metadata["inputs"][3]["shape"], Json::array({-1}));
  EXPECT_EQ(metadata["outputs"][0]["shape"], Json::array({-1, 3}));

  ModelInfo failed = model;
  failed.version = "3";
  failed.state = ModelState::Failed;
  failed.reason = "no memory";
  const std::vector<ModelInfo> both = {model, failed};
  Json index = *parseJson(writeRepositoryIndex(both, false));
  ASSERT_EQ(index.size(), 2u);
  EXPECT_EQ(index[0]["state"], "READY");
  EXPECT_EQ(index[1]["state"], "UNAVAILABLE");
  EXPECT_EQ(index[1]["reason"], "no memory");
  EXPECT_EQ(parseJson(writeRepositoryIndex(both, true))->size(), 1u);
  EXPECT_EQ((*parseJson(writeServerMetadata()))["extensions"].size(), 4u);
}

} // namespace
