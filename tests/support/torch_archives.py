"""Altered archives of PyTorch programs, and the code that would run if they were trusted."""

import io
import json
import pickle
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

from tests.support.torch_networks import quantized

MODEL = "archive/models/model.json"
WEIGHTS = "archive/data/weights/"
CONSTANTS = "archive/data/constants/"
CONFIGS = f"{WEIGHTS}model_weights_config.json", f"{CONSTANTS}model_constants_config.json"

Files = dict[str, bytes]


class _Layers(torch.nn.Module):
    """A layer of each kind, with a size that a run computes where the batch is open."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = torch.nn.Conv2d(2, 4, 3), torch.nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.first(x)).mean((2, 3), keepdim=True)
        return self.last(y.reshape(x.shape[0] * 1, 4)), torch.tensor([1.0, 2.0]) + x[:, :, 0, :2]


def saved(program: Any) -> bytes:
    made = io.BytesIO()
    torch.export.save(program, made)
    return made.getvalue()


@cache
def contents(*, is_open: bool = False) -> bytes:
    """Return the file of a small network, quantized or with an open batch."""
    torch.manual_seed(0)
    shape = (2, 2, 5, 5)
    if is_open:
        sizes = ({0: torch.export.Dim("batch", min=1, max=16)},)
        return saved(torch.export.export(_Layers(), (torch.randn(shape),), dynamic_shapes=sizes))
    return saved(quantized(_Layers(), shape))


def files_of(content: bytes) -> Files:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def changed(
    change: Callable[[Any], Any] | None = None,
    content: bytes | None = None,
    parts: Mapping[str, bytes] | None = None,
) -> bytes:
    """Return an archive whose program's JSON was changed, with other members."""
    files = files_of(content or contents())
    if change is not None:
        program = json.loads(files[MODEL])
        change(program)
        files[MODEL] = json.dumps(program).encode()
    return zipped({**files, **(parts or {})})


