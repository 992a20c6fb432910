"""Packaging of tvm-qnn-runtime, in the folder that tools/runtime_wheel.py fills."""

import json
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel

HERE = Path(__file__).parent
FIELDS = json.loads((HERE / "setup.json").read_text(encoding="utf-8"))
PLATFORM = FIELDS.pop("platform")


class Binary(Distribution):
    """A distribution with machine code, that of TVM's library."""

    def has_ext_modules(self) -> bool:
        """Answer yes."""
        return True


class Wheel(bdist_wheel):
    """A wheel for any Python on one platform: TVM's library knows no Python."""

    def get_tag(self) -> tuple[str, str, str]:
        """Name the platform of TVM's wheel."""
        return "py3", "none", PLATFORM


setup(
    **FIELDS,
    long_description=(HERE / "README.md").read_text(encoding="utf-8"),
    packages=find_packages(include=["tvm_qnn*", "qnn_ops*"]),
    package_data={"": ["py.typed"], "tvm_qnn": ["lib/*"]},
    license_files=["LICENSE", "apache-tvm/*"],
    entry_points={"console_scripts": ["tvm-qnn-runtime = tvm_qnn.cli.device:main"]},
    distclass=Binary,
    cmdclass={"bdist_wheel": Wheel},
)
