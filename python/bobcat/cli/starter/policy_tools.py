"""Tools for policy.yaml. Add your own; rules can test what they declare.

The tools open the files of one directory, and run one program, whatever the policy permits: symbolic links are not
followed, and no shell reads the arguments. `files` needs Linux or macOS, `processes` needs Linux.
"""

import shutil
import sys
from pathlib import Path

from bobcat import ToolSet
from bobcat.providers import files, processes

WORKSPACE = Path(__file__).resolve().parent

# fs.read, fs.list, fs.stat, fs.write, fs.append, fs.delete, fs.move and fs.mkdir
tools: ToolSet = files(WORKSPACE, base=WORKSPACE)

if sys.platform == "linux" and shutil.which("git", path="/usr/local/bin:/usr/bin:/bin"):
    # proc.run; `git status` does not write to the repository
    tools = tools.union(processes(["git"], cwd=WORKSPACE, timeout_seconds=20, set_env={"GIT_OPTIONAL_LOCKS": "0"}))
