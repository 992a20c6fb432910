"""On what, with what and when something was measured."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tvm_qnn.target import host_target

PACKAGES = ("tvm-qnn", "apache-tvm", "ai-edge-litert", "numpy")


@dataclass(frozen=True)
class Setting:
    """What stands above a table of figures."""

    processor: str
    target: str
    system: str
    versions: dict[str, str]
    date: str

    def lines(self) -> list[str]:
        """The same as text."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return [f"{self.processor} ({self.target}), one core", self.system, versions, self.date]

    def to_json(self) -> dict[str, object]:
        """The same as fields."""
        return asdict(self)


def setting() -> Setting:
    """This machine, these packages and today."""
    return Setting(
        processor=_processor(),
        target=str(host_target().attrs["mcpu"]),
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        versions={name: found for name in PACKAGES if (found := _version(name))},
        date=datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
