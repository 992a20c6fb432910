from frontends.summary import FLOAT, INTEGER, UNSUPPORTED, OperatorInfo, Summary


def test_operators_are_counted_by_kind_and_lowering() -> None:
    kinds = [("ADD", INTEGER, 0), ("CONV_2D", INTEGER, 5), ("CONV_2D", INTEGER, 7)]
    kinds += [("ADD", FLOAT, 0), ("SVDF", UNSUPPORTED, 0)]
    operators = tuple(
        OperatorInfo(i, code, "y", (), (), macs=macs, lowering=lowering)
        for i, (code, lowering, macs) in enumerate(kinds)
    )
    summary = Summary("net", "TFLite", (), (), operators, 0, 0)
    assert summary.macs == 12
    assert summary.counts()[0] == ("CONV_2D", INTEGER, 2, 12)
    assert ("ADD", FLOAT, 1, 0) in summary.counts()
    assert [operator.code for operator in summary.unsupported] == ["SVDF"]
