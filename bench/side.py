"""A contestant that stays alive: a process that gets a case as a line of JSON and answers with one."""

import json
import os
import subprocess
import sys
import time

# Between two cases, so that the threads of the other side have gone to sleep.
PAUSE_S = 0.02


class Side:
    """A process that answers a line with a line; `environment` comes on top of this process's own."""

    def __init__(self, command, environment):
        environment = {**os.environ, **environment}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, case):
        time.sleep(PAUSE_S)
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"no answer to {case}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
