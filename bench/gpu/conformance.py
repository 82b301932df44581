"""Part `conformance`: every operator and model, CPU against GPU; and one training on both, epoch by epoch."""

import json

from cases import ENGLAND_COVID, ZOETROPE
from program import Failed, run, say, train

EPOCHS = 50


def measure(asked, part):
    if ENGLAND_COVID.exists():
        part["curves"] = {**curves(asked), "commit": part["about"]["commit"]}
        say(f"england-covid, {part['curves']['epochs']} epochs: losses at most {part['curves']['difference']:.1e} apart")
    else:
        say(f"{ENGLAND_COVID} is not there: no new curves")
    if asked.device != "cpu":
        part["suite"] = suite(asked.device)
        say(f"conformance: {part['suite']['verdict']}")


def suite(device):
    """What `zoetrope doctor --conformance` says."""
    done = run([ZOETROPE, "doctor", "--conformance", "--device", device, "--json"])
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise Failed(f"doctor --conformance ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}") from None
    worst = max(differences(report), default=None)
    verdict = "passes" if done.returncode == 0 else f"FAILS (exit code {done.returncode})"
    if worst:
        verdict += f", {len(list(differences(report)))} cases, largest relative difference {worst[0]:.1e} ({worst[1]})"
    return {"passes": done.returncode == 0, "verdict": verdict, "report": report}


def differences(found, name=""):
    """(relative difference, name) of every case, wherever the report has them."""
    if isinstance(found, dict):
        name = " ".join([name] * bool(name) + [str(found[key]) for key in ("name", "case", "model", "operator") if isinstance(found.get(key), str)])
        for key, value in found.items():
            if "difference" in key and isinstance(value, (int, float)):
                yield value, name
            else:
                yield from differences(value, name)
    elif isinstance(found, list):
        for each in found:
            yield from differences(each, name)


def curves(asked):
    """T-GCN on england-covid from the same seed on both."""
    epochs = 3 if asked.quick else EPOCHS
    losses = {}
    for device in ("cpu", asked.device):
        summary = train(
            f"curves-{device.replace(':', '-')}", data=ENGLAND_COVID, task="node-regression", model="tgcn", frame=16, stride=1, hidden=32,
            lr=0.01, seed=7, epochs=epochs, device=device, **{"data.split": "none"},
        )
        losses[device] = [epoch["loss"] for epoch in summary["epochs"]]
    first, second = losses["cpu"], losses[asked.device]
    return {
        "epochs": epochs, "cpu": first, "card": second,
        "difference": max(abs(a - b) / abs(a) for a, b in zip(first, second)),
    }
