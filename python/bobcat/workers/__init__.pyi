"""The public names of `bobcat.workers`. `__init__.py` reads their modules from this file."""

from bobcat.workers.celery import CeleryDispatcher as CeleryDispatcher
from bobcat.workers.dispatch import Delivery as Delivery
from bobcat.workers.dispatcher import Dispatcher as Dispatcher
from bobcat.workers.job import Job as Job
from bobcat.workers.jobs import Jobs as Jobs
from bobcat.workers.procrastinate import ProcrastinateDispatcher as ProcrastinateDispatcher
from bobcat.workers.registry import Workers as Workers
from bobcat.workers.retry import Retry as Retry
from bobcat.workers.runner import Runner as Runner
from bobcat.workers.store_dispatcher import StoreDispatcher as StoreDispatcher
