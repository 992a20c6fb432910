"""Times text generation, token by token, in tvm-qnn and ONNX Runtime; compares the tokens.

On one core, in turn: a prompt, then single tokens. ONNX Runtime runs twice: with a past that
grows, and with a past and a present that share a buffer::

    python -m benchmarks.bench_tokens
    python -m benchmarks.bench_tokens my_decoder.onnx --tokens 500
"""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

import tvm_qnn as qnn
from benchmarks import goals
from benchmarks.machine import setting
from benchmarks.race_report import setting_lines
from benchmarks.report import as_table, markdown, markdown_table, terminal
from tvm_qnn import prose
from tvm_qnn.io.outputs import write_text
from tvm_qnn.timing import milliseconds, one_core

_HEADER = [
    *("model", "the same tokens", "tvm-qnn, ms a token", "past grows", "buffer shared", "ratio"),
    *("prompt: tvm-qnn, ms", "ONNX Runtime, ms", "ratio"),
]

Step = Callable[[Any], Any]
"""Reads tokens; returns the scores of the token after the last one."""


@click.command()
@click.argument("models", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--prompt", default=256, show_default=True, type=click.IntRange(min=1))
@click.option("--tokens", default=200, show_default=True, type=click.IntRange(min=2))
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--output",
    default=Path("out"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for tokens.md.",
)
def main(models: Sequence[Path], prompt: int, tokens: int, rounds: int, output: Path) -> None:
    """Time MODELS, by default the trained ones, with 4 and with 8 bits."""
    rows = []
    for path in models or [prose.model(style) for style in prose.STYLES]:
        # This comes first: ONNX Runtime would choose other kernels if it found a single core.
        session, is_grouped = _session(path), _is_grouped(path)
        decoder = qnn.decoder(path, num_threads=1, max_length=prompt + tokens)
        ids = np.random.default_rng(3).integers(0, decoder.vocabulary, prompt)
        texts: dict[str, list[int]] = {}
        prompts: dict[str, list[float]] = {}
        singles: dict[str, list[float]] = {}
        with one_core():
            for _ in range(rounds):
                decoder.reset()
                steps = {"ours": _here(decoder), "grown": _growing(session)}
                if is_grouped:
                    steps["shared"] = _shared(session, prompt + tokens)
                for name, step in steps.items():
                    texts[name], (first, *others) = _written(step, ids, tokens)
                    prompts.setdefault(name, []).append(first)
                    singles.setdefault(name, []).extend(others)
        same = sum(a == b for a, b in zip(texts["ours"], texts["grown"], strict=True))
        ours, *medians = (statistics.median(singles[name]) for name in texts)
        first, *theirs = (min(prompts[name]) for name in texts)
        told = [*map(milliseconds, medians), "–"][:2]
        row = [path.name, f"{same} of {tokens}", milliseconds(ours), *told]
        row += [goals.beside(ours / min(medians), goals.TOKEN)]
        row += [milliseconds(first), milliseconds(min(theirs))]
        rows.append([*row, goals.beside(first / min(theirs), goals.PROMPT)])
    title = f"A prompt of {prompt} tokens, then {tokens} tokens"
    terminal().print(as_table(_HEADER, rows, title))
    output.mkdir(parents=True, exist_ok=True)
    lines = setting_lines(setting(["onnx", "onnxruntime"]), 1)
    write_text(output / "tokens.md", markdown(lines, markdown_table(_HEADER, rows)))


def _written(step: Step, ids: Any, count: int) -> tuple[list[int], list[float]]:
    """Return the likeliest tokens, and the CPU seconds of each."""
    found, seconds = [], []
    for _ in range(count):
        start = time.thread_time()
        found.append(int(step(ids).argmax()))
        seconds.append(time.thread_time() - start)
        ids = np.array(found[-1:])
    return found, seconds


def _here(decoder: qnn.Decoder) -> Step:
    return lambda ids: decoder.step(ids)[-1]


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])


def _is_grouped(path: Path) -> bool:
    """Tell whether past and present of a model can share a buffer."""
    import onnx

    nodes = onnx.load(path, load_external_data=False).graph.node
    return any(node.op_type == "GroupQueryAttention" for node in nodes)


def _pasts(session: Any, length: int) -> dict[str, Any]:
    return {
        each.name: np.zeros((1, each.shape[1], length, each.shape[3]), np.float32)
        for each in session.get_inputs()
        if each.name.startswith("past_")
    }


def _given(session: Any, ids: Any, begin: int) -> dict[str, Any]:
    """Return the inputs other than the past."""
    end = begin + len(ids)
    known = {
        "input_ids": ids[None],
        "attention_mask": np.ones((1, end), np.int64),
        "position_ids": np.arange(begin, end)[None],
    }
    return {each.name: known[each.name] for each in session.get_inputs() if each.name in known}


def _growing(session: Any) -> Step:
    past, begin = _pasts(session, 0), 0

    def step(ids: Any) -> Any:
        nonlocal past, begin
        scores, *presents = session.run(None, {**_given(session, ids, begin), **past})
        past, begin = dict(zip(past, presents, strict=True)), begin + len(ids)
        return scores[0, -1]

    return step


def _shared(session: Any, length: int) -> Step:
    import onnxruntime

    make = onnxruntime.OrtValue.ortvalue_from_numpy
    buffers = {name: make(array) for name, array in _pasts(session, length).items()}
    begin = 0

    def step(ids: Any) -> Any:
        nonlocal begin
        binding = session.io_binding()
        for name, array in _given(session, ids, begin).items():
            binding.bind_cpu_input(name, array)
        for name, buffer in buffers.items():
            binding.bind_ortvalue_input(name, buffer)
            present = name.replace("past_key_values", "present")
            binding.bind_ortvalue_output(present, buffer)
        binding.bind_output("logits")
        session.run_with_iobinding(binding)
        begin += len(ids)
        return binding.get_outputs()[-1].numpy()[0, -1]

    return step


if __name__ == "__main__":
    main()
