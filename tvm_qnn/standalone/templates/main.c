/* Runs the model on files: one for each input, then one for each output, of raw elements.
 * Input files may hold several examples after one another; so do the output files then.
 *
 *   ${compiler} -O2 -o ${prefix} ${prefix}_main.c ${units} -lm
 *   ./${prefix} INPUT... OUTPUT... */
#include <stdio.h>

#include "${prefix}.h"

%include blocks.c

int main(int count, char **names) {
  const void *inputs[] = {${input_places}};
  void *outputs[] = {${output_places}};
  const size_t input_sizes[] = {${input_lengths}}, output_sizes[] = {${output_lengths}};
  FILE *files[${macro}_INPUTS + ${macro}_OUTPUTS];

  if (count != 1 + ${macro}_INPUTS + ${macro}_OUTPUTS) {
    fprintf(stderr, "usage: %s INPUT... OUTPUT...\n", names[0]);
    return 2;
  }
  for (int i = 0; i < ${macro}_INPUTS + ${macro}_OUTPUTS; i++)
    if (!(files[i] = fopen(names[1 + i], i < ${macro}_INPUTS ? "rb" : "wb"))) {
      perror(names[1 + i]);
      return 1;
    }
%if has_state
  if (${prefix}_reset(state)) return 1;
%end has_state
  for (;;) {
    for (int i = 0; i < ${macro}_INPUTS; i++) {
      size_t got = fread((void *)inputs[i], 1, input_sizes[i], files[i]);
      if (i == 0 && got == 0) return 0;
      if (got != input_sizes[i]) {
        fprintf(stderr, "%s ends in the middle of an input\n", names[1 + i]);
        return 1;
      }
    }
    if (${prefix}_run(${arguments})) return 1;
    for (int i = 0; i < ${macro}_OUTPUTS; i++)
      if (fwrite(outputs[i], 1, output_sizes[i], files[${macro}_INPUTS + i]) != output_sizes[i]) {
        perror(names[1 + ${macro}_INPUTS + i]);
        return 1;
      }
  }
}
