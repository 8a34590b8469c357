"""What the fuzz files share: a campaign of the session."""

import pytest
from fuzz_case import Campaign


@pytest.fixture(scope="session")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Runs cases, and puts their outcomes on record."""
    return Campaign(tmp_path_factory.mktemp("campaign"))
