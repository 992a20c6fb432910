"""Writes one TIR function as C99."""

import re
import textwrap
from math import prod
from typing import Any

import tvm
from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm.target.codegen import llvm_get_intrinsic_name

from legalize.kernels.isa.mcu import NUMBER
from legalize.kernels.kernel import IS_KERNEL
from qnn_ops.errors import QnnError
from tvm_qnn.standalone.c99.memory import (
    buffer_in,
    does_nothing,
    dtype_of,
    element_in,
    is_zero,
    lanes,
    magnitude,
    may_fail,
    memory_in,
    memory_of,
    scalar_dtype,
)
from tvm_qnn.standalone.c99.source import Source, c_number, c_type

_RESERVED = frozenset(
    word
    for words in (
        "asm auto bool break case catch char class const continue default delete do double else",
        "enum export extern false float for friend goto if inline int long mutable namespace new",
        "operator private protected public register restrict return short signed sizeof static",
        "struct switch template this throw true try typedef typeid typename union unsigned using",
        "virtual void volatile while memcpy memset abs div main",
    )
    for word in words.split()
)
"""Words of C and C++, and names of C's library: no variable may have them."""

_COMPARISONS: dict[type, str] = {
    tirx.EQ: "==",
    tirx.NE: "!=",
    tirx.LT: "<",
    tirx.LE: "<=",
    tirx.GT: ">",
    tirx.GE: ">=",
    tirx.And: "&&",
    tirx.Or: "||",
}
_ARITHMETIC: dict[type, str] = {
    tirx.Add: "+",
    tirx.Sub: "-",
    tirx.Mul: "*",
    tirx.Div: "/",
    tirx.Mod: "%",
    tirx.BitwiseAnd: "&",
    tirx.BitwiseOr: "|",
    tirx.BitwiseXor: "^",
    tirx.RShift: ">>",
}
_CHOICES = {tirx.Min: ("min", "<"), tirx.Max: ("max", ">")}

REALS = frozenset(
    name
    for names in (
        "fabs nearbyint round trunc floor ceil sqrt exp exp2 log log2 log10 log1p pow sin cos tan",
        "sinh cosh tanh asin acos atan asinh acosh atanh atan2 erf fmod fma copysign hypot ldexp",
    )
    for name in names.split()
)
"""Functions of real numbers with equal names in TIR and C; C's for float32 end in f."""

_TESTS = frozenset({"isnan", "isinf", "isfinite"})
"""Macros of C's library for any real type."""

_SMALL = ("int8", "uint8", "int16", "uint16")  # C computes with them as int

_LANE = "lane"

_INT64 = {"int64": 2**63}  # types that may wrap, and the first number beyond each


def _bare(text: str) -> str:
    """Remove the brackets around a whole expression."""
    if not text.startswith("("):
        return text
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if index == len(text) - 1 else text
    return text


def _declared_together(text: str) -> str:
    """Put neighbouring declarations of a type on one line: functions of many sums stay short."""

    def join(found: re.Match[str]) -> str:
        pad, kind = found[1], found[2]
        names = ", ".join(re.findall(rf"{kind} (\S+);", found[0]))
        first, rest = f"{pad}{kind} ", f"{pad}    "
        return textwrap.fill(names, 100, initial_indent=first, subsequent_indent=rest) + ";\n"

    return re.sub(r"^( +)(\w+_t|float|double) \S+;\n(?:\1\2 \S+;\n)+", join, text, flags=re.M)


