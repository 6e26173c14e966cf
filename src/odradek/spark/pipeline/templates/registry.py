"""Templates, the default one first. Pure."""

from odradek.spark.pipeline.templates.cdc import CDC
from odradek.spark.pipeline.templates.counts import COUNTS
from odradek.spark.pipeline.templates.deduplicate import DEDUPLICATE
from odradek.spark.pipeline.templates.delta import DELTA
from odradek.spark.pipeline.templates.join import JOIN

TEMPLATES = {template.name: template for template in (COUNTS, JOIN, DEDUPLICATE, CDC, DELTA)}
DEFAULT_TEMPLATE = COUNTS.name
