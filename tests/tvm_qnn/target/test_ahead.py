from pathlib import Path

import pytest
import tvm
from tvm import relax

from legalize import lower
from legalize.kernels.kernel import IS_SMALL, SAME_CODE
from legalize.passes import one_function
from legalize.passes.set_aside import set_aside
from tvm_qnn import digits, from_tflite, zoo
from tvm_qnn.target import ahead
from tvm_qnn.target.ahead import Objects
from tvm_qnn.target.store import ObjectStore
from tvm_qnn.target.target import host_target

TARGET = host_target()


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Objects:
    """Objects of kernels that are called by name; none of them is compiled."""
    monkeypatch.setattr(one_function, "_WEIGHTS_OF_BODIES", 0)
    monkeypatch.setattr(Objects, "_make", lambda _self, part: names_of(part).encode())
    return Objects(TARGET, ObjectStore(tmp_path))


def names_of(part: tvm.IRModule) -> str:
    return " ".join(sorted(str(each.name_hint) for each in part.functions))


def heard(objects: Objects, size: int = 64) -> tvm.IRModule:
    """Lower a network for its objects; return the kernels' code."""
    mod, params = from_tflite(zoo.build("mobilenet_v1", "int8", size=size, width=0.25))
    mod = relax.transform.BindParams("main", params)(mod)
    _, codes = set_aside(lower(mod, TARGET, hear=objects.hear), objects.codes)
    return tvm.IRModule(codes)


def test_each_kernel_is_in_one_group(objects: Objects) -> None:
    with objects:
        codes = heard(objects)
        parts = objects.parts_of(codes)
        made = objects.finish(parts)
    assert len(codes.functions) > 8
    assert sorted(b" ".join(made).decode().split()) == names_of(codes).split()
    assert all(1 <= len(part.functions) <= ahead._MOST for part in parts.values())
    assert made == [names_of(part).encode() for part in parts.values()]


def test_groups_have_no_kernel_that_a_pass_dropped(objects: Objects) -> None:
    with objects:
        codes = heard(objects)
        kept = tvm.IRModule(dict([*codes.functions.items()][1:]))
        made = objects.finish(objects.parts_of(kept))
    assert sorted(b" ".join(made).decode().split()) == names_of(kept).split()


def test_equal_groups_are_compiled_once(objects: Objects) -> None:
    with objects:
        first = objects.finish(objects.parts_of(heard(objects)))
    again = Objects(TARGET, objects._store)
    with again:
        assert again.finish(again.parts_of(heard(again))) == first
    assert not [each for each in again._objects.values() if not isinstance(each, bytes)]


def test_after_the_block_nothing_more_is_compiled(objects: Objects) -> None:
    with objects:
        heard(objects)
    with pytest.raises(RuntimeError, match="shutdown"):
        heard(objects, size=32)


def test_kernels_of_a_small_network_have_one_size_each() -> None:
    """Kernels that serve several sizes would take more time, and here few sizes are alike."""
    told = []
    mod, params = from_tflite(digits.model("int8"))
    lower(
        relax.transform.BindParams("main", params)(mod),
        TARGET,
        hear=lambda _name, function: told.append(set(function.attrs.keys())),
    )
    assert told
    assert all(IS_SMALL in attrs and SAME_CODE not in attrs for attrs in told)
