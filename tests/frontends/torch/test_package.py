"""What is said where PyTorch is missing; and that nothing imports it before it is needed."""

import sys
from pathlib import Path

import pytest

from frontends.formats import format_of, read_model
from frontends.torch import from_exported_program
from qnn_ops.errors import QnnError
from tests.support.commands import refused
from tests.support.errors import fails
from tests.support.processes import printed
from tvm_qnn.cli import main

HEAD = b"PK\x03\x04\x00\x00\x08\x08" + 22 * b"\x00" + b"net/archive_format"


@pytest.mark.parametrize("model", [HEAD, 3])
def test_without_torch_there_is_one_error(model: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        QnnError, match=r"needs the package torch, .* pip install 'tvm-qnn\[torch\]'"
    ):
        from_exported_program(model)


def test_programs_are_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "net").write_bytes(HEAD)
    (tmp_path / "empty.pt2").touch()
    (tmp_path / "other.zip").write_bytes(b"PK\x03\x04other")
    assert format_of(tmp_path / "net").name == "PyTorch"
    assert format_of(HEAD).name == "PyTorch"
    assert format_of(tmp_path / "empty.pt2").name == "PyTorch"
    fails("is no model of a known format", format_of, tmp_path / "other.zip")
    monkeypatch.setitem(sys.modules, "torch", None)
    fails("needs the package torch", read_model, tmp_path / "net")


@pytest.mark.parametrize("part", [b"net/data.pkl", b"net/code/__torch__.py", b""])
def test_weights_and_torchscript_are_told_what_to_type(
    part: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    path = tmp_path / "net.pt"
    path.write_bytes(HEAD[:30] + part if part else b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.")
    text = refused(main, ["inspect", str(path)])
    assert "torch.export.save(torch.export.export(model.eval(), inputs)," in text
    fails(r"a file of torch\.save or torch\.jit\.save is no program", from_exported_program, path)


def test_networks_are_told_what_to_type() -> None:
    base = type("Module", (), {"__module__": "torch.nn.modules.module"})
    network = type("Net", (base,), {})()
    for read in (read_model, from_exported_program):
        fails(r"a network of class Net is no program: export it", read, network)


def test_nothing_imports_torch_by_itself() -> None:
    # TVM does where torch is installed, and goes on if that fails.
    printed(
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'executorch'])); "
        "import tvm_qnn, frontends.formats as f; f.formats(); tvm_qnn.from_exported_program"
    )
