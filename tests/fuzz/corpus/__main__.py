"""Writes the corpus: python -m tests.fuzz.corpus."""

import json

from tests.fuzz.corpus import onnx_cases, tflite_cases
from tests.fuzz.corpus.case import FOLDER


def main() -> None:
    """Write every case's files, and the expected outcomes, into the folder of files."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.iterdir():
        old.unlink()
    expected = {}
    for case in [*tflite_cases.cases(), *onnx_cases.cases()]:
        assert case.name not in expected, f"there are two of {case.name}"
        expected[case.name] = {"error": case.error, "message": case.message}
        for ending, content in case.files.items():
            (FOLDER / f"{case.name}.{ending}").write_bytes(content)
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
