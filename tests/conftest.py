"""What all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first example of a property often pays for a compilation: no time limit per example. In
# continuous integration the examples are the same each time, so that a change is judged by what
# it changes; elsewhere each run tries new ones.
settings.register_profile("project", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("project")

# Tests compile what they test, and leave nothing in the user's cache of builds.
os.environ["TVM_QNN_CACHE"] = "0"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real models and pictures beside the checkout; not part of the project."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"the real models are not there: no folder {folder}")
    return folder
