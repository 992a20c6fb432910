"""``relay.frontend.pytorch_utils``, as far as scripts use it."""

import re
from importlib.metadata import version


def is_version_greater_than(ver: str) -> bool:
    """Tell whether the installed PyTorch is newer than a version, such as "1.7.1"."""
    return _numbers(version("torch")) > _numbers(ver)


def _numbers(text: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", text.partition("+")[0])]
