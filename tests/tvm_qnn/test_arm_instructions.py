"""What instructions a library for an ARM processor has."""

from pathlib import Path

import pytest

from tests.support.arm import CORTEX_A72, Core, on_cores
from tests.support.standalone import check_call
from tvm_qnn import build, digits, from_tflite


@pytest.mark.parametrize(
    ("target", "has", "lacks"),
    [
        ("aarch64 -mcpu=cortex-a72", {"smull"}, {"sdot", "udot", "usdot", "smmla", "ummla"}),
        ("aarch64 -mcpu=cortex-a76", {"sdot"}, {"usdot", "smmla", "ummla", "usmmla"}),
    ],
)
@on_cores(CORTEX_A72)
def test_no_instruction_is_there_that_the_processor_lacks(
    core: Core, target: str, has: set[str], lacks: set[str], tmp_path: Path
) -> None:
    """Not even where no run comes by."""
    mod, params = from_tflite(digits.model("uint8"))
    build(mod, target, params).export(tmp_path / "model", format="c")
    text = check_call([f"{core.machine.triple}-objdump", "-d", tmp_path / "model.o"])
    names = {line.split("\t")[2].strip() for line in text.splitlines() if line.count("\t") >= 2}
    assert has <= names
    assert not lacks & names
