import importlib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import tvm_qnn as qnn
from tests.support.decoders import PROMPT, grouped
from tvm_qnn.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::tvm_qnn.LeftInFloatWarning")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["generate", *map(str, arguments)])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(grouped().SerializeToString())
    return path


def test_numbers_of_tokens_or_text_are_printed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoder = qnn.decoder(model, max_length=80)
    expected = decoder.generate(PROMPT, 12)
    ids = ",".join(map(str, PROMPT))
    done = run(model, "--prompt-ids", ids, "--max-new-tokens", 12, "--max-length", 80)
    assert (done.exit_code, done.stdout) == (0, ",".join(map(str, expected)) + "\n")
    options = ("--max-new-tokens", 12, "--max-length", 80, "--temperature", 2, "--seed", 5)
    decoder.reset()
    # By its name in tvm_qnn.text it is the function.
    module = importlib.import_module("tvm_qnn.text.decoder")
    monkeypatch.setattr(module, "decoder", lambda *_, **_known: decoder)  # compiled before
    done = run(model, "--prompt", bytes(PROMPT).decode(), *options)
    decoder.reset()
    text = bytes(decoder.generate(PROMPT, 12, temperature=2, seed=5)).decode(errors="replace")
    assert done.stdout == text + "\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give either --prompt or --prompt-ids"),
        (("--prompt", "a", "--prompt-ids", "1"), "give either --prompt or --prompt-ids"),
        (("--prompt-ids", "1,x"), "'1,x' is not of the form 1,2,3"),
    ],
)
def test_wrong_usage_is_one_error(model: Path, options: tuple[str, ...], message: str) -> None:
    done = run(model, *options)
    assert done.exit_code == 2
    assert message in done.stderr
