"""The failure of a run: a rule was broken, and a sentence describes where."""


class Violation(AssertionError):
    """A rule that must always hold was broken."""

    def __init__(self, rule: str, sentence: str) -> None:
        super().__init__(f"{rule}: {sentence}")
        self.rule = rule
        self.sentence = sentence


def require(holds: bool, rule: str, sentence: str) -> None:
    """Check a rule.

    Raises:
        Violation: the rule does not hold.
    """
    if not holds:
        raise Violation(rule, sentence)
