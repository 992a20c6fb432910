/* Runs an exported model named "model" on one input, several times, with a mark before and after
 * each run: model INPUT... OUTPUT... RUNS. The plugin count.c sees the marks. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model.h"

enum { BYTES = 1 << 22 }; /* the most of each input and output; output files are as long */

static _Alignas(MODEL_ALIGNMENT) unsigned char workspace[MODEL_WORKSPACE_SIZE];
static _Alignas(MODEL_ALIGNMENT) unsigned char memory[MODEL_INPUTS + MODEL_OUTPUTS][BYTES];

int main(int count, char **words) {
  const void *inputs[MODEL_INPUTS];
  void *outputs[MODEL_OUTPUTS];
  if (count != MODEL_INPUTS + MODEL_OUTPUTS + 2) return 2;
  for (int i = 0; i < MODEL_INPUTS; i++) {
    FILE *file = fopen(words[1 + i], "rb");
    if (!file || !fread(memory[i], 1, BYTES, file)) return 1;
    fclose(file);
    inputs[i] = memory[i];
  }
  for (int i = 0; i < MODEL_OUTPUTS; i++) outputs[i] = memory[MODEL_INPUTS + i];
  for (long run = 0; run < atol(words[count - 1]); run++) {
    syscall(SYS_getpriority, 0x716e6e00L, 2 * run);
    if (model_run(inputs, outputs, workspace)) return 1;
    syscall(SYS_getpriority, 0x716e6e00L, 2 * run + 1);
  }
  for (int i = 0; i < MODEL_OUTPUTS; i++) {
    FILE *file = fopen(words[1 + MODEL_INPUTS + i], "wb");
    if (!file || fwrite(outputs[i], BYTES, 1, file) != 1 || fclose(file)) return 1;
  }
  return 0;
}
