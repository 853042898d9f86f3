#!/usr/bin/env python3
"""Verifies Social Harness conversations from the specification alone.

Needs Python 3.11 and nothing else: it has its own canonical JSON, its own strict Ed25519 and every rule of a record
chain, written from docs/spec and sharing no code with the TypeScript implementation, so that a mistake in one shows
as a disagreement with the other. To check a conversation you need this file, the folder verifier/ beside it, the
exported file and the Registry key that you trust.

exit codes: 0 everything holds, 1 something does not or cannot be read, 2 wrong usage
"""

from __future__ import annotations

import argparse
import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True

from verifier import suites, vectors  # noqa: E402
from verifier.encoding import Refused, canonical_text  # noqa: E402
from verifier.export import RefusedLine, verify_export  # noqa: E402
from verifier.identity import KEY  # noqa: E402
from verifier.shapes import passes  # noqa: E402

NOT_CHECKED = [
    "whether the conversation went on after the last record of this file",
    "when anything was said: records carry an order, not a clock",
    "whether the pinned Registry gave each name to the right person",
]

STORAGE_CAVEAT = "whether the others still hold it: below four members storage rests on all being honest"


def not_checked(report: dict[str, Any]) -> list[str]:
    return NOT_CHECKED + [STORAGE_CAVEAT] * (len(report["members"]) < 4)


def shown(text: str) -> str:
    """Text that no terminal takes for anything else: controls, and marks that turn or hide text, are spelled out."""
    return "".join(
        character if character == " " or unicodedata.category(character)[0] not in "CZ" else ascii(character)[1:-1]
        for character in text
    )


def part_text(part: dict[str, Any]) -> str:
    if part["type"] == "text":
        return shown(part["text"])
    return shown(canonical_text(part["value"]))


def print_story(report: dict[str, Any]) -> None:
    members = report["members"]
    print(f"{report['address']}, exported by {report['exportedBy']}")
    print(f"members: {', '.join(members)}")
    for record in report["records"]:
        print(f"\n{record['height']:>4}  {record['author']}")
        for part in record["content"]:
            print(f"      {part_text(part)}")
        action, durability = record["actionSigners"], record["durabilitySigners"]
        print(f"      agreed by {len(action)} of {len(members)}: {', '.join(action)}")
        print(f"      stored by {len(durability)} of {len(members)}: {', '.join(durability)}")
    print(f"\n{len(report['records'])} records verified, head {report['headRecordHash']}")
    print("Not checked, because no file can show it:")
    for sentence in not_checked(report):
        print(f"  - {sentence}")


def export(options: argparse.Namespace) -> int:
    data = options.file.read_bytes()
    try:
        report = verify_export(data, options.registry_key)
    except RefusedLine as refused:
        message = f"line {refused.line}: {refused}"
        if options.json:
            print(json.dumps({"ok": False, "line": refused.line, "message": str(refused)}))
        else:
            print(f"{options.file} does not verify. {message}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({"ok": True, **report, "notChecked": not_checked(report)}))
    else:
        print_story(report)
    return 0


def check_vectors(options: argparse.Namespace) -> int:
    count, problems = vectors.check_folder(options.folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{count} cases, {len(problems)} disagreements")
    return 1 if problems else 0


def cctv(options: argparse.Namespace) -> int:
    print(*suites.cctv(options.file))
    return 0


def speccheck(options: argparse.Namespace) -> int:
    print(*suites.speccheck(options.file))
    return 0


def wycheproof(options: argparse.Namespace) -> int:
    count, different = suites.wycheproof(options.file)
    print(f"{count} cases, different verdicts: {' '.join(map(str, different)) or 'none'}")
    return 1 if different else 0


def registry_key(text: str) -> str:
    if not passes(KEY, text):
        raise argparse.ArgumentTypeError("a Registry key is 43 characters of base64url")
    return text


def parser() -> argparse.ArgumentParser:
    root = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = root.add_subparsers(required=True, metavar="command")

    command = commands.add_parser("export", help="verify an exported conversation and say who said what")
    command.add_argument("file", type=Path)
    command.add_argument("--registry-key", type=registry_key, required=True, metavar="KEY", help="the key you trust")
    command.add_argument("--json", action="store_true", help="one JSON object instead of a story")
    command.set_defaults(run=export)

    command = commands.add_parser("vectors", help="check every file of a folder of vectors")
    command.add_argument("folder", type=Path)
    command.set_defaults(run=check_vectors)

    for run, text in (
        (cctv, "print the accepted numbers of C2SP/CCTV's ed25519 cases"),
        (speccheck, "print the accepted positions of ed25519-speccheck"),
        (wycheproof, "compare with the published verdicts of Wycheproof's ed25519 cases"),
    ):
        command = commands.add_parser(run.__name__, help=text)
        command.add_argument("file", type=Path)
        command.set_defaults(run=run)
    return root


def main() -> int:
    options = parser().parse_args()
    # Content is any Unicode; a terminal or pipe in another encoding must not end the story halfway.
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        return int(options.run(options))
    except OSError as error:
        print(f"cannot read {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    except Refused as refused:
        print(f"refused: {refused}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
