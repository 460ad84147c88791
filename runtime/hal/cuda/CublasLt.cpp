#include "runtime/hal/cuda/CublasLt.h"

#include <fmt/format.h>
#include <memory>

namespace betz {
namespace {

// Values of NVIDIA's enumerations.
constexpr int kF32 = 0, kBf16 = 14; // cudaDataType
constexpr int kComputeF32 = 68;     // CUBLAS_COMPUTE_32F
constexpr int kTransposeFirst = 3;  // ..._DESC_TRANSA
constexpr int32_t kTransposed = 1;  // CUBLAS_OP_T
constexpr int kMostWorkspace = 1;   // ..._MAX_WORKSPACE_BYTES
constexpr int kAlgorithms = 8;

Status check(int code, const char *what) {
  return code == 0 ? Status::ok()
                   : unavailable(fmt::format("cuBLASLt cannot {}: status {}",
                                             what, code));
}

} // namespace

Result<const CublasLt *> CublasLt::load() {
  // Never unloaded: the library keeps memory that it frees nowhere.
  using Loaded = Result<std::unique_ptr<CublasLt>>;
  static const Loaded &loaded = *new Loaded([]() -> Loaded {
    const char *const candidates[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                      "/usr/local/cuda/lib64/libcublasLt.so"};
    BETZ_ASSIGN_OR_RETURN(DynamicLibrary library,
                          DynamicLibrary::open(candidates));
    std::unique_ptr<CublasLt> cublas(new CublasLt(std::move(library)));
    BETZ_RETURN_IF_ERROR(cublas->findFunctions());
    return cublas;
  }());
  if (!loaded.isOk())
    return loaded.status();
  return loaded.value().get();
}

Status CublasLt::findFunctions() {
  BETZ_RETURN_IF_ERROR(library.find(create, "cublasLtCreate"));
  BETZ_RETURN_IF_ERROR(library.find(destroy, "cublasLtDestroy"));
  BETZ_RETURN_IF_ERROR(
      library.find(descriptionCreate, "cublasLtMatmulDescCreate"));
  BETZ_RETURN_IF_ERROR(
      library.find(descriptionSet, "cublasLtMatmulDescSetAttribute"));
  BETZ_RETURN_IF_ERROR(
      library.find(descriptionDestroy, "cublasLtMatmulDescDestroy"));
  BETZ_RETURN_IF_ERROR(
      library.find(layoutCreate, "cublasLtMatrixLayoutCreate"));
  BETZ_RETURN_IF_ERROR(
      library.find(layoutDestroy, "cublasLtMatrixLayoutDestroy"));
  BETZ_RETURN_IF_ERROR(
      library.find(preferenceCreate, "cublasLtMatmulPreferenceCreate"));
  BETZ_RETURN_IF_ERROR(
      library.find(preferenceSet, "cublasLtMatmulPreferenceSetAttribute"));
  BETZ_RETURN_IF_ERROR(
      library.find(preferenceDestroy, "cublasLtMatmulPreferenceDestroy"));
  BETZ_RETURN_IF_ERROR(
      library.find(findAlgorithms, "cublasLtMatmulAlgoGetHeuristic"));
  return library.find(matmul, "cublasLtMatmul");
}

CublasLtProduct::~CublasLtProduct() {
  if (!library)
    return;
  for (CublasLt::Handle layout : {weightLayout, xLayout, resultLayout})
    if (layout)
      library->layoutDestroy(layout);
  if (description)
    library->descriptionDestroy(description);
  if (handle)
    library->destroy(handle);
}

Status CublasLtProduct::prepare(int64_t rows, int64_t columns, int64_t depth,
                                DType dtype) {
  BETZ_ASSIGN_OR_RETURN(library, CublasLt::load());
  const int type = dtype == DType::BF16 ? kBf16 : kF32;
  BETZ_RETURN_IF_ERROR(check(library->create(&handle), "start"));
  BETZ_RETURN_IF_ERROR(
      check(library->descriptionCreate(&description, kComputeF32, kF32),
            "describe a product"));
  BETZ_RETURN_IF_ERROR(
      check(library->descriptionSet(description, kTransposeFirst, &kTransposed,
                                    sizeof(kTransposed)),
            "describe a product"));
  // The library's matrices are column-major: to it, the rows of X are columns,
  // and the result is W Xᵀ.
  auto describe = [&](CublasLt::Handle &layout, int64_t down, int64_t across) {
    return check(library->layoutCreate(&layout, type, uint64_t(down),
                                       uint64_t(across), down),
                 "describe a matrix");
  };
  BETZ_RETURN_IF_ERROR(describe(weightLayout, depth, columns));
  BETZ_RETURN_IF_ERROR(describe(xLayout, depth, rows));
  BETZ_RETURN_IF_ERROR(describe(resultLayout, columns, rows));

  CublasLt::Handle preference = nullptr;
  BETZ_RETURN_IF_ERROR(
      check(library->preferenceCreate(&preference), "take preferences"));
  uint64_t most = kWorkspaceBytes;
  int code =
      library->preferenceSet(preference, kMostWorkspace, &most, sizeof(most));
  int count = 0;
  found.resize(kAlgorithms);
  if (code == 0)
    code = library->findAlgorithms(handle, description, weightLayout, xLayout,
                                   resultLayout, resultLayout, preference,
                                   kAlgorithms, found.data(), &count);
  library->preferenceDestroy(preference);
  found.resize(size_t(count));
  std::erase_if(found, [](const CublasLtAlgorithm &a) { return a.state != 0; });
  return check(code, "choose an algorithm");
}

Status CublasLtProduct::enqueue(const CublasLtAlgorithm &algorithm,
                                const void *x, const void *weight, void *result,
                                void *workspace, void *stream) const {
  const float one = 1, zero = 0;
  return check(library->matmul(handle, description, &one, weight, weightLayout,
                               x, xLayout, &zero, result, resultLayout, result,
                               resultLayout, algorithm.algorithm.data(),
                               workspace, kWorkspaceBytes, stream),
               "multiply");
}

} // namespace betz
