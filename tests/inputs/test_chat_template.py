"""Chat templates that do not end, or that are too long, are refused."""

import sys

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tiny_chat_models import TEMPLATE

from oochub.errors import OochubError
from oochub.inputs.pictures.chat_template import bounded_template, check_template_length


def test_a_long_template_is_refused():
    check_template_length(TEMPLATE)
    check_template_length(None)
    with pytest.raises(OochubError, match="has 2,000,000 characters; at most 1,048,576 are read"):
        check_template_length("x" * 2_000_000)


@pytest.mark.parametrize("loop", ["{% for a in range(9999) %}", "{% for a in 'abcdefghijklmnop' %}"])
def test_loops_without_end_are_stopped(loop):
    """Whoever traced before traces after."""
    usual = sys.gettrace()
    template = ImmutableSandboxedEnvironment().from_string(loop * 9 + "{% endfor %}" * 9)
    with pytest.raises(TimeoutError, match="more than 1,000,000 steps"), bounded_template():
        template.render()
    assert sys.gettrace() is usual


def test_a_template_that_ends_gives_the_same_text():
    template = ImmutableSandboxedEnvironment().from_string("{% for a in range(1000) %}{{ a }},{% endfor %}")
    with bounded_template():
        made = template.render()
    assert made == template.render()
