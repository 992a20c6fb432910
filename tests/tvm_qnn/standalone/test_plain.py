import re
import shutil
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import tvm

import tvm_qnn
from qnn_ops import select_boxes, suppress_boxes, suppress_by_class
from tests.frontends.tflite.converters.test_variables import inputs as inputs_of_ring
from tests.frontends.tflite.converters.test_variables import ring
from tests.legalize.primitives.test_boxes import boxes_and_scores
from tests.support.operators import module_of
from tests.support.plain_c import SANITIZERS, WARNINGS, needs_gcc, run_plain_c
from tests.support.standalone import check_call, run_example
from tests.targets.models import Loaded, Model, models
from tvm_qnn import digits, zoo
from tvm_qnn.build import export_c

SMALL = ("every kernel uint8", "fused int8", "random graphs 0")
MODELS = {model.name: model for model in models(1)}


# Stands in for Arduino's own headers.
_ARDUINO = """\
struct { void begin(long) {} void println(int) {} } Serial;
void delay(unsigned long) {}
void setup();
void loop();
"""

# Stands in for a board's counter of cycles.
_COUNTER = """\
static struct { unsigned CYCCNT; } counter, *const DWT = &counter;
unsigned spent[99], started;
void on_call(int call, const char *layer);
"""


def longest_function(file: Path) -> int:
    """Return the lines of the longest function."""
    text = file.read_text("utf-8")
    functions = re.findall(r"^\w[^\n;]*\) {\n.*?^}", text, re.M | re.S)
    assert len(functions) == len(re.findall(r"^}$", text, re.M)) - 1  # and `extern "C"`
    return max(function.count("\n") for function in functions)


def check_that_compilers_are_silent(mod: tvm.IRModule, folder: Path) -> None:
    """Compile a module's C by each compiler that is here, at each level, as C99 and as C++."""
    export_c(mod, "c", {}, folder / "model")
    clang = ("clang", "clang++") if shutil.which("clang") else ()
    for name, level in product(("gcc", "g++", *clang), ("-O0", "-O2", "-Os")):
        language = ["-std=c++11", "-x", "c++"] if name.endswith("++") else [WARNINGS[0]]
        made = folder / "model.o"
        check_call([name, *language, *WARNINGS[1:], level, "-c", "-o", made, folder / "model.c"])


def file_of(name: str) -> bytes:
    """Return the contents of a file of networks that are not part of the repository."""
    file = Path(__file__).parents[4] / "shared" / "models" / "tflite" / f"{name}.tflite"
    if not file.exists():
        pytest.skip(f"no {file}")
    return file.read_bytes()


def loaded(name: str) -> Loaded:
    model: Model = MODELS[name]
    found = model.load()
    assert found is not None
    return found


@needs_gcc
@pytest.mark.parametrize("name", SMALL)
def test_a_model_gives_the_numbers_of_its_framework(name: str, tmp_path: Path) -> None:
    with patch("tests.targets.models._GRAPHS", 4):
        model = loaded(name)
    results = run_plain_c(model.mod, model.params, model.inputs, tmp_path, "-O1", *SANITIZERS)
    assert model.differs(results) is None
    assert 0 < longest_function(tmp_path / "model.c") < 300


LARGE = ("inception_v3", "mobilenet_v2")
FILES = ("deeplab_dm05_u8", "lstm_i8")


@pytest.mark.mcu
@pytest.mark.parametrize(
    "content",
    [
        *(partial(zoo.build, name, "int8_per_axis") for name in LARGE),
        *(partial(file_of, name) for name in FILES),
    ],
    ids=[*LARGE, *FILES],
)
def test_functions_stay_short(content: Callable[[], bytes], tmp_path: Path) -> None:
    mod, params = tvm_qnn.from_tflite(content())
    with patch("tvm_qnn.standalone.export.weights_file", return_value=""):
        export_c(mod, "c", params, tmp_path / "model")
    assert 0 < longest_function(tmp_path / "model.c") < 300


@needs_gcc
def test_a_run_of_many_calls_is_in_parts(tmp_path: Path) -> None:
    mod, params = tvm_qnn.from_tflite(ring())
    for number, most in enumerate((1, 100)):
        with patch("tvm_qnn.standalone.facts._MOST_CALLS", most):
            export_c(mod, "c", params, tmp_path / "model")
        text = (tmp_path / "model.c").read_text("utf-8")
        assert ("model_run_from_1(" in text) == (number == 0)
        for level in ("-O0", "-O2"):
            made = tmp_path / "model.o"
            check_call(["gcc", *WARNINGS, level, "-c", "-o", made, tmp_path / "model.c"])


@needs_gcc
def test_inputs_and_outputs_may_lie_in_the_workspace(tmp_path: Path) -> None:
    model = loaded("digits uint8")
    run = partial(run_plain_c, model.mod, model.params, model.inputs, tmp_path)
    assert model.differs(run("-O2", *SANITIZERS, arena=True)) is None


