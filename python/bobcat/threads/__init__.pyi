"""The public names of `bobcat.threads`. `__init__.py` reads where each of them lives from this file."""

from bobcat.threads.erasing import (
    PurgeReport as PurgeReport,
)
from bobcat.threads.events import (
    Asked as Asked,
)
from bobcat.threads.events import (
    CallProposed as CallProposed,
)
from bobcat.threads.events import (
    CallResult as CallResult,
)
from bobcat.threads.events import (
    CallStarted as CallStarted,
)
from bobcat.threads.events import (
    Decided as Decided,
)
from bobcat.threads.events import (
    Ended as Ended,
)
from bobcat.threads.events import (
    ReplyDiscarded as ReplyDiscarded,
)
from bobcat.threads.events import (
    ThreadEvent as ThreadEvent,
)
from bobcat.threads.events import (
    ThreadText as ThreadText,
)
from bobcat.threads.events import (
    ThreadThinking as ThreadThinking,
)
from bobcat.threads.events import (
    ThreadUsage as ThreadUsage,
)
from bobcat.threads.events import (
    TurnStarted as TurnStarted,
)
from bobcat.threads.history import (
    History as History,
)
from bobcat.threads.history import (
    Shown as Shown,
)
from bobcat.threads.history import (
    Turn as Turn,
)
from bobcat.threads.history import (
    Window as Window,
)
from bobcat.threads.recent import (
    LastMessages as LastMessages,
)
from bobcat.threads.recent import (
    LastTokens as LastTokens,
)
from bobcat.threads.recent import (
    Recent as Recent,
)
from bobcat.threads.summary import (
    Summary as Summary,
)
from bobcat.threads.thread import (
    Thread as Thread,
)
from bobcat.threads.threads import (
    ThreadInfo as ThreadInfo,
)
from bobcat.threads.threads import (
    Threads as Threads,
)
from bobcat.threads.tokens import (
    estimate_tokens as estimate_tokens,
)
from bobcat.threads.windows import (
    Compressed as Compressed,
)
from bobcat.threads.windows import (
    Facts as Facts,
)
from bobcat.threads.windows import (
    Pinned as Pinned,
)
