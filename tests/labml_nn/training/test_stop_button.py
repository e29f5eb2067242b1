import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from labml_nn.training.stop_button import StopButton


def test_the_first_press_is_noted_and_the_second_one_is_an_error() -> None:
    before = signal.getsignal(signal.SIGINT)
    button = StopButton()
    with button.watched():
        assert not button.pressed
        signal.raise_signal(signal.SIGINT)
        assert button.pressed
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_leaves_ctrl_c_as_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ZeroDivisionError), StopButton().watched():
        raise ZeroDivisionError
    assert signal.getsignal(signal.SIGINT) is before


def test_in_a_thread_of_its_own_nothing_is_changed() -> None:
    before = signal.getsignal(signal.SIGINT)

    def inside() -> object:
        with StopButton().watched():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(inside).result() is before
