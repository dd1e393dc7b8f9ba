"""What a benchmark ran on, and where its figures are kept: the machine in words, versions, the dated file."""

import datetime
import json
import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "results"


def machine(cores: int) -> dict[str, Any]:
    """What the figures depend on; nothing that names this one host."""
    about: dict[str, Any] = {
        "cpu": cpu(),
        "cores": cores,
        "system": f"{platform.system()} {platform.machine()}",
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        about["memory_gib"] = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)
    cache = Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    if cache.is_file():
        about["l3"] = cache.read_text().strip()
    return about


def cpu() -> str:
    """The processor's own name."""
    info = Path("/proc/cpuinfo")
    if info.is_file() and (found := re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE)):
        return found[1].strip()
    if platform.system() == "Darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return platform.processor() or platform.machine()


def load() -> float | None:
    """How many processes wanted to run in the last minute, where the system says so."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def versions(*packages: str) -> dict[str, str]:
    """Python's and the installed packages' versions."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "from its sources"
    return found


def now() -> str:
    """The date and minute, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes")


def save(name: str, record: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Write `record`, which has a machine and a date, as NAME-<machine>-<date>.json."""
    about = f"{record['machine']['cpu']} {record['machine']['cores']} cores"
    slug = (
        re.sub(r"[^A-Za-z0-9]+", "-", re.sub(r"\((R|TM)\)|@.*?(?= \d+ cores)", "", about)).strip("-").lower()
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{slug}-{record['date'][:10]}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path
