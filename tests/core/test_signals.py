"""Signals wait for what must not be cut in two, and nothing else of them changes."""

import signal
import threading

import pytest

from klsnmf.core.signals import undisturbed

#: Signals that tests handle; SIGINT is handled by Python itself.
HANDLED = [signal.SIGINT, signal.SIGTERM, signal.SIGALRM]


@pytest.fixture(params=HANDLED, ids=lambda number: number.name)
def number(request):
    def interrupt(came, _):
        raise KeyboardInterrupt(came)

    before = signal.signal(request.param, interrupt)
    yield request.param
    signal.signal(request.param, before)


def test_a_signal_waits_until_the_work_is_done(number):
    before, done = signal.getsignal(number), []

    def work():
        with undisturbed():
            signal.raise_signal(number)
            done.append("inside")
        done.append("after")

    with pytest.raises(KeyboardInterrupt, match=str(int(number))):
        work()
    assert done == ["inside"]
    assert signal.getsignal(number) is before


def test_an_error_inside_is_seen_behind_the_signal(number):
    def work():
        with undisturbed():
            signal.raise_signal(number)
            raise OSError("the disk is full")

    with pytest.raises(KeyboardInterrupt) as stopped:
        work()
    assert isinstance(stopped.value.__context__, OSError)


def test_signals_wait_for_the_outer_one_of_two(number):
    done = []

    def work():
        with undisturbed():
            with undisturbed():
                signal.raise_signal(number)
            done.append("between")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["between"]


def test_signals_that_python_does_not_handle_are_left_alone():
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with undisturbed():
            assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_threads_than_the_first_cannot_be_disturbed():
    done = []

    def work():
        with undisturbed():
            done.append("inside")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["inside"]
