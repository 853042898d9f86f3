"""Checks every file of vectors/ by its family. A file that no family claims counts as a disagreement."""

from __future__ import annotations

import copy
import json
import struct
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterator

from .chain import Chain
from .curves import ed25519_verify, is_signed
from .encoding import (
    Refused,
    base64url_encode,
    canonical,
    canonical_decode,
    hash_of,
    number_text,
    preimage,
)
from .export import verify_export
from .identity import (
    ADDRESSES,
    IDENTIFIERS,
    agent_id_of,
    decode_card,
    resolve_input,
    verify_card,
)
from .members import Members, quorum, verify_membership
from .rounds import refusals_needed, verify_reanchor, verify_void
from .values import DEPTH_MAX, LINE_BYTES_MAX, completed_reanchor, decode_packet, refusal_set

# What a family says about its file: for each case its name, whether it must be taken, and what takes or refuses it.
Case = tuple[str, bool, Callable[[], Any]]


class Disagreement(Exception):
    pass


def agree(actual: Any, expected: Any, about: str) -> None:
    if actual != expected:
        raise Disagreement(f"{about}: {actual!r} where the vectors say {expected!r}")


def must(verdict: bool) -> None:
    if not verdict:
        raise Refused("the signature does not verify")


def judged(data: Any) -> Iterator[tuple[bool, Any]]:
    """The cases of a file, each with whether it must be taken."""
    yield from ((True, case) for case in data["accepted"])
    yield from ((False, case) for case in data["refused"])


def lines_of(path: Path) -> list[str]:
    """One spelling a line, each ended by LF and nothing else."""
    return path.read_bytes().decode("utf-8").split("\n")[:-1]


def spellings(path: Path, stem: str, valid: bool) -> Iterator[Case]:
    check = (IDENTIFIERS | ADDRESSES)[stem]
    for line in lines_of(path):
        yield repr(line), valid, partial(check, line)


def message_address_input(data: Any, _: Path) -> Iterator[Case]:
    def resolve(case: Any) -> None:
        members, address = resolve_input(case["input"], case["self"])
        agree((members, address), (case.get("members"), case.get("address")), "membership and address")

    for valid, case in judged(data):
        yield f"{case['input']} by {case['self']}", valid, partial(resolve, case)


def canonical_json(data: Any, _: Path) -> Iterator[Case]:
    def decode(case: Any) -> None:
        encoded = bytes.fromhex(case["hex"])
        agree(canonical(canonical_decode(encoded, case["bytesMax"], case["depthMax"])), encoded, "encoding")

    def spell(case: Any) -> None:
        (number,) = struct.unpack(">d", bytes.fromhex(case["ieee754"]))
        agree(number_text(number), case["text"], "number")

    def encode(case: Any) -> None:
        agree(canonical(case["value"]).hex(), case["hex"], "encoding")

    for valid, case in judged(data):
        yield case["name"], valid, partial(decode, case)
    for case in data["numbers"]:
        yield case["ieee754"], case["text"] is not None, partial(spell, case)
    for case in data["encodings"]:
        yield case["hex"], True, partial(encode, case)


def hashes(data: Any, _: Path) -> Iterator[Case]:
    def check_hash(case: Any) -> None:
        agree(preimage(case["artifact"], case["value"]).hex(), case["preimage"], "preimage")
        agree(hash_of(case["artifact"], case["value"]).hex(), case["sha256"], "digest")

    def check_identifier(case: Any) -> None:
        digest = hash_of(case["artifact"], case["value"])[: case["byteCount"]]
        agree(case["prefix"] + base64url_encode(digest), case["identifier"], "identifier")

    for case in data["hashes"]:
        yield case["sha256"], True, partial(check_hash, case)
    for case in data["identifiers"]:
        yield case["identifier"], True, partial(check_identifier, case)


def signatures(data: Any, _: Path) -> Iterator[Case]:
    def check(case: Any) -> None:
        must(is_signed(case["publicKey"], case["artifact"], case["value"], case["signature"]))

    def check_raw(case: Any) -> None:
        must(ed25519_verify(*(bytes.fromhex(case[name]) for name in ("publicKey", "message", "signature"))))

    for valid, case in judged(data):
        yield case["name"], valid, partial(check, case)
    for case in data["raw"]:
        yield case["name"], case["valid"], partial(check_raw, case)


