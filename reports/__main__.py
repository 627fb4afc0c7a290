"""`python3 -I reports ARGUMENT...`: the report maker of this folder, whatever else is installed or lies around."""

import sys

from headrace_report.__main__ import main

sys.exit(main())
