"""Quadrature is exact for polynomials of its degree."""

from __future__ import annotations

import pytest

from fairarm.core.quadrature import legendre_panels


def test_panels_integrate_polynomials() -> None:
    x, w = legendre_panels(-1.0, 2.0, 3)
    assert w @ x**9 == pytest.approx((2.0**10 - 1) / 10)
    assert w.sum() == pytest.approx(3.0)
