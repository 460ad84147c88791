// A kernel that starts while the one before it ends. DependentKernel.ptx is
// this file, made as TestKernels.ptx is, but for compute_90 and with its
// constant as NVRTC gives them, not visible.
struct BetzOperands {
  void *at[2];
};
struct BetzLaunch {
  unsigned threads, sharedBytes, blocksPerSm, flags;
};

// y[i] = x[i] * extents[1] for i < extents[0]; a task is 4 elements.
extern "C" __constant__ BetzLaunch scale_launch = {4, 0, 0, 1};
extern "C" __global__ void __launch_bounds__(4)
    scale(BetzOperands operands, const long long *extents) {
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const volatile int *x = static_cast<const int *>(operands.at[0]);
  int *y = static_cast<int *>(operands.at[1]);
  long long i = blockIdx.x * 4ll + threadIdx.x;
  if (i < extents[0])
    y[i] = x[i] * static_cast<int>(extents[1]);
}
