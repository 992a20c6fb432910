"""Code and constants of a model in one object file, and a static library of it."""

import shutil
from pathlib import Path

import pytest

from tests.support.packages import NAME, packed
from tests.support.standalone import check_call
from tvm_qnn.standalone.image import archive
from tvm_qnn.standalone.symbols import offered_symbols


@pytest.mark.parametrize("length", [6, 7])
def test_the_index_leads_to_the_member(length: int) -> None:
    contents, symbols = bytes(range(length)), ["a", "second"]
    made = archive(contents, symbols)
    assert made.startswith(b"!<arch>\n/       ")
    assert len(made) % 2 == 0
    count, *places = (int.from_bytes(made[68 + 4 * i :][:4], "big") for i in range(3))
    assert count == 2
    assert made[80:89] == b"a\0second\0"
    for place in places:
        assert made[place : place + 8] == b"model.o/"
        assert made[place + 60 :][:length] == contents


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm on the path")
def test_tools_read_it(tmp_path: Path) -> None:
    packed("cmake", "host", tmp_path, test_vectors=0)
    contents = (tmp_path / f"{NAME}.o").read_bytes()
    symbols = offered_symbols(contents)
    assert symbols
    assert f"{NAME}_weights" in symbols
    (tmp_path / "net.a").write_bytes(archive(contents, symbols))
    index = check_call(["nm", "--print-armap", tmp_path / "net.a"])
    assert {f"{name} in model.o" for name in symbols} <= set(index.splitlines())
