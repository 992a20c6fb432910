%if is_plain
/* The layers of a quantized model, and the function that calls them in their order. */
%end is_plain
%unless is_plain
/* Calls the functions of ${prefix}.o, in their order. */
%end is_plain
#include "${prefix}.h"

%if calls_maths
#include <math.h>
%end calls_maths
#include <stdint.h>
#include <string.h>

%if is_plain
%include constants.h

${code}
%end is_plain
%unless is_plain
extern const unsigned char ${prefix}_weights[];
%each callees
extern void ${symbol}(${types});
%end callees

%end is_plain
/* Define ${macro}_HOOK as the name of a function of yours, to follow a run: it gets the number and the
 * layer's name of each call before it, and how many there were and a null pointer at the end. */
#ifdef ${macro}_HOOK
extern void ${macro}_HOOK(int call, const char *layer);
#else
#define ${macro}_HOOK(call, layer) ((void)0)
#endif

static int is_wrong(const void *pointer) {
  return !pointer || (uintptr_t)pointer % ${macro}_ALIGNMENT;
}

%if has_state
int ${prefix}_reset(void *state) {
  if (is_wrong(state)) return 1;
%if is_plain
  memcpy(state, ${prefix}_initial_state, ${state_size});
%end is_plain
%unless is_plain
  memcpy(state, ${prefix}_weights + ${state_offset}, ${state_size});
%end is_plain
  return 0;
}

%end has_state
%each parts
static void ${part}(${parameters}) {
%include pointers.c

%each argument_names
  (void)${argument};
%end argument_names
%if has_state
  (void)kept;
%end has_state
  (void)memory;

%include calls.c
}

%end parts
int ${prefix}_run(${parameters}) {
%include pointers.c

%if has_state
  if (is_wrong(state)) return 1;
%end has_state
  if (is_wrong(workspace)) return 1;
%unless has_arena
  for (int i = 0; i < ${input_count}; i++)
    if (is_wrong(inputs[i])) return 1;
  for (int i = 0; i < ${output_count}; i++)
    if (is_wrong(outputs[i])) return 1;
%end has_arena
  (void)memory;

%unless parts
%include calls.c
%end parts
%each parts
  ${part}(${arguments});
%end parts
  ${macro}_HOOK(${call_count}, 0);
%if has_state
  memcpy(kept, kept + ${state_size}, ${state_size});
%end has_state
  return 0;
}
