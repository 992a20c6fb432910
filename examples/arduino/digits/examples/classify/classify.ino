// Classifies handwritten digits, one a second, and prints what it sees.
#include <digits.hpp>

#include "pictures.h"

static digits_model model;

static int classify(const uint8_t *picture) {
  // Values from 0 (paper) to 16 (ink) are steps of the input's scale, 1/16.
  for (int i = 0; i < DIGITS_INPUT_0_COUNT; i++)
    model.input0()[i] = static_cast<digits_input_0_t>(picture[i] + DIGITS_INPUT_0_ZERO_POINT);
  if (!model.run()) return -1;
  int best = 0;
  for (int i = 1; i < DIGITS_OUTPUT_0_COUNT; i++)
    if (model.output0()[i] > model.output0()[best]) best = i;
  return best;
}

void setup() { Serial.begin(115200); }

void loop() {
  for (int i = 0; i < PICTURES; i++) {
    Serial.print("a ");
    Serial.print(labels[i]);
    Serial.print(", seen as ");
    Serial.println(classify(pictures[i]));
    delay(1000);
  }
}