class Function:
    """One function that is being written in C.

    Variables and buffers are identified by TVM's hash, which depends on their identity.
    """

    def __init__(self, source: Source, function: tirx.PrimFunc) -> None:
        self._source = source
        self._function = function
        self._names: dict[int, str] = {}
        self._taken = {*_RESERVED, *REALS, *(f"{name}f" for name in REALS), *_TESTS, _LANE}
        self._scalars: set[int] = set()
        self._inlined: dict[int, Any] = {}
        self._before: list[str] = []  # declarations to write before the present statement
        self._choices = 0  # choices around the present expression
        # A kernel's sums fit into int32, and its indices are inside their buffers.
        is_kernel = IS_KERNEL in function.attrs
        self._wraps = _INT64 if is_kernel else {**_INT64, "int32": 2**31}
        self._magnitudes: dict[int, int] = {}  # of variables
        self._tensors: list[str] = []
        self._memory = memory_of(function)
        for parameter in function.params:
            self._names[hash(parameter)] = self._new(parameter.name)

    def text(self, note: str) -> str:
        """Return the function, with a comment that has a note and the tensors."""
        body = _declared_together(self._statement(self._function.body, 1))
        parameters = ", ".join(map(self._parameter, self._function.params))
        lines = "".join(f" * {line}\n" for line in (note, *self._tensors))
        words = set(re.findall(r"\w+", body))
        names = map(self._name_of, self._function.params)
        body += "".join(f"  (void){name};\n" for name in names if name not in words)
        return f"/*\n{lines} */\nstatic void {self.symbol}({parameters}) {{\n{body}}}\n"

    @property
    def symbol(self) -> str:
        """The name of the function."""
        return str(self._function.attrs["global_symbol"])

    def _name_of(self, var: Any) -> str:
        return self._names[hash(var)]

    def _parameter(self, var: tirx.Var) -> str:
        name = self._name_of(var)
        if isinstance(var.ty, tvm.ir.PrimType):
            return f"{c_type(str(var.ty))} {name}"
        return f"void *{name}" if hash(var) in self._memory.written else f"const void *{name}"

    def _new(self, name: str) -> str:
        name = re.sub(r"\W", "_", name)
        name = name if name[:1].isalpha() else f"v{name}"
        number, free = 0, name
        while free in self._taken:
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free

    def _statement(self, node: Any, depth: int) -> str:
        text = self._written(node, depth)
        before, self._before = self._before, []
        return "".join([*(f"{'  ' * depth}{line}\n" for line in before), text])

    def _written(self, node: Any, depth: int) -> str:
        pad = "  " * depth
        match node:
            case tirx.SeqStmt():
                return "".join(self._statement(each, depth) for each in node.seq)
            case tirx.AttrStmt():
                return self._statement(node.body, depth)
            case tirx.AllocBuffer():
                text = f"{pad}{self._allocation(node.buffer)};\n"
                unread = f"{pad}(void){self._name_of(node.buffer)};\n"
                return text if hash(node.buffer) in self._memory.read else text + unread
            case tirx.DeclBuffer():
                return self._declaration(node, pad)
            case tirx.Bind():
                return self._binding(node, pad)
            case tirx.BufferStore():
                return self._store(node, depth)
            case tirx.For():
                return self._loop(node, depth)
            case tirx.IfThenElse():
                text = f"{pad}if ({_bare(self._value(node.condition))}) {{\n"
                text += self._block(node.then_case, depth + 1)
                if node.else_case is not None:
                    text += f"{pad}}} else {{\n{self._block(node.else_case, depth + 1)}"
                return f"{text}{pad}}}\n"
            case tirx.While():
                condition = _bare(self._chosen(node.condition))  # computed in each iteration
                body = self._block(node.body, depth + 1)
                return f"{pad}while ({condition}) {{\n{body}{pad}}}\n"
            case tirx.Evaluate() if does_nothing(node.value):
                return ""
        raise QnnError(f"plain C has no {type(node).__name__} of the function {self.symbol}")

    def _block(self, node: Any, depth: int) -> str:
        """Write a statement, with its declarations inside of it."""
        before, self._before = self._before, []
        text = self._statement(node, depth)
        self._before = before
        return text

    def _chosen(self, node: Any) -> str:
        """Write an expression that may be skipped, so no part of it may be computed before."""
        self._choices += 1
        text = self._value(node)
        self._choices -= 1
        return text

    def _allocation(self, buffer: Any) -> str:
        count = prod(int(size) for size in buffer.shape)
        name = self._names[hash(buffer)] = self._new(buffer.name)
        if count > 1:
            return f"{c_type(dtype_of(buffer))} {name}[{count}]"
        self._scalars.add(hash(buffer))
        return f"{c_type(dtype_of(buffer))} {name}"

    def _declaration(self, node: Any, pad: str) -> str:
        buffer, dtype = node.buffer, dtype_of(node.buffer)
        of = memory_in(node.data)
        if isinstance(buffer_in(node.data), tirx.Var) and self._of_same_type(node):
            self._names[hash(buffer)] = self._name_of(of)
            if hash(of) in self._scalars:
                self._scalars.add(hash(buffer))
            return ""
        name = self._names[hash(buffer)] = self._new(buffer.name)
        if hash(buffer) not in self._memory.used:
            return ""
        is_written = self._memory.root(buffer) in self._memory.written
        kind = f"{'' if is_written else 'const '}{c_type(dtype)}"
        sizes = "".join(f"[{size}]" for size in map(int, buffer.shape))
        self._tensors.append(f"{name}: {kind} {sizes}")
        begin = self._name_of(of)
        if hash(of) in self._scalars:
            begin = f"&{begin}"
        elif (element := element_in(node.data)) is not None:
            begin = f"&{self._element(element.source, element.indices)}"
        return f"{pad}{kind} *const {name} = ({kind} *){begin};\n"

    def _of_same_type(self, node: Any) -> bool:
        other = buffer_in(node.data)
        return dtype_of(other) == dtype_of(node.buffer) and element_in(node.data) is None

    def _binding(self, node: Any, pad: str) -> str:
        if lanes(node.value) > 1:
            self._inlined[hash(node.var)] = node.value
            return ""
        return f"{pad}{self._defined(node)}\n"

    def _defined(self, node: Any) -> str:
        """Write the definition of a variable, with its value."""
        value = self._converted(node.value)
        name = self._names[hash(node.var)] = self._new(node.var.name)
        self._magnitudes[hash(node.var)] = magnitude(node.value, self._magnitudes)
        return f"const {c_type(scalar_dtype(node.value))} {name} = {value};"

    def _store(self, node: Any, depth: int) -> str:
        pad = "  " * depth
        count = max(lanes(each) for each in (node.value, *node.indices))
        target = self._element(node.buffer, node.indices)
        value = self._converted(node.value)
        if count == 1:
            return "" if value == target else f"{pad}{target} = {value};\n"
        before, self._before = "".join(f"{pad}  {line}\n" for line in self._before), []
        head = f"for (int {_LANE} = 0; {_LANE} < {count}; ++{_LANE})"
        return f"{pad}{head} {{\n{before}{pad}  {target} = {value};\n{pad}}}\n"

    def _converted(self, node: Any) -> str:
        """Write a value to be stored: C has turned a small one into an int."""
        dtype, value = scalar_dtype(node), _bare(self._value(node))
        stated = (tirx.Cast, TensorLoad, tirx.Var, tirx.IntImm, *_ARITHMETIC)
        if isinstance(node, stated) or dtype not in (*_SMALL, "bool"):
            return value
        return f"({c_type(dtype)})({value})"

    def _loop(self, node: Any, depth: int) -> str:
        pad, dtype = "  " * depth, c_type(str(node.loop_var.ty))
        begin, extent = self._value(node.min), self._value(node.extent)
        name = self._names[hash(node.loop_var)] = self._new(node.loop_var.name)
        end = extent if is_zero(node.min) else f"{begin} + {extent}"
        self._magnitudes[hash(node.loop_var)] = magnitude(node.min + node.extent, self._magnitudes)
        body = self._block(node.body, depth + 1)
        head = f"for ({dtype} {name} = {begin}; {name} < {end}; ++{name})"
        return f"{pad}{head} {{\n{body}{pad}}}\n"

    def _element(self, buffer: Any, indices: Any) -> str:
        if hash(buffer) in self._scalars:
            return self._name_of(buffer)
        shape = [int(size) for size in buffer.shape] if len(indices) > 1 else []
        wraps, self._wraps = self._wraps, _INT64
        terms = [
            _bare(self._value(index))
            if (step := prod(shape[axis + 1 :])) == 1 or not shape
            else f"{self._value(index)} * {step}"
            for axis, index in enumerate(indices)
        ]
        self._wraps = wraps
        return f"{self._name_of(buffer)}[{' + '.join(terms)}]"

    def _value(self, node: Any) -> str:
        kind, dtype = type(node), scalar_dtype(node)
        if kind in _COMPARISONS:
            return f"({self._value(node.a)} {_COMPARISONS[kind]} {self._value(node.b)})"
        if kind in _ARITHMETIC:
            return self._arithmetic(node, _ARITHMETIC[kind], dtype)
        if kind in _CHOICES:
            name = self._source.choice(*_CHOICES[kind], dtype)
            return f"{name}({self._value(node.a)}, {self._value(node.b)})"
        match node:
            case tirx.IntImm() | tirx.FloatImm():
                return c_number(node.value, dtype)
            case tirx.Var():
                inlined = self._inlined.get(hash(node))
                return self._name_of(node) if inlined is None else self._value(inlined)
            case TensorLoad():
                return self._element(node.source, node.indices)
            case tirx.LShift():
                a, b, whole = self._value(node.a), self._value(node.b), f"u{dtype.lstrip('u')}"
                return f"({c_type(dtype)})(({c_type(whole)}){a} << {b})"
            case tirx.Cast():
                value = self._value(node.value)
                return f"({value} != 0)" if dtype == "bool" else f"(({c_type(dtype)}){value})"
            case tirx.Let():
                return self._let(node)
            case tirx.Not():
                return f"(!{self._value(node.a)})"
            case tirx.BitwiseNot():
                return f"(({c_type(dtype)})~{self._value(node.a)})"
            case tirx.Select():
                parts = (node.condition, node.true_value, node.false_value)
                return "({} ? {} : {})".format(*map(self._value, parts))
            case tirx.Ramp():
                return f"({self._value(node.base)} + {_LANE} * {self._value(node.stride)})"
            case tirx.Broadcast():
                return self._value(node.value)
            case tvm.ir.Call():
                return self._call(node, dtype)
        raise QnnError(f"plain C has no {kind.__name__} of the function {self.symbol}")

    def _let(self, node: Any) -> str:
        if self._choices and may_fail(node.value, self._inlined):
            self._inlined[hash(node.var)] = node.value
        else:
            self._before.append(self._defined(node))
        return self._value(node.body)

    def _arithmetic(self, node: Any, sign: str, dtype: str) -> str:
        a, b = self._value(node.a), self._value(node.b)
        if sign == "%" and dtype.startswith("float"):
            return self._real("fmod", dtype, a, b)
        if dtype in ("uint8", "uint16") and sign == "*":  # as int, the product may overflow
            a = f"(uint32_t){a}"
        wraps = sign in "+-*" and dtype in self._wraps
        if wraps and magnitude(node, self._magnitudes) >= self._wraps[dtype]:
            return f"{self._source.wrapping(sign, dtype)}({_bare(a)}, {_bare(b)})"
        text = f"({a} {sign} {b})"
        return f"(({c_type(dtype)}){text})" if dtype in _SMALL else text

    def _call(self, node: Any, dtype: str) -> str:
        name, arguments = node.op.name, list(node.args)
        if name in ("prim.if_then_else", "tirx.if_then_else"):
            condition, *results = arguments
            return "({} ? {} : {})".format(self._value(condition), *map(self._chosen, results))
        if name == "tirx.reinterpret":
            function = self._source.reinterpretation(dtype, scalar_dtype(arguments[0]))
            return f"{function}({self._value(arguments[0])})"
        if name in ("tirx.call_pure_extern", "tirx.call_extern"):
            function, *rest = arguments
            if function.value == NUMBER:
                return self._value(rest[0])
            self._source.calls.add(str(function.value))
            return f"{function.value}({', '.join(map(self._value, rest))})"
        known = name.rpartition(".")[2]
        if name == "tirx.call_llvm_pure_intrin":
            number, *arguments = arguments
            known = str(llvm_get_intrinsic_name(int(number.value))).split(".")[1]
        is_known = known in REALS | _TESTS
        if not is_known or not scalar_dtype(arguments[0]).startswith("float"):
            raise QnnError(f"plain C has no {name} of the function {self.symbol}")
        kind = dtype if known in REALS else "float64"
        return self._real(known, kind, *map(self._value, arguments))

    def _real(self, name: str, dtype: str, *arguments: str) -> str:
        """Write a call of a function for real numbers from C's library."""
        called = f"{name}f" if dtype == "float32" else name
        self._source.calls.add(called)
        return f"{called}({', '.join(arguments)})"
