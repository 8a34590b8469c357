"""Chat templates that do not end, or that are too long, are refused."""

import sys

import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tiny_chat_models import TEMPLATE
from transformers.utils import chat_template_utils

from oochub.errors import OochubError
from oochub.inputs.pictures.chat_processor import bounded_template, check_template_length


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


@pytest.mark.parametrize(
    "expression",
    [
        "7 ** (10 ** 9)",
        "7 ** 900000",
        "10 ** 6 * 10 ** 6",
        "'x' * 10 ** 9",
        "[1] * 2000000",
        "(9 ** 6) * 'abcdef'",
        "'%0999999999d' % 1",
        "'%0*d' % (999999999, 1)",
        "'{:>999999999}'.format(1)",
        "'x'.ljust(999999999)",
        "'x' | center(999999999)",
        "'x' | center('999999999' | int)",
        "'x' | indent(999999999)",
        "[1] | batch(999999999, 'x') | list",
        "[1] | slice(999999999) | list",
        "lipsum(n=999999999)",
        "messages | tojson(indent=999999999)",
        "range(99999) | join('x' * 9999)",
        "('x' * 99999).replace('x', 'y' * 99999)",
    ],
)
def test_what_one_step_makes_is_bounded(expression):
    """Numbers with a billion digits and texts of gigabytes; each as transformers compiles and renders it."""
    before = chat_template_utils.ImmutableSandboxedEnvironment
    conversation = [[{"role": "user", "content": "hello"}]]
    with pytest.raises((OverflowError, TimeoutError)), bounded_template():
        chat_template_utils.render_jinja_template(conversation, chat_template="{{ " + expression + " }}")
    assert chat_template_utils.ImmutableSandboxedEnvironment is before


@pytest.mark.parametrize("growth", ["{% set ns.s = ns.s ~ ns.s %}", "{% set ns.s %}{{ ns.s }}{{ ns.s }}{% endset %}"])
def test_texts_that_double_are_stopped(growth):
    """2 to the power of 40 characters."""
    template = "{% set ns = namespace(s='xx') %}{% for a in range(40) %}" + growth + "{% set t = ns.s %}{% endfor %}"
    with pytest.raises(OverflowError, match="above 1,048,576"), bounded_template():
        chat_template_utils.render_jinja_template([[{"role": "user", "content": "a"}]], chat_template=template)


def test_a_usual_template_computes_as_before():
    """Indices, remainders, repeated marks and formats."""
    text = (
        "{% for m in messages %}{{ loop.index0 % 2 }}{{ '-' * 3 }}{{ 2 ** 5 }}{{ '%03d' % 7 }}"
        "{{ m.content | trim | center(9) }}{{ '{:>4}'.format(5) }}{{ m | tojson(indent=2) }}"
        "{{ dict(function=1, context=2) }}{% endfor %}"
    )
    conversation = [[{"role": "user", "content": "hello"}]]
    (plain,), _ = chat_template_utils.render_jinja_template(conversation, chat_template=text + " ")
    with bounded_template():
        (made,), _ = chat_template_utils.render_jinja_template(conversation, chat_template=text + "  ")
    assert made.strip() == plain.strip() and "0---32007  hello     5" in made


def test_a_template_that_ends_gives_the_same_text():
    template = ImmutableSandboxedEnvironment().from_string("{% for a in range(1000) %}{{ a }},{% endfor %}")
    with bounded_template():
        made = template.render()
    assert made == template.render()
