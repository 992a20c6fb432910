"""LSTM, GRU and RNN."""

from qnn_ops.modules import import_modules

import_modules(__name__)
