"""
Has `tool_server.py` run a tool, in this process's folder, environment and streams; ends with the tool's exit status.

    python tests/tool_call.py SOCKET MODULE ARGUMENT …

It imports as little as it can: its start is what a run of a tool costs.
"""

import json
import os
import socket
import sys


def main() -> int:
    path, module, *arguments = sys.argv[1:]
    request = {
        "module": module,
        "arguments": arguments,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        data = json.dumps(request).encode()
        sent = socket.send_fds(connection, [data], [0, 1, 2])
        connection.sendall(data[sent:])
        connection.shutdown(socket.SHUT_WR)
        status = connection.recv(16)
    if not status:
        print(f"error: {module} ended without an exit status: it has crashed", file=sys.stderr)
        os.abort()  # which `not` does not take for a refusal
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
