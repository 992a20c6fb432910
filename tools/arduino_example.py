"""Writes `examples/arduino/digits`: the digits as a library for Arduino, with a sketch.

python -m tools.arduino_example
"""

import shutil
from pathlib import Path

import numpy as np

from frontends.formats import read_model
from tvm_qnn import digits
from tvm_qnn.build import export_c
from tvm_qnn.footprint.layers import Follower
from tvm_qnn.standalone.packages import package_for
from tvm_qnn.target.target import parse_target

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "arduino" / "digits"
_NAME = "digits"

_SKETCH = """\
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
"""


def write(folder: Path) -> None:
    """Write the library.

    Args:
        folder: gets the files; must be empty.
    """
    source = read_model(digits.model("int8"))
    imported = source.convert(None)
    follower = Follower(source, imported, None)
    package = package_for("arduino", parse_target("c"))
    with follower.context():
        export_c(
            *(imported.mod, "c", imported.params, folder / _NAME),
            arena=True,
            package=package,
            notes=follower.notes,
        )
    # The model's own sketch makes room for one that classifies.
    shutil.rmtree(folder / "examples")
    sketch = folder / "examples" / "classify"
    sketch.mkdir(parents=True)
    (sketch / "classify.ino").write_text(_SKETCH, encoding="utf-8")
    (sketch / "pictures.h").write_text(_pictures(), encoding="utf-8")


def _pictures() -> str:
    """Return one held-out picture of each digit, in C."""
    pictures, labels = digits.held_out()
    chosen = [int(np.flatnonzero(labels == digit)[0]) for digit in range(10)]
    rows = "".join(f"    {{{', '.join(map(str, pictures[index].ravel()))}}},\n" for index in chosen)
    return f"""\
// Pictures of 8x8 values from 0 (paper) to 16 (ink), which took no part in the training.
#pragma once
#include <stdint.h>

#define PICTURES {len(chosen)}
static const uint8_t labels[PICTURES] = {{{", ".join(str(labels[index]) for index in chosen)}}};
static const uint8_t pictures[PICTURES][64] = {{
{rows}}};
"""


def main() -> None:
    """Write the library anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    write(FOLDER)


if __name__ == "__main__":
    main()
