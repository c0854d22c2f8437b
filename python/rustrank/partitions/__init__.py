"""Training by workers that hold parts of the documents in memory, and that anybody may have started.

Each worker calls `train` with its part of the queries and a team, and gets the model that one process with all
documents would train, to the byte. Workers find each other over TCP (`TcpPort`), or by any `Communicator`.
`rustrank.dask` does all of this on a Dask cluster.
"""

from rustrank.partitions.communicator import Communicator, TcpPort, new_token, team_of
from rustrank.partitions.training import train

__all__ = ["Communicator", "TcpPort", "new_token", "team_of", "train"]
