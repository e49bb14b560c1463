"""What a run looks like: records folded into lanes, spans, job progress and sums.

Owns every number that a front end shows, so that the terminal, JSON and pictures cannot disagree. It reads records
one at a time and works the same on a run that goes on, one that has ended and one that was only simulated. It never
decides anything, reads no clock and draws nothing.
"""

from dagrl.timeline.document import Comparison, to_json
from dagrl.timeline.fold import Residence, Timeline
from dagrl.timeline.lane import COMPUTING, SWITCHING, Lane, Pending, Span, SpanKind
from dagrl.timeline.progress import Failure, JobProgress

__all__ = [
    "COMPUTING",
    "SWITCHING",
    "Comparison",
    "Failure",
    "JobProgress",
    "Lane",
    "Pending",
    "Residence",
    "Span",
    "SpanKind",
    "Timeline",
    "to_json",
]
