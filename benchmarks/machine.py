"""The setting of a measurement: machine, versions and date."""

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tvm_qnn.target.target import host_target

PACKAGES = ("tvm-qnn", "apache-tvm", "ai-edge-litert", "numpy")

FEATURES = (
    *("sse4_1", "avx2", "avx_vnni", "avx512bw", "avx512_vnni", "amx_int8"),
    *("asimd", "asimddp", "i8mm", "sve"),
)
"""Linux's names of the instruction sets that multiply 8-bit integers."""


@dataclass(frozen=True)
class Setting:
    """The machine, the versions and the date above a table of figures."""

    processor: str
    target: str
    features: tuple[str, ...]
    cores: int
    system: str
    versions: dict[str, str]
    date: str

    def lines(self) -> list[str]:
        """Return the setting as lines of text."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        return [f"{self.processor} ({self.target}), one core", self.system, versions, self.date]

    def to_json(self) -> dict[str, object]:
        """Return the setting as fields."""
        return asdict(self)


def setting(packages: Sequence[str] = PACKAGES) -> Setting:
    """Describe this machine, the versions of these packages, and today."""
    flags = (_cpuinfo("flags") or _cpuinfo("Features") or "").split()
    return Setting(
        processor=_cpuinfo("model name") or platform.processor() or platform.machine(),
        target=str(host_target().attrs["mcpu"]),
        features=tuple(name for name in FEATURES if name in flags),
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        versions={name: found for name in packages if (found := _version(name))},
        date=datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    )


def _cpuinfo(key: str) -> str | None:
    """Read a line about the first processor from /proc/cpuinfo."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == key:
                return value.strip()
    return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
