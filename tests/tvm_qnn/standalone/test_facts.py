import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tvm import tirx
from tvm.tirx.buffer import decl_buffer

from legalize.call_plan import Call, Constant, Input, Output, Plan, Temporary
from legalize.memory_plan import lay_out
from qnn_ops.dialect.signature import Signature, TensorInfo
from tests.support.packages import needs_cc
from tvm_qnn.standalone.arrangement import Arrangement, size_of
from tvm_qnn.standalone.facts import facts_of, files
from tvm_qnn.standalone.functions import Compiled
from tvm_qnn.standalone.program import Program
from tvm_qnn.target.target import parse_target

SIGNATURE = Signature(
    (TensorInfo("a */ b", (2, 3), "int8", 0.5, -3), TensorInfo("c", (), "bool")),
    (TensorInfo("y", (1000,), "int32"), TensorInfo("z", (2, 3), "int8", 0.25, 0)),
)


def written(
    needs: Sequence[str] | None,
    names: Sequence[str] | None = None,
    signature: Signature = SIGNATURE,
) -> dict[str, str]:
    plan = Plan(
        (
            Call("first", (Input(0), Constant(1), Temporary(0))),
            Call("second", (Temporary(0), Temporary(1), Output(0))),
            Call(None, (Output(1), Input(0))),
        ),
        (),
        (100, 30),
    )
    target = parse_target("armv7-neon")
    symbols = {"first": "net_0_first", "second": "net_1_second"}
    tensor = decl_buffer((1,), "int8")
    nothing = tirx.PrimFunc([tensor], tirx.Evaluate(tirx.IntImm("int32", 0)), None)
    functions = {
        name: nothing.with_attr("global_symbol", symbol) for name, symbol in symbols.items()
    }
    compiled = Compiled(target, functions, {})
    arranged = Arrangement(plan, compiled, symbols, 64, lay_out(plan), None)
    program = Program("net", signature, arranged, (0, 64), needs, names)
    return files(facts_of(program))


@pytest.fixture
def texts() -> dict[str, str]:
    return written(["memcpy"])


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ([], "and calls no function of any other library."),
        (["expf", "memset"], "and calls of other libraries only: expf, memset."),
        (["syscall"], "only: syscall (of Linux, to ask for the tiles of AMX)."),
        (None, "and calls what `nm -u net.o` lists."),
    ],
)
def test_the_header_says_what_the_object_needs(needs: Sequence[str] | None, said: str) -> None:
    assert f"{said} net.c calls memcpy." in written(needs)["net.h"].replace("\n * ", " ")


def test_files_say_all_that_a_caller_needs(texts: dict[str, str]) -> None:
    for line in (
        "net_0_first(inputs[0], constants + 64, memory + 0);",
        "net_1_second(memory + 0, memory + 128, outputs[0]);",
        "memcpy(outputs[1], inputs[0], 6);",
        "extern void net_1_second(const void *, const void *, const void *);",
    ):
        assert line in texts["net.c"]
    for line in (
        "#define NET_WORKSPACE_SIZE 192 ",
        "#define NET_OUTPUTS 2",
        "/* input 0: a * / b, int8_t [2, 3] */",
        "#define NET_INPUT_0_SCALE 0.5f",
        "#define NET_INPUT_0_ZERO_POINT (-3)",
        "/* input 1: c, uint8_t [] */",
        "#define NET_OUTPUT_0_SIZE 4000 ",
    ):
        assert line in texts["net.h"]
    assert "NET_INPUT_1_SCALE" not in texts["net.h"]
    line = "arm-linux-gnueabihf-gcc -O2 -o net net_main.c net.c net.o -lm"
    assert line in texts["net_main.c"]
    assert {Path(name).name for name in texts} == {"net.h", "net.hpp", "net.c", "net_main.c"}


@needs_cc
@pytest.mark.parametrize(
    "name",
    ["a*\\\n/int b;/*", "a /*/ int b; /**/", "a\nint b;\x1f", "a*\x00/ int b; /*", "a*??/\n/"],
)
def test_no_name_of_a_tensor_becomes_code(name: str, tmp_path: Path) -> None:
    first, *others = SIGNATURE.inputs
    odd = replace(SIGNATURE, inputs=(replace(first, name=name), *others))
    codes = []
    for signature in (SIGNATURE, odd):
        header = tmp_path / "net.h"
        header.write_text(written([], signature=signature)["net.h"])
        command = ["cc", "-E", "-P", "-std=c99", "-Wall", "-Werror", str(header)]
        codes.append(subprocess.run(command, check=True, capture_output=True).stdout)
    assert codes[0] == codes[1]
    assert b"net_run" in codes[0]


def test_a_hook_is_told_of_each_call_and_of_the_end(texts: dict[str, str]) -> None:
    lines = [line.strip() for line in texts["net.c"].splitlines()]
    hooks = [i for i, line in enumerate(lines) if line.startswith("NET_HOOK(")]
    assert [lines[i] for i in hooks] == [
        'NET_HOOK(0, "net_0_first");',
        'NET_HOOK(1, "net_1_second");',
        'NET_HOOK(2, "memcpy");',
        "NET_HOOK(3, 0);",
    ]
    for i, called in zip(hooks, ("net_0_first(", "net_1_second(", "memcpy("), strict=False):
        assert lines[i + 1].startswith(called)
    text = written([], ['conv "1"\\\n??/', "Größe/7", "copy"])["net.c"]
    for line in (
        r'NET_HOOK(0, "conv \0421\042\134\012\077\077/");',
        r'NET_HOOK(1, "Gr\303\266\303\237e/7");',
        'NET_HOOK(2, "copy");',
    ):
        assert line in text


def test_sizes_are_in_bytes() -> None:
    assert size_of(TensorInfo("x", (2, 3), "float32")) == 24
    assert size_of(TensorInfo("x", (), "bool")) == 1
