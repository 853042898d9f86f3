"""The published Ed25519 edge-case suites, read as their authors publish them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .curves import ed25519_verify


def load(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def cctv(path: Path) -> list[int]:
    """The accepted numbers of C2SP/CCTV's ed25519 cases."""
    return [
        case["number"]
        for case in load(path)
        if ed25519_verify(bytes.fromhex(case["key"]), case["msg"].encode("utf-8"), bytes.fromhex(case["sig"]))
    ]


def speccheck(path: Path) -> list[int]:
    """The accepted positions of ed25519-speccheck's twelve cases, counted from 0."""
    return [
        number
        for number, case in enumerate(load(path))
        if ed25519_verify(*(bytes.fromhex(case[name]) for name in ("pub_key", "message", "signature")))
    ]


def wycheproof(path: Path) -> tuple[int, list[int]]:
    """How many cases there are, and those whose published verdict this verifier does not share."""
    count, different = 0, []
    for group in load(path)["testGroups"]:
        public_key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            count += 1
            verdict = ed25519_verify(public_key, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            if verdict != (case["result"] == "valid"):
                different.append(case["tcId"])
    return count, different
