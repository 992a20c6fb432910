/* A quantized model, made by tvm-qnn for ${machine}.
%if is_plain
 * ${prefix}.c has its code, ${prefix}_weights.c its weights. They call ${needs}
%end is_plain
%unless is_plain
 * ${prefix}.o has its code and its weights, and calls ${needs}
%end is_plain
 */
#ifndef ${macro}_H
#define ${macro}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ${macro}_ALIGNMENT ${alignment} /* of every pointer, in bytes */
#define ${macro}_WORKSPACE_SIZE ${workspace} /* bytes */
#define ${macro}_INPUTS ${input_count}
#define ${macro}_OUTPUTS ${output_count}
%if has_state
#define ${macro}_STATE_SIZE ${state_bytes} /* bytes */
%end has_state

%each tensors
/* ${kind} ${number}: ${name}, ${type} [${shape}] */
#define ${tensor}_SIZE ${size} /* bytes */
#define ${tensor}_COUNT ${count} /* elements */
typedef ${type} ${typedef};
%if is_quantized
/* real value = (integer - ${tensor}_ZERO_POINT) * ${tensor}_SCALE */
#define ${tensor}_SCALE ${scale}f
#define ${tensor}_ZERO_POINT (${zero_point})
%end is_quantized
%if has_arena
#define ${tensor}_OFFSET ${offset} /* in the workspace */
%end has_arena

%end tensors
/* Run the model once.
%unless has_arena
 * inputs, outputs: pointers to dense arrays, the last axis innermost. They must not overlap.
 * workspace: ${macro}_WORKSPACE_SIZE bytes, whose contents do not matter before or after.
%end has_arena
%if has_arena
 * workspace: ${macro}_WORKSPACE_SIZE bytes, with the inputs at their offsets, dense arrays, the last
 * axis innermost. Afterwards the outputs are at theirs, and all else in it may have changed.
%end has_arena
 * Every pointer must be a multiple of ${macro}_ALIGNMENT.
%unless has_state
 * It keeps no state: runs with other outputs and workspaces can be under way at the same time.
%end has_state
%if has_state
 * state: ${macro}_STATE_SIZE bytes, which ${prefix}_reset fills; they are what a stream of runs keeps.
 * Runs with other outputs, workspaces and states can be under way at the same time.
%end has_state
 * Returns 0, or 1 if a pointer is null or not aligned, and then does nothing. */
int ${prefix}_run(${parameters});
%if has_state

/* Begin a stream of runs: fill its state, ${macro}_STATE_SIZE bytes.
 * Returns 0, or 1 if the pointer is null or not aligned. */
int ${prefix}_reset(void *state);
%end has_state

#ifdef __cplusplus
}
#endif

#endif
