// Runs the model once a second.
#include <${prefix}.hpp>

static ${prefix}_model model;

void setup() {
  Serial.begin(115200);
}

void loop() {
  // Write the input here: ${macro}_INPUT_0_SIZE bytes at model.input0().
  if (model.run()) Serial.println(static_cast<double>(model.output0()[0]));
  delay(1000);
}