def statements(data: Any, _: Path) -> Iterator[Case]:
    def check(case: Any) -> None:
        must(is_signed(case["publicKey"], case["artifact"], case["statement"], case["signature"]))
        agree(case["artifact"], case["statement"]["kind"].replace("_", "-"), "artifact")

    for valid, case in judged(data):
        yield f"{case['statement']['kind']}: {case.get('name', 'good')}", valid, partial(check, case)


def cards(data: Any, _: Path) -> Iterator[Case]:
    def check_good(case: Any) -> None:
        card = verify_card(case["encoded"], data["registryKey"])
        agree(card, case["card"], "card")
        agree(agent_id_of(card["signingKey"]), case["agentId"], "agent id")
        agree("acd_" + base64url_encode(hash_of("agent-card-digest", card)), case["digest"], "digest")
        agree(base64url_encode(canonical(card)), case["encoded"], "encoding")

    for case in data["accepted"]:
        yield case["card"]["agentName"], True, partial(check_good, case)
    for case in data["refused"]:
        if case["stage"] == "verify":
            # Well-formed, so that only the verification can refuse it.
            yield f"{case['name']}, decoded only", True, partial(decode_card, case["encoded"])
        yield case["name"], False, partial(verify_card, case["encoded"], case["registryKey"])


def changed(value: Any, change: dict[str, Any]) -> Any:
    """A copy of the value in which one member or item is replaced, added or removed."""
    result = copy.deepcopy(value)
    *steps, last = change["path"]
    parent = result
    for step in steps:
        parent = parent[step]
    if change.get("remove"):
        del parent[last]
    else:
        parent[last] = change["value"]
    return result


def as_received(value: Any) -> Any:
    """The value as a reader gets it: from its canonical bytes."""
    return canonical_decode(canonical(value), LINE_BYTES_MAX, DEPTH_MAX)


def chain_before(records: list[Any], height: int, registry_key: str) -> Chain:
    chain = Chain(registry_key)
    for record in records[:height]:
        chain.append(as_received(record))
    return chain


def records(data: Any, _: Path) -> Iterator[Case]:
    registry_key = data["registryKey"]
    chains = {chain["name"]: chain["records"] for chain in data["chains"]}
    # Chains are folded once for each place at which something is refused; a refusal leaves a chain where it stands.
    standing: dict[tuple[str, int], Chain] = {}

    def check_quorum(case: Any) -> None:
        agree(quorum(case["n"]), case["quorum"], "quorum")

    def check_chain(case: Any) -> None:
        chain = chain_before(case["records"], len(case["records"]), registry_key)
        assert chain.members is not None
        agree(chain.members.names, case["members"], "members")

    def append(case: Any) -> None:
        place = case["chain"], case["height"]
        if place not in standing:
            standing[place] = chain_before(chains[case["chain"]], case["height"], registry_key)
        record = case["record"] if "record" in case else changed(chains[case["chain"]][case["height"]], case)
        standing[place].append(as_received(record))

    for case in data["quorums"]:
        yield f"{case['n']} members", True, partial(check_quorum, case)
    for case in data["chains"]:
        yield case["name"], True, partial(check_chain, case)
    for case in data["refused"]:
        yield f"{case['chain']} {case['height']}: {case['name']}", False, partial(append, case)


def memberships(data: Any) -> dict[str, Members]:
    return {name: verify_membership(value, data["registryKey"]) for name, value in data["memberships"].items()}


def origin_of(data: Any, case: Any) -> Any:
    """The accepted case that a refused one is a change of, or the case itself."""
    return data["accepted"][case["of"]] if "of" in case else case


