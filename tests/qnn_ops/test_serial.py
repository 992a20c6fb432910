import gc
import threading
from concurrent.futures import ThreadPoolExecutor

from qnn_ops.serial import serial
from tests.support.errors import fails

inside = threading.Semaphore()


@serial
def alone(turns: int) -> int:
    """Call itself, and tell how many calls there were."""
    assert turns == 0 or inside.acquire(blocking=False), "another thread is inside"
    try:
        return 0 if turns == 0 else 1 + alone(0)
    finally:
        if turns:
            inside.release()


@serial
def failing() -> None:
    raise ValueError("no")


def test_one_thread_at_a_time_is_inside() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(alone, [1] * 1000)) == 1000


def test_an_error_lets_others_in() -> None:
    fails("no", failing, error=ValueError)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(alone, 1).result(timeout=10) == 1


def test_circles_of_references_are_found_outside_only() -> None:
    collects = serial(serial(gc.isenabled))
    assert not collects()
    fails("no", failing, error=ValueError)
    assert gc.isenabled()
    gc.disable()
    try:
        assert not collects()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_function_keeps_its_name_and_text() -> None:
    assert alone.__name__ == "alone"
    assert str(alone.__doc__).startswith("Call itself")
