from workbench.synthesis.coherence.option_sets import decide


def test_a_probability_at_the_threshold_is_not_taken_as_true() -> None:
    assert not decide(0.5) and decide(0.5000001)
    assert not decide(0.7, 0.7) and decide(0.71, 0.7)
