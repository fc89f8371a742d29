"""Progress for people: plain lines where there is no terminal, bars where there is one, nothing when quiet."""

import io
import re

import pytest

from expunge import bars
from expunge.errors import ConfigError
from expunge.unlearning import Progress, RichMeter, TensorBoardMeter, combine, measured


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(bars.time, "monotonic", lambda: Clock.now)
    return Clock


def test_plain_lines_come_now_and_then_and_say_what_is_left(clock, capsys):
    with bars.Bars() as shown:
        for done in range(41):
            shown.move("training", done, 40, "loss 0.5")
            clock.now += 0.5
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "training 4/40 (10%)  about 18 s left  loss 0.5"
    assert [int(re.search(r" (\d+)/", line)[1]) for line in lines] == [4, 14, 24, 34]


def test_what_is_quick_says_nothing(clock, capsys):
    with bars.Bars() as shown:
        for done in range(11):
            shown.move("training", done, 10)
            clock.now += 0.1
    assert capsys.readouterr().err == ""


def test_a_second_run_of_the_same_name_has_its_own_clock(clock, capsys):
    with bars.Bars() as shown:
        shown.move("fine-tune", 10, 10)
        clock.now += 1000.0
        shown.move("fine-tune", 1, 10)
        clock.now += 3.0
        shown.move("fine-tune", 4, 10)
    assert capsys.readouterr().err == "fine-tune 4/10 (40%)  about 6 s left\n"


def test_quiet_is_silent(clock, capsys):
    with bars.Bars(quiet=True) as shown:
        shown.move("training", 0, 10)
        clock.now += 100.0
        shown.move("training", 5, 10)
        shown.say("hello")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_terminal_gets_bars(monkeypatch):
    from rich.console import Console

    file = io.StringIO()
    monkeypatch.setattr("rich.console.Console", lambda **_: Console(file=file, force_terminal=True, width=100))
    with bars.Bars() as shown:
        shown.move("training", 3, 10, "loss 0.25")
        shown.say("half way")
    text = file.getvalue()
    assert "training" in text
    assert "3/10" in text
    assert "loss 0.25" in text
    assert "half way" in text


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "0 s"), (59, "59 s"), (180, "3 min"), (9000, "2.5 h")])
def test_durations_are_said_as_people_say_them(seconds, said):
    assert bars.duration(seconds) == said


def steps(count, phase="fine-tune"):
    return [Progress(phase, step, count, loss=1.0 / step) for step in range(1, count + 1)]


def test_the_meter_shows_loss_and_accuracy(clock, capsys):
    with RichMeter() as meter:
        tell = measured(meter, lambda: 0.75, every=2)
        for progress in steps(10):
            tell(progress)
            clock.now += 1.0
    assert "loss 0.3333  accuracy 75.0%" in capsys.readouterr().err


def test_meters_are_combined_and_accuracy_is_measured_when_it_is_due():
    first, second = [], []
    tell = measured(combine(first.append, second.append), lambda: 0.5, every=3)
    for progress in [*steps(4, "noise"), *steps(7)]:
        tell(progress)
    assert first == second
    assert [(p.phase, p.step) for p in first if p.accuracy is not None] == [
        ("noise", 3), ("noise", 4), ("fine-tune", 3), ("fine-tune", 6), ("fine-tune", 7)
    ]  # fmt: skip


def test_measuring_every_zero_steps_is_refused():
    with pytest.raises(ConfigError, match="every"):
        measured(print, lambda: 0.5, every=0)


def test_tensorboard_gets_every_scalar(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with TensorBoardMeter(tmp_path) as meter:
        for progress in steps(5):
            measured(meter, lambda: 0.9, every=5)(progress)
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    assert read.Tags()["scalars"] == ["fine-tune/loss", "fine-tune/accuracy"]
    assert [event.step for event in read.Scalars("fine-tune/loss")] == [1, 2, 3, 4, 5]
    assert [event.value for event in read.Scalars("fine-tune/accuracy")] == [pytest.approx(0.9)]
