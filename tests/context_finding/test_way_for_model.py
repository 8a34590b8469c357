"""The way to find contexts for a model: clusters look with its own features, unless another model is named."""

import pytest

from oochub.context_finding.context_columns import make_way_for_model
from oochub.errors import OochubError
from oochub.models.model_source import ModelSource
from oochub.settings.context_settings import ContextSettings
from oochub.settings.model_settings import ModelSettings


def test_clusters_look_with_the_audited_model():
    """If no other is named. Planted faults: the audited model over a named one; a function that has no features."""
    named = ContextSettings(contexts="clusters", context_model="models/other")
    clusters, model = ContextSettings(contexts="clusters"), ModelSource("runs/erm")
    assert make_way_for_model(clusters, model, ModelSettings())._source.path == "runs/erm"
    assert make_way_for_model(named, model, ModelSettings())._source.path == "models/other"
    with pytest.raises(OochubError, match=r"a function, has none that can be found.*context_settings="):
        make_way_for_model(clusters, ModelSource(lambda pictures: pictures), ModelSettings())
    with pytest.raises(OochubError, match="segments needs model="):
        make_way_for_model(ContextSettings(contexts="segments"), model, ModelSettings())
