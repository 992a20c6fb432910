"""The division of a kernel's loops among threads.

A parallel loop runs over a fixed number of tasks, each the same fraction of the work, and TVM
gives every thread neighbouring tasks. The usual numbers of threads divide that number. A task takes
at least some microseconds, as starting the threads takes one or two. Too little work for two tasks
is a plain loop. If tasks begin and end with work of their own, a run has only as many tasks as
threads. Nothing is summed across tasks, so the results do not depend on the threads.
"""

from collections.abc import Callable

from tvm.script.ir_builder import tirx as T

from legalize.kernels.ir.vectors import Index, kept

# Each number divides the next but one, so two, three or four threads mostly get equal shares.
_COUNTS = (120, 60, 24, 12, 6, 4, 2)


NUM_THREADS = "runtime.NumThreads"
"""TVM's function that returns how many threads share the loops that this thread starts."""

LEAST_TASK = 4.0
"""The fewest microseconds that a task takes, unless the caller gives another number."""

TYPICAL_ROWS = 240
"""The rows for which tiles are chosen if each run says how many there are.

Tiles of 1 to 6, 8, 10, 12 or 16 rows cover them exactly.
"""

TASKS_OF_ROWS = 24
"""The tasks of a run of many such rows."""


def task_count(microseconds: float, least: float = LEAST_TASK) -> int:
    """Choose how many tasks a kernel is cut into.

    Args:
        microseconds: roughly the kernel's time on one thread.
        least: the least time of a task.

    Returns:
        1 if the kernel is faster on one thread.
    """
    return next((count for count in _COUNTS if microseconds >= count * least), 1)


def fewest_shared(microseconds: float) -> int:
    """Return the fewest rows that threads share, given the time of ``TYPICAL_ROWS`` rows."""
    return max(round(2 * LEAST_TASK * TYPICAL_ROWS / microseconds), 2)


def shared_loop(tasks: Index, extent: Index, body: Callable[[Index], None]) -> None:
    """Write a loop whose iterations are shared among threads.

    Args:
        tasks: from ``task_count``; an expression stands for several.
        extent: number of iterations.
        body: writes the iteration of a given number.
    """
    if isinstance(tasks, int) and tasks == 1:
        with T.serial(extent) as turn:
            body(turn)
        return
    with T.parallel(tasks) as task:
        loop_between(*share(task, tasks, extent), body)


def as_threads(tasks: Index) -> Index:
    """Write the number of tasks that gives each thread one, at most ``tasks``.

    Kernels use it if their tasks begin and end with work that takes noticeable time.
    """
    return kept(T.max(T.min(T.call_packed(NUM_THREADS), tasks), 1))


def share(task: Index, tasks: Index, extent: Index) -> tuple[Index, Index]:
    """Return the first iteration of a task, and the first one after it."""
    return T.truncdiv(task * extent, tasks), T.truncdiv((task + 1) * extent, tasks)


def loop_between(start: Index, stop: Index, body: Callable[[Index], None]) -> None:
    """Write a loop from ``start`` to before ``stop``.

    TVM 0.27 miscompiles nested loops that begin with an expression, so this one counts from 0.
    """
    with T.serial(stop - start) as turn:
        body(start + turn)
