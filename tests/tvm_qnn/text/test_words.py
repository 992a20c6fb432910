import json
from pathlib import Path
from typing import Any

import pytest

from qnn_ops.errors import QnnError
from tvm_qnn.text.words import words_of


def test_tokens_of_a_model_of_256_are_bytes_and_others_need_a_tokenizer(tmp_path: Path) -> None:
    words = words_of(tmp_path / "model.onnx", 256)
    assert words.encode("né") == [110, 195, 169]
    assert words.decode([110, 195, 169]) == "né"
    assert words.decode([110, 195]) == "n\ufffd"
    with pytest.raises(QnnError, match=r"text needs tokenizer\.json beside .*model\.onnx"):
        words_of(tmp_path / "model.onnx", 300)


def test_a_file_of_the_package_tokenizers_is_read(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    model = {"type": "WordLevel", "vocab": {"a": 5, "b": 7, "?": 0}, "unk_token": "?"}
    parts: dict[str, Any] = {
        "version": "1.0",
        "model": model,
        "pre_tokenizer": {"type": "Whitespace"},
    }
    parts |= dict.fromkeys(("normalizer", "post_processor", "decoder"))
    parts |= {"added_tokens": []}
    (tmp_path / "tokenizer.json").write_text(json.dumps(parts), encoding="utf-8")
    words = words_of(tmp_path, 8)
    assert words.encode("b a") == [7, 5]
    assert words.decode([7, 5]) == "b a"
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(QnnError, match="is no tokenizer"):
        words_of(tmp_path, 8)
