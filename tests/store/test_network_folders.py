"""A data folder on another machine is refused with its reason; everything else opens."""

from contextlib import closing
from pathlib import Path

import pytest

from workbench.errors import UsageError
from workbench.store import Store, database, network_folders


def test_a_home_on_a_network_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    # of the very function that a home is opened with: a doctest may have loaded its file a second time
    monkeypatch.setitem(vars(database)["refuse_network_folder"].__globals__, "_MOUNTS", mounts)
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/share {tmp_path}/share nfs4 rw 0 0\n")
    with pytest.raises(UsageError, match=r"network file system \(nfs4\).*WORKBENCH_HOME"):
        Store(tmp_path / "share" / "home")
    assert not (tmp_path / "share").exists(), "nothing is made there"
    with closing(Store(tmp_path / "home")):
        pass


def test_a_local_folder_below_a_network_one_is_local() -> None:
    mounts = "server:/d /data nfs rw 0 0\n/dev/sdb /data/local ext4 rw 0 0\n"
    assert network_folders.network_kind(Path("/data/local/home"), mounts) is None
    assert network_folders.network_kind(Path("/data/home"), mounts) == "nfs"
