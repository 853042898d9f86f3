"""Checks that compose: each takes a decoded JSON value and refuses all but one exact, closed shape."""

from __future__ import annotations

import re
from typing import Any, Callable, Iterable

from .encoding import SAFE_INTEGER, Refused, refuse

Check = Callable[[Any], None]


def text_matching(pattern: str, expected: str) -> Check:
    compiled = re.compile(pattern)

    def check(value: Any) -> None:
        if not isinstance(value, str) or compiled.fullmatch(value) is None:
            refuse(f"expected {expected}")

    return check


def text(value: Any) -> None:
    if not isinstance(value, str):
        refuse("expected text")


def exactly(expected: Any) -> Check:
    def check(value: Any) -> None:
        if type(value) is not type(expected) or value != expected:
            refuse(f"expected {expected!r}")

    return check


def either(*checks: Check) -> Check:
    def check(value: Any) -> None:
        reasons = []
        for one in checks:
            try:
                return one(value)
            except Refused as refused:
                reasons.append(str(refused))
        refuse(" or ".join(reasons))

    return check


def shape(optional: Iterable[str] = (), /, **fields: Check) -> Check:
    """An object of exactly these fields, of which the optional ones may be missing."""
    required = set(fields) - set(optional)

    def check(value: Any) -> None:
        if not isinstance(value, dict) or not required <= set(value) <= set(fields):
            refuse(f"expected an object of exactly {sorted(fields)}")
        for name, member in value.items():
            fields[name](member)

    check.fields = fields  # type: ignore[attr-defined]
    return check


def extended(base: Check, **more: Check) -> Check:
    return shape(**(base.fields | more))  # type: ignore[attr-defined]


def list_of(item: Check, least: int = 0, most: int | None = None) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, list) or len(value) < least or (most is not None and len(value) > most):
            refuse("expected a list of another length")
        for member in value:
            item(member)

    return check


def natural(least: int = 0) -> Check:
    def check(value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= SAFE_INTEGER:
            refuse("expected a whole number")

    return check


def boolean(value: Any) -> None:
    if not isinstance(value, bool):
        refuse("expected true or false")


null = exactly(None)


def nullable(check: Check) -> Check:
    return either(null, check)


def passes(check: Check, value: Any) -> bool:
    try:
        check(value)
    except Refused:
        return False
    return True
