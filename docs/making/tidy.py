"""Mend files before they are committed: no spaces at the ends of lines, one line break at the end, none too large.

`python docs/making/tidy.py FILE ...` mends them and tells which; the exit status is 1 where something was to do.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

MOST = 600_000
"""bytes of a file in the repository: pictures and stored results are below it"""


def mended(content: bytes) -> bytes:
    """Text as it should be; what is not text stays as it is.

    >>> mended(b"a  \\nb\\n\\n"), mended(b"a"), mended(b""), mended(b"\\x00 \\n")
    (b'a\\nb\\n', b'a\\n', b'', b'\\x00 \\n')
    """
    if b"\0" in content or not content.strip():
        return content
    return re.sub(rb"[ \t]+(?=\r?\n)", b"", content).rstrip() + b"\n"


def main(files: Sequence[str]) -> int:
    """Mend the files and tell what was done."""
    found = 0
    for file in map(Path, files):
        content = file.read_bytes()
        if len(content) > MOST:
            print(f"{file}: {len(content):,} bytes; at most {MOST:,} are kept in the repository")
            found += 1
        elif (whole := mended(content)) != content:
            file.write_bytes(whole)
            print(f"{file}: mended")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
