"""The server of bytes of the capture room, shared."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "capture"))
