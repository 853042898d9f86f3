"""Ed25519 in the strict profile and the one question asked of X25519 keys, in pure Python integers.

Refuses to know what is signed. A verification takes about a millisecond once a key's table stands.
"""

from __future__ import annotations

import functools
import hashlib
from typing import Any

from .encoding import base64url_decode, preimage

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_MINUS_ONE = pow(2, (P - 1) // 4, P)

# A point is (X, Y, Z, T) with x = X/Z, y = Y/Z, x*y = T/Z: extended coordinates of the twisted Edwards curve.
Point = tuple[int, int, int, int]
NEUTRAL: Point = (0, 1, 1, 0)


def point_add(left: Point, right: Point) -> Point:
    x1, y1, z1, t1 = left
    x2, y2, z2, t2 = right
    a = (y1 - x1) * (y2 - x2) % P
    b = (y1 + x1) * (y2 + x2) % P
    c = 2 * D * t1 * t2 % P
    d = 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def point_decode(encoding: bytes) -> Point | None:
    """The point of a canonical encoding, or None."""
    packed = int.from_bytes(encoding, "little")
    y, sign = packed & (2**255 - 1), packed >> 255
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    # The candidate root of u/v in one power (RFC 8032, 5.1.3).
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P != u:
        x = x * SQRT_MINUS_ONE % P
    if v * x * x % P != u:
        return None
    if x == 0 and sign == 1:
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def point_encode(point: Point) -> bytes:
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    x, y = x * inverse % P, y * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def is_small_order(point: Point) -> bool:
    for _ in range(3):
        point = point_add(point, point)
    x, y, z, _ = point
    return x % P == 0 and (y - z) % P == 0


def multiples(point: Point) -> list[list[Point]]:
    """For each of 64 four-bit digits of a scalar, its 16 multiples: a product is then 64 additions."""
    table = []
    for _ in range(64):
        row = [NEUTRAL]
        for _ in range(15):
            row.append(point_add(row[-1], point))
        table.append(row)
        point = point_add(row[-1], point)
    return table


def combine(table: list[list[Point]], scalar: int, total: Point) -> Point:
    for row in table:
        digit = scalar & 15
        if digit:
            total = point_add(total, row[digit])
        scalar >>= 4
    return total


@functools.cache
def base_multiples() -> list[list[Point]]:
    base = point_decode(bytes([0x58] + [0x66] * 31))
    assert base is not None
    return multiples(base)


@functools.lru_cache(maxsize=4096)
def key_point(public_key: bytes) -> Point | None:
    """The point of a strict key: canonical, of the curve, not of small order."""
    if len(public_key) != 32:
        return None
    point = point_decode(public_key)
    return None if point is None or is_small_order(point) else point


@functools.lru_cache(maxsize=256)
def negated_multiples(public_key: bytes) -> list[list[Point]]:
    point = key_point(public_key)
    assert point is not None
    x, y, z, t = point
    return multiples((-x % P, y, z, -t % P))


def ed25519_verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """The strict profile: canonical A and R, neither of small order, S < L, and R = S*B - h*A as it stands."""
    if key_point(public_key) is None or len(signature) != 64:
        return False
    r = point_decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if r is None or is_small_order(r) or s >= L:
        return False
    challenge = hashlib.sha512(signature[:32] + public_key + message).digest()
    h = int.from_bytes(challenge, "little") % L
    result = combine(negated_multiples(public_key), h, combine(base_multiples(), s, NEUTRAL))
    return point_encode(result) == signature[:32]


def is_signed(public_key: str, artifact: str, value: Any, signature: str) -> bool:
    return ed25519_verify(base64url_decode(public_key), preimage(artifact, value), base64url_decode(signature))


def is_contributory(sealing_key: bytes) -> bool:
    """Whether an X25519 key is not of small order. X25519 ignores the top bit and reduces modulo p (RFC 7748, 5)."""
    u = (int.from_bytes(sealing_key, "little") & (2**255 - 1)) % P
    # A point has an order that divides 8, on the curve or its twist, when doubling it three times meets u = 0 or the
    # point at infinity: x-only doubling in projective (X : Z).
    x, z = u, 1
    for _ in range(3):
        if x % P == 0 or z % P == 0:
            return False
        s, d = (x + z) ** 2 % P, (x - z) ** 2 % P
        c = (s - d) % P
        x, z = s * d % P, c * (d + 121666 * c) % P
    return x % P != 0 and z % P != 0
