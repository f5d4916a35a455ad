"""`python -m schedproof`."""

import sys

from schedproof.cli import main

sys.exit(main())
