"""Writes the C files of a standalone export."""

import re

import numpy as np

from legalize.call_plan import Call, Constant, Input, Output, Place, Temporary
from tvm_qnn.standalone.arrangement import size_of
from tvm_qnn.standalone.header import header
from tvm_qnn.standalone.program import Program, c_type

_MOST_CALLS = 100  # of a function, which then stays below 300 lines


def files(program: Program) -> dict[str, str]:
    """Return the header and the support code, by the files' names."""
    prefix = program.prefix
    return {f"{prefix}.h": header(program), f"{prefix}.c": _support(program)}


def _support(program: Program) -> str:
    m, prefix = program.macro, program.prefix
    is_real = program.code is not None and re.search(r"\bNAN\b|\bINFINITY\b", program.code)
    maths = "#include <math.h>\n" if program.code is not None and (program.needs or is_real) else ""
    parts, body = _calls(program)
    what = "The layers of a quantized model, and the function that calls them in their order."
    if program.code is None:
        what = f"Calls the functions of {prefix}.o, in their order."
    size = program.state_size
    change = f"  memcpy(kept, kept + {size}, {size});\n" if program.signature.states else ""
    return f"""\
/* {what} */
#include "{prefix}.h"

{maths}#include <stdint.h>
#include <string.h>

{_callees(program)}
/* Define {m}_HOOK as the name of a function of yours, to follow a run: it gets the number and the
 * layer's name of each call before it, and how many there were and a null pointer at the end. */
#ifdef {m}_HOOK
extern void {m}_HOOK(int call, const char *layer);
#else
#define {m}_HOOK(call, layer) ((void)0)
#endif

static int is_wrong(const void *pointer) {{
  return !pointer || (uintptr_t)pointer % {m}_ALIGNMENT;
}}

{_reset(program)}{parts}int {prefix}_run({program.arguments}) {{
{_pointers(program)}
{_checks(program)}  (void)memory;

{body}
  {m}_HOOK({len(program.plan.calls)}, 0);
{change}  return 0;
}}
"""


def _pointers(program: Program) -> str:
    """Declare the variables from which the calls take their pointers."""
    constants = ""
    if program.code is None:
        constants = f"  const unsigned char *const constants = {program.weights};\n"
        constants += "  (void)constants;\n"
    text = f"{constants}  unsigned char *const memory = (unsigned char *)workspace;\n"
    if program.signature.states:
        text += "  unsigned char *const kept = (unsigned char *)state;\n"
    return text


def _calls(program: Program) -> tuple[str, str]:
    """Return functions of some calls each, if there are many, and the body that runs all calls."""
    made = [_hooked(program, number, call) for number, call in enumerate(program.plan.calls)]
    if len(made) <= _MOST_CALLS:
        return "", "\n".join(made)
    names = re.findall(r"\w+(?=\[\]|,|$)", program.arguments)
    unused = "".join(f"  (void){name};\n" for name in names)
    unused += "  (void)kept;\n" if program.signature.states else ""
    functions, calls = [], []
    for begin in range(0, len(made), _MOST_CALLS):
        text = "\n".join(made[begin : begin + _MOST_CALLS])
        name = f"{program.prefix}_run_from_{begin}"
        functions.append(
            f"static void {name}({program.arguments}) {{\n{_pointers(program)}\n"
            f"{unused}  (void)memory;\n\n{text}\n}}\n\n"
        )
        calls.append(f"  {name}({', '.join(names)});")
    return "".join(functions), "\n".join(calls)


def _callees(program: Program) -> str:
    """Declare the constants and functions of an object file, or write the functions in C."""
    if program.code is not None:
        return f"{constant_declarations(program)}\n{program.code}"
    functions = {}
    for call in program.plan.calls:
        if call.function:
            shifts = program.arranged.members_of(call)[1:]
            kinds = [
                "int32_t" if i in shifts else "const void *" for i in range(len(call.arguments))
            ]
            kinds += ["int32_t"] * len(_numbers(program, call))
            functions[_symbol(program, call)] = ", ".join(kinds)
    lines = [f"extern const unsigned char {program.weights}[];"]
    lines += [f"extern void {symbol}({kinds});" for symbol, kinds in functions.items()]
    return "\n".join(lines) + "\n"


