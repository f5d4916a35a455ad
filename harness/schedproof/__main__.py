"""`python -m schedproof`."""

import sys

from schedproof.cli.main import main

sys.exit(main())
