"""Folders of a standalone export in the forms of microcontrollers' build systems."""

import re

import tvm

from qnn_ops.errors import QnnError
from tvm_qnn.standalone.packages import formats
from tvm_qnn.standalone.packages.formats import Package
from tvm_qnn.target.microcontrollers import is_plain_c

PACKAGES: dict[str, Package] = {
    "cmake": formats.CMAKE,
    "arduino": formats.ARDUINO,
    "zephyr": formats.ZEPHYR,
    "cmsis": formats.CMSIS,
    "platformio": formats.PLATFORMIO,
    "esp-idf": formats.ESP_IDF,
}
"""The packages by the name that `tvm-qnn compile --package` takes."""


def package_for(name: str, target: tvm.target.Target) -> Package:
    """Return the package with a name.

    Raises:
        QnnError: there is none, or it does not fit the target.
    """
    if name not in PACKAGES:
        raise QnnError(f"package must be one of {', '.join(PACKAGES)}, got {name!r}")
    package = PACKAGES[name]
    triple = str(target.attrs.get("mtriple", ""))
    if not is_plain_c(target) and not re.match(package.triples, triple):
        raise QnnError(f"the package {name!r} is for {package.processors}, not for {triple}")
    return package


__all__ = ["PACKAGES", "Package", "package_for"]
