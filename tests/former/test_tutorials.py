from pathlib import Path

import pytest

from tests.former.tutorials import run

SCRIPT = """
import tarfile, tensorflow
from tvm.contrib.download import download_testdata
from tvm import relay

path = download_testdata("https://example.org/net.tgz", "net.tgz", module="tf")
with tarfile.open(path) as archive:
    content = archive.extractfile("mobilenet_v1_1.0_224.tflite").read()
with open(download_testdata("https://example.org/labels", "labels.txt")) as file:
    assert len(file.readlines()) == 1001
mod, params = relay.frontend.from_tflite(content, {"input": (1, 224, 224, 3)})
"""


@pytest.mark.filterwarnings("ignore:no tensor of this model is quantized")
def test_a_tutorial_runs_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "compile_models/from_tflite.py"
    file.parent.mkdir()
    (tmp_path / "run").mkdir()
    file.write_text(SCRIPT)
    run(file, tmp_path / "run")
    file.write_text(f"{SCRIPT}\nraise ValueError('the end')")
    with pytest.raises(ValueError, match="the end"):
        run(file, tmp_path / "run")
