"""Find odd stretches in series: moments in their order, in one channel or many, of one machine or a fleet."""

from centrality.series.events import Event, Events
from centrality.series.stream import Moment, Stream
from centrality.series.timeline import Timeline

__all__ = ["Event", "Events", "Moment", "Stream", "Timeline"]
