"""How a run fails: a rule was broken, and a sentence states where."""


class Violation(AssertionError):
    """A rule that has to hold whatever happens did not."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(f"{rule}: {sentence}")
        self.rule = rule
        self.sentence = sentence


def require(holds: bool, rule: str, sentence: str) -> None:
    """Check a rule.

    Raises:
        Violation: it does not hold.
    """
    if not holds:
        raise Violation(rule, sentence)
