/* Runs the model on test vectors, in their order, and compares every byte of its outputs.
 *
 *   ${compiler} -O2 -o ${prefix}_test ${prefix}_test.c ${units} -lm
 *
 * Ends with 0 if all are as they shall be, else with 1. */
#include <stdio.h>
#include <string.h>

#include "${prefix}.h"

#define VECTORS ${vectors}

${arrays}
%include blocks.c

int main(void) {
  const unsigned char *const given[] = {${given}};
  const unsigned char *const wanted[] = {${wanted}};
  const void *inputs[] = {${input_places}};
  void *outputs[] = {${output_places}};
  const size_t input_sizes[] = {${input_lengths}}, output_sizes[] = {${output_lengths}};

%if has_state
  if (${prefix}_reset(state)) return 1;
%end has_state
  for (unsigned run = 0; run < VECTORS; run++) {
    for (int i = 0; i < ${macro}_INPUTS; i++)
      memcpy((void *)inputs[i], given[i] + run * input_sizes[i], input_sizes[i]);
    if (${prefix}_run(${arguments})) return 1;
    for (int i = 0; i < ${macro}_OUTPUTS; i++) {
      const unsigned char *made = outputs[i], *want = wanted[i] + run * output_sizes[i];
      for (size_t at = 0; at < output_sizes[i]; at++)
        if (made[at] != want[at]) {
          printf("vector %u: byte %lu of output %d is %d, and shall be %d\n", run,
                 (unsigned long)at, i, made[at], want[at]);
          return 1;
        }
    }
  }
  printf("%d vectors: every byte of the outputs is as it shall be\n", VECTORS);
  return 0;
}
