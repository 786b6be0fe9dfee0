"""Files and foreign models in, problems and networks out."""

from fairarm.readers.networks import read_network
from fairarm.readers.pgmpy_models import from_pgmpy
from fairarm.readers.problem_file import problem_schema, read_problem
from fairarm.readers.problem_writer import write_problem

__all__ = ["from_pgmpy", "problem_schema", "read_network", "read_problem", "write_problem"]