class _Opens:
    """A pickle that makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return open, (self.path, "w")


def _torch_saved(value: Any) -> bytes:
    made = io.BytesIO()
    torch.save(value, made)
    return made.getvalue()


def _renamed(old: str, new: str) -> Callable[[Any], None]:
    def change(program: Any) -> None:
        text = json.dumps(program).replace(json.dumps(old), json.dumps(new))
        program.update(json.loads(text))

    return change


def _tree(kind: str, context: Any) -> Callable[[Any], None]:
    leaf: dict[str, Any] = {"type": None, "context": None, "children_spec": []}
    spec = json.dumps([1, {"type": kind, "context": context, "children_spec": [leaf]}])

    def change(program: Any) -> None:
        program["graph_module"]["module_call_graph"][0]["signature"]["out_spec"] = spec

    return change


def _called(target: str, **values: Any) -> Callable[[Any], None]:
    def change(program: Any) -> None:
        node = program["graph_module"]["graph"]["nodes"][-1]
        node["target"] = target
        node["inputs"] = [
            {"name": name, "arg": {f"as_{type(value).__name__[:6]}": value}, "kind": 1}
            for name, value in values.items()
        ]
        for each in node["inputs"]:
            each["arg"] = {key.replace("as_str", "as_string"): v for key, v in each["arg"].items()}

    return change


def _sized(text: str) -> Callable[[Any], None]:
    def change(program: Any) -> None:
        values = program["graph_module"]["graph"]["tensor_values"]
        values["x"]["sizes"][0] = {"as_expr": {"expr_str": text, "hint": None}}

    return change


def _entry(path: str, *, use_pickle: bool) -> bytes:
    entry = {"path_name": path, "is_param": False, "use_pickle": use_pickle, "tensor_meta": None}
    return json.dumps({"config": {"first.weight": entry}}).encode()


def hostile(canary: Path) -> dict[str, bytes]:
    """Return archives that create the file ``canary`` if torch, or later code, trusts them.

    Modules that they import are called "harmful_module", and are where the caller puts them.
    """
    evil, code = _Opens(canary), f"open({str(canary)!r}, 'w')"
    enum = json.dumps([{"__enum__": 1, "fqn": "harmful_module:x", "name": "x"}])
    factory = {"default_factory_module": "harmful_module", "default_factory_name": "x"}
    legacy = {
        "version": b"8.20",
        "serialized_exported_program.json": files_of(contents())[MODEL],
        "serialized_state_dict.pt": _torch_saved(evil),
        "serialized_constants.pt": _torch_saved(evil),
        "serialized_example_inputs.pt": _torch_saved(evil),
    }
    inner = zipped({"archive/data.pkl": pickle.dumps(evil, 2), "archive/version": b"3"})
    return {
        "samples": changed(parts={"archive/data/sample_inputs/model.pt": _torch_saved(evil)}),
        "weights": changed(parts={f"{WEIGHTS}model.pt": _torch_saved(evil)}),
        "constants": changed(parts={f"{CONSTANTS}model.pt": _torch_saved(evil)}),
        "nested zip": changed(parts={f"{CONSTANTS}model.pt": inner}),
        "pickled weight": changed(
            parts={
                f"{WEIGHTS}weight_0": _torch_saved(evil),
                CONFIGS[0]: _entry("weight_0", use_pickle=True),
            }
        ),
        "pickled constant": changed(
            parts={
                f"{CONSTANTS}tensor_9": _torch_saved(evil),
                CONFIGS[1]: _entry("tensor_9", use_pickle=True),
            }
        ),
        "opaque object": changed(
            parts={
                f"{CONSTANTS}opaque_obj_0": pickle.dumps(evil),
                CONFIGS[1]: _entry("opaque_obj_0", use_pickle=True),
            }
        ),
        "custom object": changed(
            parts={
                f"{CONSTANTS}custom_obj_0": inner,
                CONFIGS[1]: _entry("custom_obj_0", use_pickle=True),
            }
        ),
        "path": changed(
            parts={
                "archive/extra/evil": pickle.dumps(evil),
                CONFIGS[1]: _entry("opaque_obj_/../../../extra/evil", use_pickle=True),
            }
        ),
        "size": changed(_sized(code)),
        "size in a function": changed(_sized(f"Max(Integer(1), {code})")),
        "default of an input": changed(_renamed("x", f"x={code}")),
        "import by a dictionary": changed(
            _tree("collections.defaultdict", {**factory, "dict_context": ["a"]})
        ),
        "import by a key": changed(_tree("builtins.dict", enum)),
        "attribute of torch": changed(_called("torch.os.mkdir", path=str(canary))),
        "file of a tensor": changed(
            _called("torch.ops.aten.from_file.default", filename=str(canary), shared=True, size=9)
        ),
        "saving": changed(_called("torch.ops.aten.save.default", item=1, filename=str(canary))),
        "library": changed(parts={"archive/data/aotinductor/model/a.wrapper.so": b"\x7fELF"}),
        "older layout": zipped(legacy),
    }


def oversized() -> dict[str, bytes]:
    """Return small archives that would take gigabytes, or hours."""
    files = files_of(contents())
    config = json.loads(files[CONFIGS[0]])
    meta = next(iter(config["config"].values()))["tensor_meta"]
    meta["sizes"] = [{"as_int": 1 << 40}]
    meta["strides"] = [{"as_int": 0}]
    spread = {**files, CONFIGS[0]: json.dumps(config).encode()}
    many = {**files, **{f"{WEIGHTS}weight_{n}": bytes(8 << 20) for n in range(90, 96)}}
    twice = io.BytesIO(zipped(files))
    with warnings.catch_warnings(), zipfile.ZipFile(twice, "a") as archive:
        warnings.simplefilter("ignore")  # of what is meant
        archive.writestr(MODEL, b"{}")
    overlapping = bytearray(zipped({**files, f"{WEIGHTS}weight_99": bytes(100)}))
    place = overlapping.rfind(b"PK\x01\x02")
    overlapping[place + 24 : place + 28] = struct.pack("<I", 0xFFFFFFF0)
    return {
        "zeros": zipped(many, zipfile.ZIP_DEFLATED),
        "stride 0": zipped(spread),
        "length": bytes(overlapping),
        "twice": twice.getvalue(),
        "power": changed(_sized("Pow(Integer(9), Pow(Integer(9), Integer(9)))")),
        "digits": changed(_sized(f"Integer({'9' * 900})")),
        "depth": changed(_sized("Add(" * 90 + "Integer(1)" + ")" * 90)),
        "symbol": changed(_sized("Symbol('u99999999999', integer=True)")),
        "nested": changed(parts={MODEL: b"[" * 100_000}),
        "number": changed(lambda p: p["opset_version"].update(aten=1 << 200)),
    }
