"""Identifiers, names, addresses and the agent card (docs/spec/foundations.md, docs/spec/identity.md)."""

from __future__ import annotations

import functools
import re
from typing import Any, Iterable

from .curves import is_contributory, is_signed, key_point
from .encoding import base64url_decode, base64url_encode, canonical_decode, hash_of, refuse
from .shapes import Check, either, exactly, shape


def identifier(prefix: str, byte_count: int) -> Check:
    def check(value: Any) -> None:
        if not isinstance(value, str) or not value.startswith(prefix):
            refuse(f"expected an identifier {prefix}")
        if len(base64url_decode(value[len(prefix) :])) != byte_count:
            refuse(f"expected {byte_count} bytes")

    return check


IDENTIFIERS: dict[str, Check] = {
    "agent_id": identifier("agt_", 16),
    "principal_id": identifier("prn_", 16),
    "operation_id": identifier("opn_", 16),
    "message_id": identifier("msg_", 16),
    "router_instance_id": identifier("rti_", 16),
    "conversation_id": identifier("cnv_", 32),
    "membership_hash": identifier("mbr_", 32),
    "post_id": identifier("pst_", 32),
    "post_intent_hash": identifier("pit_", 32),
    "anchor_hash": identifier("anc_", 32),
    "action_hash": identifier("ach_", 32),
    "record_hash": identifier("rch_", 32),
    "agent_card_digest": identifier("acd_", 32),
    "collective_id": identifier("col_", 32),
    "delivery_token": identifier("dlv_", 32),
    "event_id": identifier("evt_", 32),
    "history_continuation": identifier("", 32),
    "signing_key": identifier("", 32),
    "sealing_key": identifier("", 32),
    "ed25519_signature": identifier("", 64),
}
ID = IDENTIFIERS
AGENT_ID, SIGNATURE, KEY = ID["agent_id"], ID["ed25519_signature"], ID["signing_key"]


def id_bytes(text: str) -> bytes:
    return base64url_decode(text[4:])


def agent_name(value: Any) -> None:
    if not isinstance(value, str) or not 3 <= len(value) <= 32:
        refuse("a name has 3 to 32 characters")
    if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", value) is None:
        refuse("a name is lower-case ASCII letters, digits and single inner hyphens")


def agent_address(value: Any) -> None:
    if not isinstance(value, str) or not value.startswith("agent:"):
        refuse("expected agent:<name>")
    agent_name(value.removeprefix("agent:"))


def group_address(value: Any) -> None:
    if not isinstance(value, str) or not value.startswith("group:"):
        refuse("expected group:<name>,<name>,...")
    names = value.removeprefix("group:").split(",")
    for name in names:
        agent_name(name)
    if not 3 <= len(names) <= 32:
        refuse("a group has 3 to 32 members")
    if any(left.encode() >= right.encode() for left, right in zip(names, names[1:])):
        refuse("names stand in strictly increasing byte order")


message_address = either(agent_address, group_address)


def address_for(names: Iterable[str], own: str) -> str:
    """The address under which `own` sees the conversation of these names."""
    members = sorted(names)
    if len(members) == 2:
        return "agent:" + next(name for name in members if name != own)
    return "group:" + ",".join(members)


def resolve_input(text: str, own: str) -> tuple[list[str], str]:
    """The membership and canonical address of what a sender wrote."""
    scheme, colon, rest = text.partition(":")
    if colon == "" or scheme not in ("agent", "group"):
        refuse("not an address")
    written = rest.split(",") if scheme == "group" else [rest]
    for name in written:
        agent_name(name)
    if len(set(written)) != len(written):
        refuse("a name is repeated")
    members = sorted({*written, own})
    if scheme == "agent" and len(members) != 2:
        refuse("the sender alone is no conversation")
    if scheme == "group" and not 3 <= len(members) <= 32:
        refuse("a group has 3 to 32 members")
    return members, address_for(members, own)


ADDRESSES: dict[str, Check] = {
    "agent_name": agent_name,
    "agent_address": agent_address,
    "group_address": group_address,
    "message_address": message_address,
}


TIMESTAMP = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})Z")


def timestamp(value: Any) -> None:
    match = TIMESTAMP.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        refuse("expected YYYY-MM-DDTHH:mm:ssZ")
    year, month, day, hour, minute, second = map(int, match.groups())
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if not (1 <= month <= 12 and 1 <= day <= days[month - 1] and hour < 24 and minute < 60 and second < 60):
        refuse("no such second")


CARD_KEYS = ("agentName", "principalId", "signingKey", "sealingKey", "registryKey")
CARD_BYTES_MAX = 1_024
agent_card = shape(
    kind=exactly("agent_card"),
    agentId=AGENT_ID,
    principalId=ID["principal_id"],
    agentName=agent_name,
    signingKey=KEY,
    sealingKey=ID["sealing_key"],
    registryKey=KEY,
    issuedAt=timestamp,
    keySignature=SIGNATURE,
    signature=SIGNATURE,
)


def agent_id_of(signing_key: str) -> str:
    digest = hash_of("agent-id", {"kind": "agent_identity", "signingKey": signing_key})
    return "agt_" + base64url_encode(digest[:16])


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: member for name, member in value.items() if name not in names}


def decode_card(encoded: Any) -> dict[str, Any]:
    if not isinstance(encoded, str):
        refuse("an encoded card is text")
    card = canonical_decode(base64url_decode(encoded), CARD_BYTES_MAX, 1)
    agent_card(card)
    assert isinstance(card, dict)
    return card


def encoded_card(value: Any) -> None:
    """What a value that holds a card must look like from outside; the card itself is judged with the membership."""
    if not isinstance(value, str) or re.fullmatch(r"[A-Za-z0-9_-]+", value) is None:
        refuse("expected base64url")
    if len(value) > -(-CARD_BYTES_MAX * 4 // 3):
        refuse("longer than any card")


@functools.lru_cache(maxsize=4096)
def card_text_verified(encoded: str, registry_key: str) -> None:
    """Cards are immutable, so one verification a card and pinned key is enough."""
    card = decode_card(encoded)
    if card["registryKey"] != registry_key:
        refuse("the card was issued under another Registry key than the pinned one")
    if card["agentId"] != agent_id_of(card["signingKey"]):
        refuse("the agent id is not that of the signing key")
    if key_point(base64url_decode(card["signingKey"])) is None:
        refuse("the signing key is not a strict key")
    if not is_contributory(base64url_decode(card["sealingKey"])):
        refuse("the sealing key is of small order")
    keys = {name: card[name] for name in CARD_KEYS}
    if not is_signed(card["signingKey"], "agent-keys", keys, card["keySignature"]):
        refuse("the agent did not sign these keys")
    if not is_signed(registry_key, "agent-card", without(card, "signature"), card["signature"]):
        refuse("the pinned Registry did not sign this card")


def verify_card(encoded: Any, registry_key: str) -> dict[str, Any]:
    card = decode_card(encoded)
    card_text_verified(encoded, registry_key)
    return card