def constant_declarations(program: Program) -> str:
    """Declare the constants of plain C with C's linkage, also for C++."""
    names = [
        f"extern const {c_type(str(each.numpy().dtype))} {program.constant(number)}[];"
        for number, each in enumerate(program.plan.constants)
    ]
    if program.signature.states:
        names.append(f"extern const uint8_t {program.initial}[];")
    lines = ["#ifdef __cplusplus", 'extern "C" {', "#endif", *names]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif"]) + "\n"


def _reset(program: Program) -> str:
    if not program.signature.states:
        return ""
    begin = program.initial
    if program.code is None:
        begin = f"{program.weights} + {program.offsets[len(program.plan.constants)]}"
    return f"""\
int {program.prefix}_reset(void *state) {{
  if (is_wrong(state)) return 1;
  memcpy(state, {begin}, {program.state_size});
  return 0;
}}

"""


def _checks(program: Program) -> str:
    state = "  if (is_wrong(state)) return 1;\n" if program.signature.states else ""
    text = f"{state}  if (is_wrong(workspace)) return 1;\n"
    if program.arranged.arena is not None:
        return text
    return f"""\
{text}  for (int i = 0; i < {len(program.signature.inputs)}; i++)
    if (is_wrong(inputs[i])) return 1;
  for (int i = 0; i < {len(program.signature.outputs)}; i++)
    if (is_wrong(outputs[i])) return 1;
"""


def _hooked(program: Program, number: int, call: Call) -> str:
    name = program.arranged.symbols[call.function] if call.function else "memcpy"
    name = program.names[number] if program.names is not None else name
    return f"  {program.macro}_HOOK({number}, {_c_string(name)});\n{_call(program, call)}"


def _c_string(text: str) -> str:
    """Write a text as a string in C; question marks are escaped, so that none begins a trigraph."""

    def written(byte: int) -> str:
        is_plain = 0x20 <= byte < 0x7F and byte not in b'"\\?'
        return chr(byte) if is_plain else f"\\{byte:03o}"

    return f'"{"".join(map(written, text.encode(errors="replace")))}"'


def _call(program: Program, call: Call) -> str:
    arguments = [_pointer(program, place) for place in call.arguments]
    if call.function:
        arguments = [_shift(program, call, i) or text for i, text in enumerate(arguments)]
        arguments += map(str, _numbers(program, call))
        return f"  {_symbol(program, call)}({', '.join(arguments)});"
    to = call.arguments[0]
    if isinstance(to, Temporary):
        size = program.plan.temporaries[to.number]
    else:
        results = (*program.signature.outputs, *program.signature.states)
        size = size_of(results[to.number])
    return f"  memcpy({', '.join(arguments)}, {size});"


def _symbol(program: Program, call: Call) -> str:
    arranged = program.arranged
    name, _ = arranged.merged.calls[arranged.name_of(call)]
    return str(arranged.merged.functions[name].attrs["global_symbol"])


def _numbers(program: Program, call: Call) -> tuple[int, ...]:
    """Return the numbers that a call's function takes after its pointers."""
    _, numbers = program.arranged.merged.calls[program.arranged.name_of(call)]
    return numbers


def _shift(program: Program, call: Call, number: int) -> str | None:
    """Return an argument's distance in elements from the first member; None if it is no member."""
    members = program.arranged.members_of(call)
    if number not in members[1:]:
        return None
    begins = [
        program.arranged.layout.offsets[place.number]
        for place in (call.arguments[members[0]], call.arguments[number])
        if isinstance(place, Temporary)
    ]
    dtype = program.arranged.compiled.functions[call.function or ""].params[number].dtype
    return str((begins[1] - begins[0]) // np.dtype(str(dtype)).itemsize)


def _pointer(program: Program, place: Place) -> str:
    if isinstance(place, Input):
        state = place.number - len(program.signature.inputs)
        return f"inputs[{place.number}]" if state < 0 else f"kept + {program.state_offsets[state]}"
    if isinstance(place, Output):
        state = place.number - len(program.signature.outputs)
        if state < 0:
            return f"outputs[{place.number}]"
        return f"kept + {program.state_size + program.state_offsets[state]}"
    if isinstance(place, Constant) and program.code is not None:
        return program.constant(place.number)
    if isinstance(place, Constant):
        return f"constants + {program.offsets[place.number]}"
    return f"memory + {program.arranged.layout.offsets[place.number]}"
