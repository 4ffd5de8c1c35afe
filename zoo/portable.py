# SPDX-License-Identifier: Apache-2.0
"""Makes exported files fit to be shared: torch.export writes the exporting machine's paths into its stack traces."""
import os
import re
import zipfile

FILE = re.compile(r'(File \\")([^"\\]+)(\\")')


def portable_path(path):
    """As seen from its package or, for our own scripts, its bare name."""
    packages = path.find("site-packages/")
    return path[packages:] if packages >= 0 else os.path.basename(path)


def make_portable(pt2):
    """Rewrites a .pt2 in place, and compresses its text."""
    with zipfile.ZipFile(pt2) as archive:
        entries = [(info.filename, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(pt2, "w") as archive:
        for name, data in entries:
            is_text = name.endswith(".json")
            if is_text:
                data = FILE.sub(lambda match: match[1] + portable_path(match[2]) + match[3], data.decode()).encode()
            info = zipfile.ZipInfo(name)  # without a date: the same export gives the same file
            archive.writestr(info, data, zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED)
