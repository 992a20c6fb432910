"""Measures the time of a run, operator by operator, and compares it with the processor's peak."""

from __future__ import annotations

from tvm_qnn.profile.chart import save_chart
from tvm_qnn.profile.layers import Layer, Profile, profile, share_of_peak
from tvm_qnn.profile.peak import measure_peaks

__all__ = ["Layer", "Profile", "measure_peaks", "profile", "save_chart", "share_of_peak"]
