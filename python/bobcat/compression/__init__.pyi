"""The public names of `bobcat.compression`. `__init__.py` reads where each of them lives from this file."""

from bobcat.compression.combining import compose_compressors as compose_compressors
from bobcat.compression.combining import identity_compressor as identity_compressor
from bobcat.compression.combining import route_compressor as route_compressor
from bobcat.compression.external import external_filter_compressor as external_filter_compressor
from bobcat.compression.protocol import Compressor as Compressor
from bobcat.compression.shortening import dedup_compressor as dedup_compressor
from bobcat.compression.shortening import truncate_compressor as truncate_compressor