def reanchors(data: Any, _: Path) -> Iterator[Case]:
    members = memberships(data)

    def check(case: Any, value: Any) -> None:
        completed_reanchor(value)
        decision = verify_reanchor(members[case["membership"]], value)
        agree(decision._asdict(), {"base": case.get("base"), "carried": case.get("carried")}, "decision")

    for case in data["accepted"]:
        yield f"{case['membership']}: {case['name']}", True, partial(check, case, as_received(case["reanchor"]))
    for case in data["refused"]:
        origin = origin_of(data, case)
        value = changed(origin["reanchor"], case) if "of" in case else case["reanchor"]
        yield f"{origin['membership']}: {case['name']}", False, partial(check, origin, value)


def voids(data: Any, _: Path) -> Iterator[Case]:
    members = memberships(data)

    def check_needed(case: Any) -> None:
        agree([refusals_needed(case["n"], height) for height in (0, 1)], [case["genesis"], case["post"]], "refusals")

    def check(case: Any, refusals: Any) -> None:
        refusal_set(refusals)
        verify_void(members[case["membership"]], case["actionHash"], case["height"], refusals)

    for case in data["needed"]:
        yield f"{case['n']} members", True, partial(check_needed, case)
    for case in data["accepted"]:
        yield f"{case['membership']}: {case['name']}", True, partial(check, case, case["refusals"])
    for case in data["refused"]:
        origin = origin_of(data, case)
        value = changed(origin["refusals"], case) if "of" in case else case["refusals"]
        yield f"{origin['membership']}: {case['name']}", False, partial(check, origin, value)


def packets(data: Any, _: Path) -> Iterator[Case]:
    def decode(value: Any) -> None:
        agree(decode_packet(canonical(value)), value, "packet")

    for packet in data["accepted"]:
        yield packet["kind"], True, partial(decode, packet)
    for case in data["refused"]:
        base = data["accepted"][case["packet"]] if "packet" in case else None
        kind = "no packet" if base is None else base["kind"]
        yield f"{kind}: {case['name']}", False, partial(
            decode, case["value"] if base is None else changed(base, case)
        )


def exports(data: Any, folder: Path) -> Iterator[Case]:
    for name in data["accepted"]:
        yield name, True, partial(verify_export, (folder / name).read_bytes(), data["registryKey"])
    for case in data["refused"]:
        lines = lines_of(folder / case["file"])
        lines[case["at"] : case["at"] + case["remove"]] = case["insert"]
        edited = "".join(f"{line}\n" for line in lines).encode("utf-8")
        yield case["name"], False, partial(verify_export, edited, case["registryKey"])


FAMILIES: dict[str, Callable[[Any, Path], Iterator[Case]]] = {
    "message_address_input": message_address_input,
    "canonical_json": canonical_json,
    "hashes": hashes,
    "signatures": signatures,
    "statements": statements,
    "cards": cards,
    "records": records,
    "rounds": records,
    "reanchors": reanchors,
    "voids": voids,
    "packets": packets,
    "exports": exports,
}


def cases_of(path: Path) -> Iterator[Case]:
    if path.suffix == ".json" and path.stem in FAMILIES:
        return FAMILIES[path.stem](json.loads(path.read_text("utf-8")), path.parent)
    stem, _, verdict = path.stem.rpartition("_")
    if path.suffix == ".txt" and verdict in ("valid", "invalid") and stem in IDENTIFIERS | ADDRESSES:
        return spellings(path, stem, verdict == "valid")
    if path.suffix == ".jsonl":
        named = json.loads((path.parent / "exports.json").read_text("utf-8"))["accepted"]
        if path.name in named:
            return iter(())
    raise Disagreement("no family claims this file")


def check_folder(folder: Path) -> tuple[int, list[str]]:
    """How many cases were tried, and a sentence for each disagreement."""
    count, problems = 0, []
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".txt", ".json", ".jsonl"):
            continue
        try:
            for name, valid, run in cases_of(path):
                count += 1
                try:
                    run()
                except Refused as refused:
                    if valid:
                        problems.append(f"{path.name}: refuses {name}: {refused}")
                    continue
                except Disagreement as disagreement:
                    problems.append(f"{path.name}: {name}: {disagreement}")
                    continue
                if not valid:
                    problems.append(f"{path.name}: accepts {name}")
        except Disagreement as disagreement:
            problems.append(f"{path.name}: {disagreement}")
    if count == 0:
        problems.append(f"{folder} holds no vectors")
    return count, problems
