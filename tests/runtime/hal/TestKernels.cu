// The kernels of TestKernels.c with the CUDA ABI of
// runtime/program/KernelAbi.h, and one persistent one. TestKernels.ptx is this
// file, compiled by
//   nvcc -arch=compute_80 -ptx TestKernels.cu
// less comments, with visible constants, and said to be PTX 7.8, which older
// drivers take too.
template <int N> struct BetzOperands {
  void *at[N];
};
struct BetzLaunch {
  unsigned threads, sharedBytes, blocksPerSm, flags;
};

// Adds 1 to i32 element i in task i.
extern "C" __constant__ BetzLaunch count_task_launch = {32, 0, 0, 0};
extern "C" __global__ void __launch_bounds__(32)
    count_task(BetzOperands<1> operands, const long long *) {
  if (threadIdx.x == 0)
    static_cast<int *>(operands.at[0])[blockIdx.x] += 1;
}

// y[i] = x[i] * extents[1] for i < extents[0]; a task is 4 elements.
extern "C" __constant__ BetzLaunch scale_launch = {4, 0, 0, 0};
extern "C" __global__ void __launch_bounds__(4)
    scale(BetzOperands<2> operands, const long long *extents) {
  const int *x = static_cast<const int *>(operands.at[0]);
  int *y = static_cast<int *>(operands.at[1]);
  long long i = blockIdx.x * 4ll + threadIdx.x;
  if (i < extents[0])
    y[i] = x[i] * static_cast<int>(extents[1]);
}

// The same by a persistent kernel, through dynamic shared memory.
extern "C" __constant__ BetzLaunch scale_persistent_launch = {64, 65536, 1, 0};
extern "C" __global__ void __launch_bounds__(64)
    scale_persistent(BetzOperands<2> operands, const long long *extents) {
  extern __shared__ int held[];
  const int *x = static_cast<const int *>(operands.at[0]);
  int *y = static_cast<int *>(operands.at[1]);
  const long long size = extents[0];
  for (long long task = blockIdx.x; task * 4 < size; task += gridDim.x) {
    long long i = task * 4 + threadIdx.x;
    bool isMine = threadIdx.x < 4 && i < size;
    // The far end of the shared memory, so that all of it has to be there.
    held[65536 / 4 - 64 + threadIdx.x] = isMine ? x[i] : 0;
    __syncthreads();
    if (isMine)
      y[i] = held[65536 / 4 - 64 + threadIdx.x] * static_cast<int>(extents[1]);
    __syncthreads();
  }
}

// sums[b] = sum over events e of segment b of
//   (1 + time[e] - window_start[b]) * table[id[e]]; rows of 3; a task is 2
// segments. Extents are batch and events.
extern "C" __constant__ BetzLaunch segment_sum_launch = {6, 0, 0, 0};
extern "C" __global__ void __launch_bounds__(6)
    segment_sum(BetzOperands<6> operands, const long long *extents) {
  const int *id = static_cast<const int *>(operands.at[0]);
  const int *time = static_cast<const int *>(operands.at[1]);
  const int *row_splits = static_cast<const int *>(operands.at[2]);
  const int *window_start = static_cast<const int *>(operands.at[3]);
  const float *table = static_cast<const float *>(operands.at[4]);
  float *sums = static_cast<float *>(operands.at[5]);
  int b = blockIdx.x * 2 + threadIdx.x / 3;
  int c = threadIdx.x % 3;
  if (b >= extents[0])
    return;
  float sum = 0;
#pragma unroll 1
  for (int e = row_splits[b]; e < row_splits[b + 1]; ++e)
    sum += static_cast<float>(1 + time[e] - window_start[b]) *
           table[id[e] * 3 + c];
  sums[b * 3 + c] = sum;
}

// out[b] = sums[b] + bias; rows of 3; a task is a segment.
extern "C" __constant__ BetzLaunch add_bias_launch = {3, 0, 0, 0};
extern "C" __global__ void __launch_bounds__(3)
    add_bias(BetzOperands<3> operands, const long long *extents) {
  const float *sums = static_cast<const float *>(operands.at[0]);
  const float *bias = static_cast<const float *>(operands.at[1]);
  float *out = static_cast<float *>(operands.at[2]);
  int i = blockIdx.x * 3 + threadIdx.x;
  if (blockIdx.x < extents[0])
    out[i] = sums[i] + bias[threadIdx.x];
}
