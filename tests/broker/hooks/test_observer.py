"""The methods of an observer match the events that the broker reports."""

import inspect

from gateway import hooks
from gateway.broker.hooks.dispatch import METHODS
from gateway.broker.hooks.observer import Observer


def test_an_observer_has_a_method_for_each_event_and_no_other() -> None:
    methods = {name for name, _ in inspect.getmembers(Observer, inspect.isfunction)}
    assert methods == set(METHODS.values())


def test_each_method_takes_the_event_that_it_is_called_with() -> None:
    for event, name in METHODS.items():
        (_, parameter) = inspect.signature(getattr(Observer, name)).parameters.values()
        assert parameter.annotation is event, name


def test_whatever_a_module_needs_is_in_the_room_itself() -> None:
    assert hooks.Observer is Observer
    for event in METHODS:
        assert getattr(hooks, event.__name__) is event
