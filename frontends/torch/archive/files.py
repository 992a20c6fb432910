"""Turns an untrusted .pt2 file into an archive that torch can read without harm.

torch unpickles parts of an archive, loads libraries from it, and turns its texts into Python. So
members are read here by a list of names, nothing pickled is kept, and texts are checked. torch gets
a new archive of the rest, so that two readers of zip files cannot see different contents.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from frontends.errors import ModelFormatError
from frontends.torch.archive.checks import checked_program

_WEIGHTS, _CONSTANTS = "data/weights/", "data/constants/"
_MODEL, _SAMPLES = "models/model.json", "data/sample_inputs/model.pt"
_CONFIGS = (f"{_WEIGHTS}model_weights_config.json", f"{_CONSTANTS}model_constants_config.json")
_PAYLOAD = re.compile(r"(?:weight|tensor)_\d{1,9}")
_BYTES = re.compile(r"data/weights/weight_\d{1,9}|data/constants/tensor_\d{1,9}")
_IGNORED = re.compile(
    r"archive_format|archive_version|byteorder|\.data/(?:version|serialization_id)|\.format_version"
    r"|\.storage_alignment|extra/[^\\]*|data/sample_inputs/\w*\.pt"
)
"""Members that are not read: a user's additional files, and pickled examples of inputs."""

_GROWTH, _LEEWAY = 4, 16 << 20
"""A file may grow to its size times the first number, plus the second, in bytes."""

_ADVICE = "; if you trust its author, give what torch.export.load makes of it"
_ITEM_BYTES = {
    **dict.fromkeys((1, 2, 12, 29, 30, 31, 32, 33), 1),
    **dict.fromkeys((3, 6, 13, 28), 2),
    **dict.fromkeys((4, 7, 9, 34), 4),
    **dict.fromkeys((5, 8, 10, 35), 8),
    11: 16,
}
"""Bytes of an element, by torch's number of its dtype."""


def checked_archive(content: bytes, schema_of: Callable[[str], Any]) -> bytes:
    """Return the archive of a program with only tensors and checked texts.

    Args:
        content: the file's bytes.
        schema_of: see ``checked_program``.

    Raises:
        ModelFormatError: it contains something else, or is larger than it states.
    """
    limit = _GROWTH * len(content) + _LEEWAY
    members = _members(content, limit)
    files: dict[str, bytes] = {}
    used = 0
    for name in _CONFIGS:
        folder = name.rsplit("/", 1)[0] + "/"
        config = _parsed(members, name)
        payloads = config.get("config") if isinstance(config, dict) else None
        if not isinstance(payloads, dict):
            raise ModelFormatError(f"{name} is damaged")
        for key, payload in payloads.items():
            used += _check_payload(key, payload, folder, members)
            path = folder + payload["path_name"]
            files[path] = members[path]
        files[name] = json.dumps({"config": payloads}).encode()
    if used > limit:
        raise ModelFormatError(f"its constants take {used} bytes in a file of {len(content)}")
    program = checked_program(_parsed(members, _MODEL), schema_of)
    files[_MODEL] = json.dumps(program).encode()
    files |= {_SAMPLES: b"", "archive_format": b"pt2", "archive_version": b"0"}
    return _written({**files, "byteorder": b"little", ".data/version": b"6\n"})


def _members(content: bytes, limit: int) -> dict[str, bytes]:
    """Return the allowed members by their names below the archive's folder."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        root = entries[0].filename.partition("/")[0] + "/" if entries else ""
        names = [entry.filename.removeprefix(root) for entry in entries]
        wanted = {name: e for name, e in zip(names, entries, strict=True) if _is_wanted(name)}
        if len(set(names)) < len(names):
            raise ModelFormatError("several of its members have one name")
        total = sum(entry.file_size for entry in wanted.values())
        if total > limit:
            raise ModelFormatError(f"{len(content)} bytes unpack to {total}")
        found = {}
        for name, entry in wanted.items():
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ModelFormatError(f"{name} is compressed in an unusual way")
            found[name] = archive.read(entry)
    return found


def _is_wanted(name: str) -> bool:
    """Tell whether a member is read; raise if it is not allowed."""
    if name in (_MODEL, *_CONFIGS) or _BYTES.fullmatch(name):
        return True
    if _IGNORED.fullmatch(name):
        return False
    if name.startswith("data/aotinductor/"):
        raise ModelFormatError(f"it holds compiled code ({name[:80]!r}){_ADVICE}")
    if name.endswith(".pt") or name.startswith((f"{_CONSTANTS}custom_obj", f"{_CONSTANTS}opaque")):
        raise ModelFormatError(
            f"{name[:80]!r} is pickled, which can run any code. PyTorch 2.13 saves tensors "
            f"otherwise: save it anew{_ADVICE}"
        )
    raise ModelFormatError(f"{name[:80]!r} is no part of a program that torch.export.save wrote")


def _parsed(members: Mapping[str, bytes], name: str) -> Any:
    if name not in members:
        raise ModelFormatError(f"it has no {name}")
    return json.loads(members[name])


def _check_payload(key: str, payload: Any, folder: str, members: Mapping[str, bytes]) -> int:
    """Check a tensor's range in the bytes of a member; return the number of its bytes."""
    what = f"the tensor {key[:80]!r}"
    if not isinstance(payload, dict) or not re.fullmatch(r"[\w.:/ -]*", key, re.ASCII):
        raise ModelFormatError(f"{what} is damaged")
    if payload.get("use_pickle") is not False:
        raise ModelFormatError(
            f"{what} is pickled, which can run any code: where it is torchao's, apply "
            f"torchao.utils.unwrap_tensor_subclass before torch.export.export{_ADVICE}"
        )
    path, meta = payload.get("path_name"), payload.get("tensor_meta")
    if not isinstance(path, str) or not _PAYLOAD.fullmatch(path) or folder + path not in members:
        raise ModelFormatError(f"{what} has no bytes in the file")
    if not isinstance(meta, dict) or meta.get("dtype") not in _ITEM_BYTES:
        raise ModelFormatError(f"{what} has no dtype that is known")
    sizes, strides = (_integers(meta.get(name), what) for name in ("sizes", "strides"))
    (offset,) = _integers([meta.get("storage_offset")], what)
    if len(sizes) != len(strides):
        raise ModelFormatError(f"{what} has {len(sizes)} sizes and {len(strides)} strides")
    width, count = _ITEM_BYTES[meta["dtype"]], prod(sizes)
    pairs = zip(sizes, strides, strict=True)
    last = offset + sum((size - 1) * stride for size, stride in pairs)
    if count and (last + 1) * width > len(members[folder + path]):
        raise ModelFormatError(f"{what} reaches beyond its bytes")
    return count * width


def _integers(values: Any, what: str) -> list[int]:
    found = [v.get("as_int") if isinstance(v, dict) else None for v in values or []]
    if not all(type(each) is int and 0 <= each < 1 << 62 for each in found):
        raise ModelFormatError(f"{what} has sizes that are no numbers")
    return found  # type: ignore[return-value]


def _written(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"archive/{name}", content)
    return made.getvalue()
