"""The text that the language model learns: this project's pages, and Python's own help."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[2]


def corpus() -> npt.NDArray[np.uint8]:
    """Return the bytes of all pages.

    Python's help is what `help("while")` prints. It comes with Python, under the PSF's license.
    """
    from pydoc_data.topics import topics

    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    paths += sorted((ROOT / "docs" / "guides").glob("*.md"))
    pages = [path.read_text(encoding="utf-8") for path in paths]
    pages += [topics[name] for name in sorted(topics)]
    return np.frombuffer("\n\n".join(pages).encode(), np.uint8)
