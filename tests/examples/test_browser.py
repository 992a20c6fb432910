import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.commands import said
from tests.support.wasm import link, needs_wasm, run
from tvm_qnn import build, from_tflite
from tvm_qnn.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "browser"

_LISTEN = """\
import { readFileSync } from "node:fs";
import { featuresOf, listen, load, samplesOf } from "./keywords.mjs";
const file = readFileSync("words.wav");
const bytes = file.buffer.slice(file.byteOffset, file.byteOffset + file.length);
const chances = listen(await load(readFileSync("keywords.wasm")), bytes);
console.log(JSON.stringify({ chances, features: Array.from(featuresOf(samplesOf(bytes))) }));
"""
_READ = """\
import { samplesOf } from "./keywords.mjs";
try {
  samplesOf(new Uint8Array(CONTENT).buffer);
} catch (error) {
  console.log(error.message);
}
"""


@pytest.fixture(scope="module")
def page(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the page as the guide says."""
    folder = tmp_path_factory.mktemp("browser")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    shutil.copy(shared / "models" / "tflite" / "kws_i8.tflite", folder / "keywords.tflite")
    arguments = ["compile", str(folder / "keywords.tflite"), "--target", "wasm32", "--arena"]
    said(main, [*arguments, "-o", str(folder / "c")])
    sources = [folder / "model.c", *(folder / "c" / f"keywords.{end}" for end in ("c", "o"))]
    link(folder / "keywords.wasm", "-mexec-model=reactor", f"-I{folder / 'c'}", *sources)
    with wave.open(str(folder / "words.wav"), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(sound().astype("<i2").tobytes())
    return folder


def sound() -> np.ndarray:
    """Return 0.9 seconds of a rising tone."""
    time = np.arange(14400) / 16000
    rng = np.random.default_rng(0)
    tone = np.sin(2 * np.pi * (300 + 600 * time) * time) * np.sin(np.pi * time / 0.9)
    return np.round(9000 * tone + rng.normal(0, 100, len(time)))


def features(samples: np.ndarray) -> np.ndarray:
    """Return the function on which the model was trained, computed by numpy."""
    padded = np.pad(samples / samples.max(), (0, 16000 - len(samples)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 480)[::320]
    spectra = np.abs(np.fft.rfft(windows * np.hanning(481)[:-1], 512))
    mels = 1127 * np.log1p(np.arange(257) * 16000 / 512 / 700)
    low, high = 1127 * np.log1p(np.array([20, 4000]) / 700)
    edges = np.linspace(low, high, 42)
    rise = (mels[:, None] - edges[:-2]) / np.diff(edges)[:-1]
    fall = (edges[2:] - mels[:, None]) / np.diff(edges)[1:]
    weights = np.maximum(0, np.minimum(rise, fall))
    weights[0] = 0
    logs = np.log(spectra @ weights + 1e-6)
    angles = np.pi / 80 * np.outer(2 * np.arange(40) + 1, np.arange(10))
    return logs @ np.cos(angles) / np.sqrt(20)


@needs_wasm
def test_the_chances_are_the_library_s(page: Path) -> None:
    found = json.loads(run(_LISTEN, page))
    numbers = np.array(found["features"]).reshape(49, 10)
    np.testing.assert_allclose(numbers, features(sound()), rtol=0, atol=1e-9)
    library = build(*_module(page))
    (info,) = library.inputs
    assert info.scale is not None
    assert info.zero_point is not None
    levels = np.round(numbers / info.scale) + info.zero_point
    scores: Any = library.run(levels.clip(-128, 127).astype(np.int8).reshape(info.shape))
    assert found["chances"] == ((scores.astype(int) + 128) / 256).ravel().tolist()


def _module(page: Path) -> tuple[Any, str, Any]:
    mod, params = from_tflite(page / "keywords.tflite")
    return mod, "host", params


@needs_wasm
def test_a_browser_shows_the_words(page: Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium on the path")
    chances = json.loads(run(_LISTEN, page))["chances"]
    serve = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(page))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/index.html?file=words.wav"
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={page / 'user'}",
        ]
        words = [browser, *options, "--virtual-time-budget=20000", "--dump-dom", address]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        server.shutdown()
    shown = re.findall(r"(\d\.\d\d) \S", done.stdout)
    assert shown == [f"{chance:.2f}" for chance in sorted(chances, reverse=True)]


@pytest.mark.skipif(not shutil.which("node"), reason="no node on the path")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no wave file"),
        (b"RIFF\0\0\0\0WAVE", "no samples in the file"),
        (b"RIFF\0\0\0\0WAVEdata\x02\0\0\0\0\0", "no samples in the file"),
    ],
)
def test_other_files_are_told(content: bytes, message: str, tmp_path: Path) -> None:
    shutil.copy(EXAMPLE / "keywords.mjs", tmp_path)
    assert run(_READ.replace("CONTENT", str([*content])), tmp_path) == f"{message}\n"


@pytest.mark.skipif(not shutil.which("node"), reason="no node on the path")
def test_another_rate_is_told(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "other.wav"), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(8))
    content = [*(tmp_path / "other.wav").read_bytes()]
    shutil.copy(EXAMPLE / "keywords.mjs", tmp_path)
    said = run(_READ.replace("CONTENT", str(content)), tmp_path)
    assert said == "needs 16 bits at 16000 samples a second, got 16 at 8000\n"
