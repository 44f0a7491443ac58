"""The public names of `bobcat.decision_log`. `__init__.py` reads their modules from this file."""

from bobcat.decision_log.checkpoint import Checkpoint as Checkpoint
from bobcat.decision_log.entry import LogEntry as LogEntry
from bobcat.decision_log.log import DecisionLog as DecisionLog
from bobcat.decision_log.log import open_log as open_log
from bobcat.decision_log.proofs import ConsistencyProof as ConsistencyProof
from bobcat.decision_log.proofs import InclusionProof as InclusionProof
from bobcat.decision_log.record import LogRecord as LogRecord
from bobcat.decision_log.redaction import redact as redact
from bobcat.decision_log.redaction import redaction_key as redaction_key
from bobcat.decision_log.verification import Damage as Damage
from bobcat.decision_log.verification import Report as Report
from bobcat.decision_log.verification import verify as verify
from bobcat.errors import DecisionLogError as DecisionLogError
