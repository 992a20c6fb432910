/* A quantized model, made by tvm-qnn for any compiler of C99.
 * digits.c has its code, digits_weights.c its weights. They call no function of any other library.
 */
#ifndef DIGITS_H
#define DIGITS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIGITS_ALIGNMENT 8 /* of every pointer, in bytes */
#define DIGITS_WORKSPACE_SIZE 2528 /* bytes */
#define DIGITS_INPUTS 1
#define DIGITS_OUTPUTS 1

/* input 0: input, int8_t [1, 8, 8, 1] */
#define DIGITS_INPUT_0_SIZE 64 /* bytes */
#define DIGITS_INPUT_0_COUNT 64 /* elements */
typedef int8_t digits_input_0_t;
/* real value = (integer - DIGITS_INPUT_0_ZERO_POINT) * DIGITS_INPUT_0_SCALE */
#define DIGITS_INPUT_0_SCALE 0.0625f
#define DIGITS_INPUT_0_ZERO_POINT (-128)
#define DIGITS_INPUT_0_OFFSET 944 /* in the workspace */

/* output 0: probabilities, int8_t [1, 10] */
#define DIGITS_OUTPUT_0_SIZE 10 /* bytes */
#define DIGITS_OUTPUT_0_COUNT 10 /* elements */
typedef int8_t digits_output_0_t;
/* real value = (integer - DIGITS_OUTPUT_0_ZERO_POINT) * DIGITS_OUTPUT_0_SCALE */
#define DIGITS_OUTPUT_0_SCALE 0.00390625f
#define DIGITS_OUTPUT_0_ZERO_POINT (-128)
#define DIGITS_OUTPUT_0_OFFSET 0 /* in the workspace */

/* Run the model once.
 * workspace: DIGITS_WORKSPACE_SIZE bytes, with the inputs at their offsets, dense arrays, the last
 * axis innermost. Afterwards the outputs are at theirs, and all else in it may have changed.
 * Every pointer must be a multiple of DIGITS_ALIGNMENT.
 * It keeps no state: runs with other outputs and workspaces can be under way at the same time.
 * Returns 0, or 1 if a pointer is null or not aligned, and then does nothing. */
int digits_run(void *workspace);

#ifdef __cplusplus
}
#endif

#endif
