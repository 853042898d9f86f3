"""Exported conversations (docs/spec/running.md): a header, a line a record, and a signature over them all."""

from __future__ import annotations

from typing import Any

from .chain import Chain
from .curves import is_signed
from .encoding import Refused, base64url_encode, canonical_decode, hash_of, refuse
from .identity import AGENT_ID, ID, KEY, SIGNATURE, address_for, message_address, without
from .shapes import exactly, natural, shape
from .values import DEPTH_MAX, LINE_BYTES_MAX, RECORD_HASH

export_header = shape(
    kind=exactly("export"),
    version=exactly(1),
    address=message_address,
    exportedBy=AGENT_ID,
    registryKey=KEY,
    records=natural(1),
    headRecordHash=RECORD_HASH,
)
export_end = shape(
    kind=exactly("end"), recordHash=RECORD_HASH, linesHash=ID["history_continuation"], signature=SIGNATURE
)


class RefusedLine(Refused):
    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def verify_export(data: bytes, registry_key: str) -> dict[str, Any]:
    """What an export proves, or RefusedLine. Every line ends with LF, the last one too."""
    *lines, rest = data.split(b"\n")
    number = 1
    try:
        if not lines:
            refuse("the file is empty" if not rest else "the first line does not end")
        header = canonical_decode(lines[0], LINE_BYTES_MAX, DEPTH_MAX)
        export_header(header)
        if header["registryKey"] != registry_key:
            refuse("the export names another Registry key than the pinned one")
        chain = Chain(registry_key)
        posts: list[dict[str, Any]] = []
        while len(posts) < header["records"]:
            number += 1
            if number > len(lines):
                refuse(f"the export stops after {len(posts)} of {header['records']} records")
            record = canonical_decode(lines[number - 1], LINE_BYTES_MAX, DEPTH_MAX)
            chain.append(record)
            posts.append(post_of(chain, record))
        verify_header(header, chain)
        number += 1
        if number > len(lines):
            refuse("the export has no end line")
        verify_end(lines[number - 1], lines[: number - 1], header, chain)
        number += 1
        if number <= len(lines) or rest:
            refuse("something stands behind the end line")
    except Refused as refused:
        raise RefusedLine(number, str(refused)) from None
    assert chain.members is not None
    return {
        "address": header["address"],
        "exportedBy": chain.members.cards[header["exportedBy"]]["agentName"],
        "members": chain.members.names,
        "headRecordHash": header["headRecordHash"],
        "records": posts,
    }


def post_of(chain: Chain, record: dict[str, Any]) -> dict[str, Any]:
    assert chain.members is not None
    cards = chain.members.cards
    action = record["recordCore"]["action"]
    return {
        "height": action["height"],
        "recordHash": record["recordHash"],
        "author": cards[action["authorAgentId"]]["agentName"],
        "content": action["postIntent"]["content"],
        "actionSigners": [cards[entry["signerAgentId"]]["agentName"] for entry in record["actionSignatures"]],
        "durabilitySigners": [cards[entry["signerAgentId"]]["agentName"] for entry in record["durabilityVotes"]],
    }


def verify_header(header: dict[str, Any], chain: Chain) -> None:
    assert chain.members is not None
    if header["headRecordHash"] != chain.record_hash:
        refuse("the last record is not the one that the header names")
    exporter = chain.members.cards.get(header["exportedBy"])
    if exporter is None:
        refuse("the exporter is not a member of the conversation")
    if header["address"] != address_for(chain.members.names, exporter["agentName"]):
        refuse("the header's address is not that of this conversation")


def verify_end(line: bytes, before: list[bytes], header: dict[str, Any], chain: Chain) -> None:
    assert chain.members is not None
    end = canonical_decode(line, LINE_BYTES_MAX, DEPTH_MAX)
    export_end(end)
    lines_hash = base64url_encode(hash_of("export-lines", [text.decode("utf-8") for text in before]))
    if end["recordHash"] != header["headRecordHash"] or end["linesHash"] != lines_hash:
        refuse("the end line closes other lines than these")
    key = chain.members.cards[header["exportedBy"]]["signingKey"]
    if not is_signed(key, "export-end", without(end, "signature"), end["signature"]):
        refuse("the exporter's signature does not verify")
