"""What a hostile file is, and where it is kept."""

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Case:
    """One hostile model.

    Attributes:
        name: of its files, without their endings; it begins with the importer's name.
        files: by ending.
        error: the class of the error; empty where the model is a valid one after all.
        message: a part of the error's message.
    """

    name: str
    files: dict[str, bytes]
    error: str
    message: str
