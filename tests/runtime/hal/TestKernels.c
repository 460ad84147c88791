/* Kernels that tests load from memory, with the ABI of
 * runtime/program/KernelAbi.h. Not linked to anything. */
#include <stdint.h>

/* Adds 1 to i32 element i in task i. */
void count_task(void *const *operands, const int64_t *extents, int64_t begin,
                int64_t end) {
  int32_t *counts = operands[0];
  for (int64_t i = begin; i < end; ++i)
    counts[i] += 1;
}

/* y[i] = x[i] * extents[1] for i < extents[0]; a task is 4 elements. */
void scale(void *const *operands, const int64_t *extents, int64_t begin,
           int64_t end) {
  const int32_t *x = operands[0];
  int32_t *y = operands[1];
  for (int64_t i = begin * 4; i < end * 4 && i < extents[0]; ++i)
    y[i] = x[i] * (int32_t)extents[1];
}

/* sums[b] = sum over events e of segment b of
 *   (1 + time[e] - window_start[b]) * table[id[e]]; rows of 3; a task is 2
 * segments. Extents are batch and events. */
void segment_sum(void *const *operands, const int64_t *extents, int64_t begin,
                 int64_t end) {
  const int32_t *id = operands[0];
  const int32_t *time = operands[1];
  const int32_t *row_splits = operands[2];
  const int32_t *window_start = operands[3];
  const float *table = operands[4];
  float *sums = operands[5];
  for (int64_t b = begin * 2; b < end * 2 && b < extents[0]; ++b)
    for (int64_t c = 0; c < 3; ++c) {
      float sum = 0;
      for (int64_t e = row_splits[b]; e < row_splits[b + 1]; ++e)
        sum += (float)(1 + time[e] - window_start[b]) * table[id[e] * 3 + c];
      sums[b * 3 + c] = sum;
    }
}

/* out[b] = sums[b] + bias; rows of 3; a task is a segment. */
void add_bias(void *const *operands, const int64_t *extents, int64_t begin,
              int64_t end) {
  const float *sums = operands[0];
  const float *bias = operands[1];
  float *out = operands[2];
  for (int64_t b = begin; b < end && b < extents[0]; ++b)
    for (int64_t c = 0; c < 3; ++c)
      out[b * 3 + c] = sums[b * 3 + c] + bias[c];
}

/* out[b] = {events of window b, the sum of their values}; a task is a window.
 */
void count_window(void *const *operands, const int64_t *extents, int64_t begin,
                  int64_t end) {
  const int32_t *value = operands[0];
  const int32_t *row_splits = operands[1];
  float *out = operands[2];
  for (int64_t b = begin; b < end; ++b) {
    int32_t sum = 0;
    for (int32_t e = row_splits[b]; e < row_splits[b + 1]; ++e)
      sum += value[e];
    out[b * 2] = (float)(row_splits[b + 1] - row_splits[b]);
    out[b * 2 + 1] = (float)sum;
  }
}
