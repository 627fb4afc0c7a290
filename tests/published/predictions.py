"""What a grader finds of a table: predictions beside published values, and what cannot be predicted."""
from dataclasses import dataclass, field


@dataclass
class Prediction:
    table: str
    quantity: str
    row: str
    published: float
    predicted: float
    unit: str
    formulas: str
    named: str = ""      # by a rule of RULES: why the row says nothing of the formula
    points: bool = False  # the error is a difference, not a ratio
    origin: str = ""     # who published it: intervals of a row never come from its own origin
    one_node: bool = True
    within: tuple = ()   # the interval that headrace itself gives, in order

    @property
    def error(self):
        return self.predicted - self.published if self.points else self.predicted / self.published - 1


@dataclass
class Skipped:
    table: str
    why: str
    rows: int = 0


@dataclass
class Found:
    predictions: list = field(default_factory=list)
    skipped: list = field(default_factory=list)


KINDS = {}

# Every reason that a row may be named by. Only "slow links" and "slow hops" look at a prediction, that of one end of a table.
RULES = {
    "below its limit": "the row that the prediction starts from had room left: by A22, its own rate feeds one accelerator more at the "
                       "benchmark's limit, so that its rate is a lower bound of what storage gives",
    "host-bound, other job": "with the same hosts and storage, another workload of the system read more than 1.1 times as fast as one row of "
                             "the pair: storage was not the limit of that row",
    "more readers than processors": "a host of the row that the prediction starts from had more of tf.data's reader threads, which parse "
                                    "samples, than processors: its processors may have been the limit",
    "slow links": "at the largest size of the table (64 MiB or more) the published bandwidth is below 0.8 of what the links allow (F28)",
    "slow hops": "at the smallest size of the table (64 KiB or less) the published time is more than 1 / 0.8 of what NCCL's latencies give "
                 "(F28); it names the sizes for which that latency is half of the predicted time or more",
    "slower than a larger one": "the row took longer than the next larger size of its table",
    "wrong data": "the source says that the results were wrong",
}


def kind(name):
    def register(grader):
        KINDS[name] = grader
        return grader
    return register


def nothing(name, why):
    """A kind that no formula predicts."""
    def grader(table, tables):
        yield []
        return [Skipped(table.name, why, len(table.rows))]
    KINDS[name] = grader
