"""Part `repeat`: two runs end in the same bits, and a limit of memory is kept."""

import json

from cases import CASES, settings
from frames import prepare
from program import command_of, run, say, train

# Far below what any model needs on D4, whose features alone take 41 MB.
TOO_LITTLE = "16MiB"


def measure(asked, part):
    case = CASES["D1" if asked.device == "cpu" else "D4"]
    prepare(case)
    part["case"], part["hashes"] = case.name, {}
    for model in asked.models:
        common = {**settings(case, model), "device": asked.device, "epochs": 3, "seed": 7}
        part["hashes"][model] = [train(f"repeat-{number}", **common)["state_hash"] for number in (1, 2)]
        same = len(set(part["hashes"][model])) == 1
        say(f"{case.name} {model}: two runs, {'equal' if same else 'DIFFERENT'} state_hash")
    limit = "1MiB" if asked.device == "cpu" else TOO_LITTLE
    done = run(command_of("limit", {**settings(case, "tgcn"), "device": asked.device, "epochs": 1, "plan.memory_limit": limit}))
    try:
        message = json.loads(done.stdout)["error"]["message"]
    except (json.JSONDecodeError, KeyError):
        message = (done.stderr or done.stdout).strip()[-300:]
    part["limit"] = {"limit": limit, "code": done.returncode, "message": message}
    say(f"a limit of {limit}: exit code {done.returncode}: {message}")
