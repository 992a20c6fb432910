"""Files that hold several models, as of a language model's prefill and decode."""

import numpy as np
import pytest

from frontends.tflite import SignatureWarning, from_tflite
from frontends.tflite.model import Entry
from frontends.tflite.quantization import Quantization
from frontends.tflite.reader import read_model, read_signature
from frontends.tflite.source import TFLiteSource
from frontends.tflite.writer import ModelWriter
from qnn_ops import QnnError
from qnn_ops.dialect.signature import signature_of
from tests.support.metadata import Tensor, metadata
from tests.support.tflite import check_refused
from tvm_qnn.compare import compare

Q = Quantization.per_tensor(0.5, 3)


def two_models(first: int = 0, second: int = 1, about: bytes = b"") -> bytes:
    """Return a file of a layer of four rows, and of one of one row and another function."""
    writer = ModelWriter()
    inner = writer.subgraph()
    ends = []
    for graph, rows, code in ((writer, 4, "RELU"), (inner, 1, "LOGISTIC")):
        data = graph.tensor(f"x{rows}", (rows, 8), "int8", Q)
        result = Quantization.per_tensor(1 / 256, -128) if code == "LOGISTIC" else Q
        made = graph.tensor(f"y{rows}", (rows, 8), "int8", result)
        graph.operator(code, [data], [made])
        ends.append(([data], [made]))
    inner.end(*ends[1])
    entries = [
        Entry("prefill", first, (("x", 0),), (("h", 1),)),
        Entry("decode", second, (("x", 0),), (("y", 1),)),
    ]
    return writer.finish(*ends[0], metadata=about, entries=entries)


def test_the_first_subgraph_is_imported_and_others_are_told() -> None:
    with pytest.warns(SignatureWarning, match="signatures 'prefill', 'decode'; .* 'prefill': name"):
        mod, _ = from_tflite(two_models())
    assert signature_of(mod).inputs[0].name == "x4"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("key", "rows"), [("prefill", 4), ("decode", 1)])
def test_one_is_chosen_by_its_name(key: str, rows: int) -> None:
    data = np.arange(8 * rows, dtype=np.int8).reshape(rows, 8)
    mod, _ = from_tflite(two_models(), signature=key)
    assert signature_of(mod).outputs[0].name == f"y{rows}"
    found = compare(two_models(), [data], "llvm", kernels=False, signature=key)
    assert found.is_equal
    assert [each.operator for each in found.tensors] == ["RELU" if rows == 4 else "LOGISTIC"]


@pytest.mark.filterwarnings("error")
def test_names_of_one_subgraph_are_no_choice() -> None:
    assert signature_of(from_tflite(two_models(second=0))[0]).inputs[0].name == "x4"


@pytest.mark.parametrize(
    ("model", "key", "message"),
    [
        (two_models(), "encode", "no signature 'encode'; it has 'prefill', 'decode'"),
        (two_models(second=2), "decode", "'decode' is of subgraph 2, there are 2"),
    ],
)
def test_what_there_is_not_is_refused(model: bytes, key: str, message: str) -> None:
    check_refused(model, message, signature=key)
    check_refused(read_model(two_models()), "is chosen from a file", signature="decode")


def test_a_summary_lists_them_all_and_metadata_is_the_first_s() -> None:
    summary = TFLiteSource(two_models()).summary("x")
    told = [(each.name, each.inputs[0].name, each.outputs[0].shape) for each in summary.signatures]
    assert told == [("prefill", "x", (4, 8)), ("decode", "x", (1, 8))]
    assert TFLiteSource(two_models(second=7)).summary("x").signatures[1].inputs == ()
    assert TFLiteSource(read_signature(two_models(), "decode")).summary("x").signatures == ()
    about = metadata([Tensor(mean=[127.5], std=[127.5])])
    for key, count in (("prefill", 1), ("decode", 0)):
        chosen = read_signature(two_models(about=about), key)
        assert len(TFLiteSource(chosen).descriptions().inputs) == count


def test_a_damaged_file_is_one_error() -> None:
    rng, good, errors = np.random.default_rng(5), two_models(), 0
    for _ in range(300):
        damaged = bytearray(good)
        place = int(rng.integers(0, len(good) - 4))
        damaged[place : place + 4] = int(rng.choice([0, 1, 5, 2**31 - 1])).to_bytes(4, "little")
        try:
            read_model(read_signature(bytes(damaged), "decode"))
        except QnnError:
            errors += 1
    assert 100 < errors < 300
