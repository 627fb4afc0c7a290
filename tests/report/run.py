"""Runs one file of these tests with this Python; 77 (skipped) where it lacks what they need.  run.py test_page.py"""

import importlib
import pathlib
import sys

NEEDED = ("pytest", "jinja2", "matplotlib", "numpy")


def main() -> int:
    missing = []
    for module in NEEDED:
        try:
            importlib.import_module(module)
        except ImportError:
            missing.append(module)
    if missing:
        print(f"skipped: {sys.executable} has no {', '.join(missing)} (Debian: "
              f"{' '.join('python3-' + module for module in missing)})")
        return 77
    import pytest
    return int(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", str(pathlib.Path(__file__).parent / sys.argv[1]),
                            *sys.argv[2:]]))


if __name__ == "__main__":
    sys.exit(main())
