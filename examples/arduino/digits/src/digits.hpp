/* The model of digits.h as a class of C++11.
 * All its memory is in the object, so a static one is best. */
#ifndef DIGITS_HPP
#define DIGITS_HPP

#include <stdint.h>

#include "digits.h"

class digits_model {
 public:
  int8_t *input0() { return reinterpret_cast<int8_t *>(workspace_ + DIGITS_INPUT_0_OFFSET); }
  int8_t *output0() { return reinterpret_cast<int8_t *>(workspace_ + DIGITS_OUTPUT_0_OFFSET); }

  /* Run the model once; false if it did not run, which a whole object always does. */
  bool run() {
    return !digits_run(workspace_);
  }

 private:
  alignas(DIGITS_ALIGNMENT) unsigned char workspace_[DIGITS_WORKSPACE_SIZE];
};

#endif
