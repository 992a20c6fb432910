"""Writes a C++ class over the C interface of a standalone export."""

from qnn_ops.dialect.tensor_info import TensorInfo
from tvm_qnn.standalone.program import Program, c_type


def class_name(program: Program) -> str:
    """Return the name of a model's class."""
    return f"{program.prefix}_model"


def cpp_header(program: Program) -> str:
    """Return the header with the class."""
    m, prefix, signature = program.macro, program.prefix, program.signature
    arena = program.arranged.arena
    ends = ("input", signature.inputs), ("output", signature.outputs)
    accessors = "".join(
        _accessor(m, kind, number, info, in_workspace=arena is not None)
        for kind, infos in ends
        for number, info in enumerate(infos)
    )
    blocks = {"workspace_": f"{m}_WORKSPACE_SIZE"}
    arguments = ["workspace_"]
    before = ""
    if arena is None:
        for kind, infos in ends:
            blocks |= {f"{kind}{i}_": f"{m}_{kind.upper()}_{i}_SIZE" for i in range(len(infos))}
        names = {kind: ", ".join(f"{kind}{i}_" for i in range(len(infos))) for kind, infos in ends}
        before = f"""\
    const void *inputs[] = {{{names["input"]}}};
    void *outputs[] = {{{names["output"]}}};
"""
        arguments = ["inputs", "outputs", *arguments]
    reset = ""
    if signature.states:
        blocks["state_"] = f"{m}_STATE_SIZE"
        arguments.append("state_")
        reset = f"""
  /* Begin a stream of runs: before the first one, and wherever another stream begins. */
  bool reset() {{ return !{prefix}_reset(state_); }}
"""
    memory = "\n".join(
        f"  alignas({m}_ALIGNMENT) unsigned char {name}[{size}];" for name, size in blocks.items()
    )
    return f"""\
/* The model of {prefix}.h as a class of C++11.
 * All its memory is in the object, so a static one is best. */
#ifndef {m}_HPP
#define {m}_HPP

#include <stdint.h>

#include "{prefix}.h"

class {class_name(program)} {{
 public:
{accessors}{reset}
  /* Run the model once; false if it did not run, which a whole object always does. */
  bool run() {{
{before}    return !{prefix}_run({", ".join(arguments)});
  }}

 private:
{memory}
}};

#endif
"""


def _accessor(m: str, kind: str, number: int, info: TensorInfo, *, in_workspace: bool) -> str:
    macro = f"{m}_{kind.upper()}_{number}"
    place = f"workspace_ + {macro}_OFFSET" if in_workspace else f"{kind}{number}_"
    dtype = c_type(info.dtype)
    return f"""\
  {dtype} *{kind}{number}() {{ return reinterpret_cast<{dtype} *>({place}); }}
"""
