"""Providers: which are taken, passed over or refused, beside ONNX Runtime's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.onnx_sessions import both, check_equal, check_same, check_same_error, sums

FEED = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3) - 2,
    "y": np.array([[1, -2, 0.5]], np.float32),
}


def test_providers() -> None:
    cpu = "CPUExecutionProvider"

    def made(*arguments: Any, **named: Any) -> Callable[[Any], Any]:
        def work(ort: Any) -> Any:
            session = ort.InferenceSession(sums(), None, *arguments, **named)
            return session.get_providers(), session.get_provider_options()

        return work

    for providers in (None, [], [cpu], (cpu,), [(cpu, {"a": 1})], [cpu, cpu]):
        ours, theirs = both(made(providers))
        check_equal(ours.result, theirs.result)
        assert ours.warnings == theirs.warnings
    for providers in (["CUDAExecutionProvider", cpu], ["CUDAExecutionProvider"], ["Foo"]):
        ours, theirs = both(made(providers))
        check_equal(ours.result, theirs.result)
        assert [text.split(".")[0] for text in ours.warnings] == [
            text.split(".")[0] for text in theirs.warnings
        ]


@pytest.mark.parametrize(
    ("providers", "options"),
    [([3], None), (["CPUExecutionProvider"], []), (["CPUExecutionProvider"], [3])],
)
def test_malformed_providers_are_passed_over_or_refused(providers: Any, options: Any) -> None:
    session, theirs = both(lambda ort: ort.InferenceSession(sums(), None, providers, options))
    assert theirs.error is None
    assert session.error is None
    assert len(session.warnings) == 1
    check_same_error(
        lambda ort: ort.InferenceSession(sums(), None, providers, options, enable_fallback=0)
    )


def test_providers_can_be_set_again_or_are_refused() -> None:
    def work(ort: Any) -> Any:
        session = ort.InferenceSession(sums())
        session.set_providers(["CPUExecutionProvider"])
        session.disable_fallback()
        session.enable_fallback()
        return session.get_providers(), session.run(None, FEED), session.end_profiling()

    check_same(work)
    check_same_error(lambda ort: ort.InferenceSession(sums(), providers=["Foo"], enable_fallback=0))


@pytest.mark.parametrize("providers", [["Foo"], ["CPUExecutionProvider", "Foo"], [3]])
def test_providers_that_are_set_again_must_be_known(providers: Any) -> None:
    check_same_error(lambda ort: ort.InferenceSession(sums()).set_providers(providers))
