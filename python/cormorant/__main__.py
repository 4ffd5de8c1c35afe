# SPDX-License-Identifier: Apache-2.0
"""python -m cormorant export NAME FILE.pt2: a model by name, for `cormorant compile -m NAME`."""
import sys

from . import Error, models


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] != "export":
        print(f"usage: python -m cormorant export NAME FILE.pt2\n  names are {', '.join(models.names())}", file=sys.stderr)
        return 2
    try:
        models.export(sys.argv[2], sys.argv[3])
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
