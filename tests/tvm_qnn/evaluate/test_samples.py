from pathlib import Path

from tests.support.errors import failing, giving
from tvm_qnn.evaluate.samples import Classes, Sample

NAMED = Classes(3, ("ant", "bee", "bee"))


test_labels_are_names_or_numbers = giving(
    lambda classes, label: classes.index(label, "x"),
    (NAMED, "ant", 0),
    (NAMED, "2", 2),
    (NAMED, 1, 1),
    (Classes(1001, offset=1), 0, 1),
    (Classes(2, ("1", "0")), "1", 0),
)


test_others_are_none = failing(
    lambda classes, label: classes.index(label, "here"),
    (NAMED, "wasp", "here: label 'wasp' is no class: it is none of the model's$"),
    (Classes(3), "wasp", "name them with --labels"),
    (NAMED, "bee", "2 classes are named 'bee'"),
    (NAMED, 3, "label 3 is out of range: the model has 3 classes, 0 to 2"),
    (NAMED, -1, "out of range"),
    (Classes(1001, offset=1), 1000, "-1 to 999"),
)


def test_a_key_changes_with_the_file_and_with_the_truth(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1")
    keys = {Sample(path, "", label=label).key() for label in (1, 2)}
    path.write_bytes(b"12")
    assert len({*keys, Sample(path, "", label=1).key()}) == 3
