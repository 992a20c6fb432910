"""Tests and campaigns compile what they test, and leave nothing in the user's cache of builds."""

import os

os.environ["TVM_QNN_CACHE"] = "0"
# Tests run at a time. Threads of numpy's that wait for each other would take the others' time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
