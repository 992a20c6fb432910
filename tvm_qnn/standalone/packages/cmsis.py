"""A CMSIS-Pack: a folder with its description, which cpackget and the tools of Arm take."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from tvm_qnn.standalone.packages.package import VERSION, Package, sentence
from tvm_qnn.standalone.sources import Program

_SCHEMA = "1.7.7"
_KINDS = {"h": "header", "hpp": "header", "c": "source", "o": "object"}


def _texts(program: Program) -> dict[str, str]:
    name = program.prefix
    # As the packs of devices name their cores: Cortex-M0+, Cortex-M4.
    core = str(program.target.attrs["mcpu"]).replace("plus", "+").title()
    files = "\n".join(
        f'        <file category="{kind}" name="{name}.{end}"/>' for end, kind in _KINDS.items()
    )
    described = f"<description>{escape(sentence(program))}</description>"
    return {
        f"tvm-qnn.{name}.pdsc": f"""\
<?xml version="1.0" encoding="UTF-8"?>
<package schemaVersion="{_SCHEMA}">
  <vendor>tvm-qnn</vendor>
  <name>{name}</name>
  {described}
  <url/>
  <releases>
    <release version="{VERSION}">As it was compiled.</release>
  </releases>
  <conditions>
    <condition id="core">
      <require Dcore={quoteattr(core)}/>
    </condition>
  </conditions>
  <components>
    <component Cclass="Machine Learning" Cgroup="Model" Csub="{name}" Cversion="{VERSION}" \
condition="core">
      {described}
      <files>
{files}
      </files>
    </component>
  </components>
</package>
"""
    }


PACKAGE = Package(_texts, "Cortex-M", r"thumb")
