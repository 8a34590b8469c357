"""The features that a sweep keeps: what a killed run left half-written is no part of them."""

from oochub.sweep.feature_measurement import FeatureCache


def test_a_draft_is_no_part(tmp_path):
    """A kill at random found it: seed 285147 of `make campaign`. Planted fault: every Parquet file of the folder."""
    (tmp_path / ".0.parquet.draft-0bbfd16a-7939.x3pb3job.parquet").write_bytes(b"half")
    FeatureCache(tmp_path)
