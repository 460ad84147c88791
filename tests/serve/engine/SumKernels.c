/* The kernel of SumDecoder.h, with the ABI of runtime/program/KernelAbi.h. */
#include <stdint.h>
#include <time.h>

/* behavior[b] = bias + sum over events e of window b, in their order, of
 *   (1 + time_bin[e] - window_start[b]) * (1 + value[e]) * table[neuron_id[e]];
 * rows of 3; a task is a window and lasts bias[3] seconds. */
void sum_window(void *const *operands, const int64_t *extents, int64_t begin,
                int64_t end) {
  const int32_t *neuron_id = operands[0];
  const int32_t *time_bin = operands[1];
  const int32_t *value = operands[2];
  const int32_t *row_splits = operands[3];
  const int32_t *window_start = operands[4];
  const float *table = operands[5];
  const float *bias = operands[6];
  float *behavior = operands[7];
  for (int64_t b = begin; b < end && b < extents[0]; ++b) {
    for (int64_t c = 0; c < 3; ++c) {
      float sum = bias[c];
      for (int64_t e = row_splits[b]; e < row_splits[b + 1]; ++e)
        sum += (float)((1 + time_bin[e] - window_start[b]) * (1 + value[e])) *
               table[neuron_id[e] * 3 + c];
      behavior[b * 3 + c] = sum;
    }
    const struct timespec duration = {0, (long)(bias[3] * 1e9f)};
    if (bias[3] > 0)
      nanosleep(&duration, 0);
  }
}
