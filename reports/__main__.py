"""`python3 -I reports ARGUMENT...`: the report maker of this folder, regardless of installed packages."""

import sys

from headrace_report.__main__ import main

sys.exit(main())
