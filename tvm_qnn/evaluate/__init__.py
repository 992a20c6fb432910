"""Measures a model's accuracy on data, and compares its outputs with its own framework's."""

from tvm_qnn.evaluate.evaluation import Evaluation, evaluate, journal_of
from tvm_qnn.evaluate.feed import Feed
from tvm_qnn.evaluate.settings import read_settings
from tvm_qnn.evaluate.sources import read_data
from tvm_qnn.evaluate.tasks import classes_of, task_of
from tvm_qnn.evaluate.worker import Beside, Job, in_process, in_processes

__all__ = [
    "Beside",
    "Evaluation",
    "Feed",
    "Job",
    "classes_of",
    "evaluate",
    "in_process",
    "in_processes",
    "journal_of",
    "read_data",
    "read_settings",
    "task_of",
]
