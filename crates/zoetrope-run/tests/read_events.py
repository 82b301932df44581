"""Prints the scalars of a folder of event files as JSON: {tag: [[step, value], ...]}."""

import json
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "tensors": 0})
events.Reload()
found = {}
for tag in events.Tags()["scalars"]:
    found[tag] = [[event.step, event.value] for event in events.Scalars(tag)]
# Recent releases turn simple values into tensors while they read.
for tag in events.Tags()["tensors"]:
    found[tag] = [[event.step, event.tensor_proto.float_val[0]] for event in events.Tensors(tag)]
print(json.dumps(found))
