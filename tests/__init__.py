"""Tests and campaigns compile what they test, and leave nothing in the user's cache of builds."""

import os

os.environ["TVM_QNN_CACHE"] = "0"