@needs_gcc
def test_a_stream_of_runs_keeps_its_state(tmp_path: Path) -> None:
    mod, params = tvm_qnn.from_tflite(ring())
    library = tvm_qnn.build(mod, "host", params)
    runs = inputs_of_ring(4)
    export_c(mod, "c", params, tmp_path / "model")
    sources = [tmp_path / f"model{end}" for end in ("_main.c", ".c", "_weights.c")]
    program = tmp_path / "program"
    check_call(["gcc", "-std=c99", *SANITIZERS, "-o", program, *sources])
    results = run_example([program], library.signature, runs, tmp_path)
    library.reset()
    for inputs, outputs in zip(runs, results, strict=True):
        np.testing.assert_array_equal(outputs[0], library.run(*inputs))


@needs_gcc
def test_files_are_c99_and_cpp_and_small(tmp_path: Path) -> None:
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    files = export_c(mod, "c", params, tmp_path / "model", test_vectors=2)
    names = ("model.c", "model.h", "model.hpp", "model_main.c", "model_test.c", "model_weights.c")
    assert files == sorted(names)
    for name in ("model.c", "model_weights.c"):
        line = ["g++", "-std=c++11", "-x", "c++", *WARNINGS[1:], "-c"]
        check_call([*line, "-o", tmp_path / "cpp.o", tmp_path / name])
    text = (tmp_path / "model.c").read_text("utf-8")
    assert set(re.findall(r"#include <(\S+)>", text)) == {"stdint.h", "string.h"}
    assert 0 < longest_function(tmp_path / "model.c") < 300
    assert not re.search(r"malloc|alloca", text)
    test = [tmp_path / f"model{end}" for end in ("_test.c", ".c", "_weights.c")]
    check_call(["gcc", "-std=c99", "-O2", "-o", tmp_path / "test", *test])
    assert "2 vectors: every byte" in check_call([tmp_path / "test"])


@needs_gcc
@pytest.mark.parametrize(("most", "classes"), [(1, 3), (9, 1)])
def test_compilers_see_that_scores_are_set_first(most: int, classes: int, tmp_path: Path) -> None:
    chosen = {"by_class": True, "most": most, "most_of_class": 3, "classes_per_box": 1}
    thresholds = {"score_threshold": 0.25, "iou_threshold": 0.5}
    mod = module_of(select_boxes, boxes_and_scores(0, 1, classes), **chosen, **thresholds)
    check_that_compilers_are_silent(mod, tmp_path)


@needs_gcc
@pytest.mark.parametrize("count", [1, 2])
def test_compilers_see_that_a_heap_is_set_before_it_is_read(count: int, tmp_path: Path) -> None:
    boxes, scores = boxes_and_scores(0, count, 1)
    limits = np.array([0.4, 0.2], np.float32)
    by_class = [boxes[None], scores.T[None].copy(), np.array([7]), limits]
    kinds = {"has_centers": False, "takes_all": False}
    mod = module_of(suppress_by_class, by_class, most=count, **kinds)
    check_that_compilers_are_silent(mod, tmp_path)
    thresholds = {"score_threshold": 0.2, "iou_threshold": 0.4}
    mod = module_of(suppress_boxes, [boxes, np.ravel(scores)], most=count, **thresholds)
    check_that_compilers_are_silent(mod, tmp_path)


_USE_OF_HEADER = """\
#include "keywords.h"
static keywords_input_0_t input[KEYWORDS_INPUT_0_COUNT];
float first(void);
float first(void) {
  return (float)(input[0] - KEYWORDS_INPUT_0_ZERO_POINT) * KEYWORDS_INPUT_0_SCALE;
}
"""


@needs_gcc
@pytest.mark.parametrize(
    ("page", "target", "before"),
    [
        ("plain_c.md", "c", {"c": [""], "cpp": [_ARDUINO]}),
        ("microcontrollers.md", "cortex-m4", {"c": ["", _COUNTER], "cpp": [""]}),
    ],
)
def test_the_header_stands_alone_and_the_snippets_of_the_guides_compile(
    page: str, target: str, before: dict[str, list[str]], tmp_path: Path
) -> None:
    mod, params = tvm_qnn.from_tflite(digits.model("int8"))
    export_c(mod, target, params, tmp_path / "keywords", arena=True)
    guide = Path(__file__).parents[3] / "docs" / "guides" / page
    # _Alignas is C11's.
    standards = {"c": "-std=c99" if target == "c" else "-std=c11", "cpp": "-std=c++11"}
    programs = [("gcc", WARNINGS[0], _USE_OF_HEADER)]
    for language, texts in before.items():
        snippets = guide.read_text("utf-8").split(f"```{language}\n")[1:]
        compiler = {"c": "gcc", "cpp": "g++"}[language]
        for text, snippet in zip(texts, snippets, strict=True):
            programs.append((compiler, standards[language], text + snippet.split("```")[0]))
    for compiler, standard, text in programs:
        source = tmp_path / ("use.c" if compiler == "gcc" else "use.cpp")
        source.write_text(text)
        words = [compiler, standard, *WARNINGS[1:], f"-I{tmp_path}", "-c"]
        check_call([*words, "-o", tmp_path / "use.o", source])
