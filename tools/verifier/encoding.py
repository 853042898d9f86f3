"""Base64url, canonical JSON and the one hash rule (docs/spec/foundations.md). Knows no shape of any value."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from typing import Any, NoReturn


class Refused(Exception):
    """The one answer to anything that is not exactly as the specification says."""


def refuse(message: str) -> NoReturn:
    raise Refused(message)


BASE64URL = re.compile(r"[A-Za-z0-9_-]*")


def base64url_encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def base64url_decode(text: str) -> bytes:
    """The bytes of the one canonical unpadded spelling; the standard library alone takes many spellings for one."""
    if BASE64URL.fullmatch(text) is None or len(text) % 4 == 1:
        refuse("not base64url")
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64url_encode(data) != text:
        refuse("base64url with bits set that belong to no byte")
    return data


SAFE_INTEGER = 2**53 - 1


def number_text(number: int | float) -> str:
    """ECMAScript's spelling of a double, which RFC 8785 adopts. Python's repr gives the same shortest digits."""
    value = float(number)
    if math.isnan(value) or math.isinf(value):
        refuse("a number that JSON cannot hold")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # `point` is where the decimal point stands, counted from the first significant digit.
    leading_zeros = len(whole + fraction) - len(digits)
    point = len(whole) - leading_zeros + int(exponent or "0")
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    tail = "." + digits[1:] if count > 1 else ""
    power = point - 1
    return f"{sign}{digits[0]}{tail}e{'+' if power > 0 else '-'}{abs(power)}"


SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
SURROGATE = re.compile("[\ud800-\udfff]")
ESCAPED = re.compile(r'["\\\x00-\x1f]')


def string_text(text: str) -> str:
    if SURROGATE.search(text):
        refuse("a lone surrogate")
    spelled = ESCAPED.sub(lambda match: SHORT_ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", text)
    return f'"{spelled}"'


def utf16_order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def canonical_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical_text(item) for item in value) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=utf16_order)
        return "{" + ",".join(string_text(name) + ":" + canonical_text(value[name]) for name in names) + "}"
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def canonical(value: Any) -> bytes:
    return canonical_text(value).encode("utf-8")


TOKEN_BREAK = re.compile(r'[\[\]{}]|"(?:[^"\\]+|\\.)*"?', re.DOTALL)


def depth_of(text: str) -> int:
    """How deep containers nest, told before anything parses them: brackets inside strings do not count."""
    depth = deepest = 0
    for token in TOKEN_BREAK.finditer(text):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest


def parse_integer(text: str) -> int | float:
    # Beyond 16 digits only a double can say what the number is; before, an int keeps heights and rounds exact.
    value = int(text) if len(text) <= 17 else float(text)
    return value if abs(value) <= SAFE_INTEGER else float(value)


def unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        refuse("a duplicate member name")
    return members


def canonical_decode(data: bytes, bytes_max: int, depth_max: int) -> Any:
    """The value of bytes that are exactly its canonical form, within the bounds."""
    if len(data) > bytes_max:
        refuse(f"more than {bytes_max} bytes")
    try:
        text = data.decode("utf-8", "strict")
    except UnicodeDecodeError:
        refuse("not UTF-8")
    if depth_of(text) > depth_max:
        refuse(f"containers nest deeper than {depth_max}")
    try:
        value = json.loads(
            text,
            object_pairs_hook=unique_members,
            parse_int=parse_integer,
            parse_constant=lambda name: refuse(f"{name} is not JSON"),
        )
    except ValueError:
        refuse("not JSON")
    if canonical(value) != data:
        refuse("not in canonical form")
    return value


def preimage(artifact: str, value: Any) -> bytes:
    return f"social-harness/v1/{artifact}\0".encode() + canonical(value)


def hash_of(artifact: str, value: Any) -> bytes:
    return hashlib.sha256(preimage(artifact, value)).digest()


def hash_id(prefix: str, artifact: str, value: Any) -> str:
    return prefix + base64url_encode(hash_of(artifact, value))
