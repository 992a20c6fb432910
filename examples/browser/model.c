/* The functions that a page calls: the model keywords.tflite, compiled with --arena for wasm32. */
#include <stdint.h>

#include "keywords.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

static _Alignas(KEYWORDS_ALIGNMENT) uint8_t workspace[KEYWORDS_WORKSPACE_SIZE];

void *EXPORT(input)(void) { return workspace + KEYWORDS_INPUT_0_OFFSET; }
int EXPORT(input_size)(void) { return KEYWORDS_INPUT_0_SIZE; }
float EXPORT(input_scale)(void) { return KEYWORDS_INPUT_0_SCALE; }
int EXPORT(input_zero_point)(void) { return KEYWORDS_INPUT_0_ZERO_POINT; }
void *EXPORT(output)(void) { return workspace + KEYWORDS_OUTPUT_0_OFFSET; }
int EXPORT(output_size)(void) { return KEYWORDS_OUTPUT_0_SIZE; }
int EXPORT(run)(void) { return keywords_run(workspace); }
