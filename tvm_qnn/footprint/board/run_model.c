/* Runs a model from its first state on each input of the file "inputs", one mark before and one after each run, and
 * writes "outputs", then the most of the stack that a run took, 32 bits, to "stack". */
#include "board.h"
#include "model.h"

static _Alignas(MODEL_ALIGNMENT) unsigned char workspace[MODEL_WORKSPACE_SIZE];
#ifdef MODEL_STATE_SIZE
static _Alignas(MODEL_ALIGNMENT) unsigned char state[MODEL_STATE_SIZE];
#define STATE , state
#define RESET() model_reset(state)
#else
#define STATE
#define RESET() 0
#endif
#ifdef MODEL_INPUT_0_OFFSET
#define INPUT (workspace + MODEL_INPUT_0_OFFSET)
#define OUTPUT (workspace + MODEL_OUTPUT_0_OFFSET)
#define RUN() model_run(workspace STATE)
#else
static _Alignas(MODEL_ALIGNMENT) unsigned char input[MODEL_INPUT_0_SIZE];
static _Alignas(MODEL_ALIGNMENT) unsigned char output[MODEL_OUTPUT_0_SIZE];
#define INPUT input
#define OUTPUT output
#define RUN() model_run(inputs, outputs, workspace STATE)
#endif

#ifdef MODEL_HOOK
void on_call(int call, const char *layer);
void on_call(int call, const char *layer) {
  (void)call, (void)layer;
  board_mark();
}
#endif

int main(void) {
#ifndef MODEL_INPUT_0_OFFSET
  const void *inputs[] = {input};
  void *outputs[] = {output};
#endif
  const int from = board_open("inputs", 0), to = board_open("outputs", 1);
  const int stacks = board_open("stack", 1);
  uint32_t most = 0;

  while (!board_read(from, INPUT, MODEL_INPUT_0_SIZE)) {
    if (RESET()) return 1;
    board_paint_stack();
    board_mark();
    if (RUN()) return 1;
    board_mark();
    const uint32_t used = board_stack();
    most = used > most ? used : most;
    if (board_write(to, OUTPUT, MODEL_OUTPUT_0_SIZE)) return 2;
  }
  return board_write(stacks, &most, sizeof most) ? 2 : 0;
}
