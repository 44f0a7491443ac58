"""The public names of `bobcat.attachments`. `__init__.py` reads where each of them lives from this file."""

from bobcat.attachments.limits import AttachmentLimits as AttachmentLimits
from bobcat.attachments.store import AttachmentStore as AttachmentStore
from bobcat.errors import AttachmentError as AttachmentError
from bobcat.model.attachment import Attachment as Attachment
