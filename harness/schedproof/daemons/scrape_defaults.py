"""The series of node_exporter's other default collectors on an idle machine, of which no clause changes the values.

Their names and labels are those of node_exporter 1.12 (collector/*_linux.go). They agree with the machine that a Node
object describes, and with each other: its processors are idle, so that their idle time grows by a second per second.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from types import MappingProxyType

BOOTED = 1_760_000_000.0
"""When the machine was started, in seconds since the epoch."""

SPEED, IS_UP = "node_network_speed_bytes", "node_network_up"


@dataclasses.dataclass(frozen=True)
class Still:
    """A series that no clause changes: `value` at the epoch, and what it grows by in each second."""

    labels: Mapping[str, str]
    value: float
    growth: float = 0.0

    def at(self, moment: float) -> float:
        """Return its value at a moment, in seconds since the epoch."""
        return self.value + self.growth * moment if self.growth else self.value


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a Node's capacity says of its machine; memory and storage in bytes."""

    cpus: int = 8
    memory: float = 16 * 2.0**30
    storage: float = 100 * 2.0**30


USUAL = Machine()

_GIGABITS_10 = 10e9 / 8
_MODES = ("idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user")

_OF_DEVICE: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "address_assign_type": (0, 0), "carrier": (1, 1), "carrier_changes_total": (0, 2),
        "carrier_down_changes_total": (0, 1), "carrier_up_changes_total": (0, 1), "device_id": (0, 0),
        "dormant": (0, 0), "flags": (9, 4099), "iface_link_mode": (0, 0), "mtu_bytes": (65536, 1500),
        "net_dev_group": (0, 0), "protocol_type": (772, 1), "transmit_queue_length": (1000, 1000),
    }
)  # fmt: skip
"""Values of the netclass collector: of the loopback, and of other devices."""

_OF_MACHINE: Mapping[str, float] = MappingProxyType(
    {
        "node_context_switches_total": 1e8, "node_entropy_available_bits": 256, "node_entropy_pool_size_bits": 256,
        "node_filefd_allocated": 2048, "node_filefd_maximum": 2.0**63, "node_forks_total": 1e5, "node_intr_total": 1e8,
        "node_load1": 0, "node_load15": 0, "node_load5": 0, "node_netstat_Icmp_InErrors": 0,
        "node_netstat_Icmp_InMsgs": 0, "node_netstat_Icmp_OutMsgs": 0, "node_netstat_IpExt_InOctets": 0,
        "node_netstat_IpExt_OutOctets": 0, "node_netstat_Ip_Forwarding": 1, "node_netstat_TcpExt_ListenDrops": 0,
        "node_netstat_TcpExt_ListenOverflows": 0, "node_netstat_TcpExt_TCPTimeouts": 0,
        "node_netstat_Tcp_ActiveOpens": 0, "node_netstat_Tcp_CurrEstab": 0, "node_netstat_Tcp_InErrs": 0,
        "node_netstat_Tcp_InSegs": 0, "node_netstat_Tcp_OutRsts": 0, "node_netstat_Tcp_OutSegs": 0,
        "node_netstat_Tcp_PassiveOpens": 0, "node_netstat_Tcp_RetransSegs": 0, "node_netstat_Udp_InDatagrams": 0,
        "node_netstat_Udp_InErrors": 0, "node_netstat_Udp_OutDatagrams": 0, "node_nf_conntrack_entries": 0,
        "node_nf_conntrack_entries_limit": 262144, "node_procs_blocked": 0, "node_procs_running": 1,
        "node_sockstat_TCP_alloc": 0, "node_sockstat_TCP_inuse": 0, "node_sockstat_TCP_tw": 0,
        "node_sockstat_UDP_inuse": 0, "node_sockstat_sockets_used": 0, "node_vmstat_oom_kill": 0,
        "node_vmstat_pgfault": 1e8, "node_vmstat_pgmajfault": 1e4, "node_vmstat_pgpgin": 1e6,
        "node_vmstat_pgpgout": 1e6, "node_vmstat_pswpin": 0, "node_vmstat_pswpout": 0,
    }
)  # fmt: skip

_FREE = 0.75
"""The free share of memory and of the file system."""

_COLLECTORS = (
    "conntrack", "cpu", "entropy", "filefd", "filesystem", "loadavg", "meminfo", "netclass", "netstat", "sockstat",
    "stat", "time", "vmstat",
)  # fmt: skip


@functools.lru_cache(maxsize=64)
def others(devices: tuple[str, ...], machine: Machine) -> Sequence[Still]:
    """Return the series without the target's labels. `devices`: the network devices, without the loopback."""
    return (
        *(still for number, device in enumerate(("lo", *devices)) for still in _of_device(device, number)),
        *(Still({"__name__": name}, value) for name, value in _OF_MACHINE.items()),
        *_of_processors(machine.cpus),
        *_of_memory(machine.memory),
        *_of_file_system(machine.storage),
        Still({"__name__": "node_boot_time_seconds"}, BOOTED),
        Still({"__name__": "node_time_seconds"}, 0.0, 1.0),
        *(
            Still({"__name__": f"node_scrape_collector_{name}", "collector": collector}, value)
            for collector in _COLLECTORS
            for name, value in (("duration_seconds", 1e-4), ("success", 1.0))
        ),
    )


def linked(device: str) -> Sequence[Still]:
    """Return those series of a device that queries of its traffic join with: its speed, and whether it is up."""
    if device == "lo":
        return (Still({"__name__": IS_UP, "device": device}, 0.0),)  # the kernel calls its state unknown
    return (
        Still({"__name__": SPEED, "device": device}, _GIGABITS_10),
        Still({"__name__": IS_UP, "device": device}, 1.0),
    )


def _of_device(device: str, number: int) -> Sequence[Still]:
    """Return the series of the netclass collector; `number` is 0 for the loopback."""
    info = {
        "address": f"02:00:00:00:00:{number:02x}" if number else "00:00:00:00:00:00",
        "adminstate": "up", "broadcast": "ff:ff:ff:ff:ff:ff" if number else "00:00:00:00:00:00",
        "duplex": "full" if number else "", "ifalias": "", "operstate": "up" if number else "unknown",
    }  # fmt: skip
    return (
        *linked(device),
        Still({"__name__": "node_network_info", "device": device, **_not_empty(info)}, 1.0),
        Still({"__name__": "node_network_iface_id", "device": device}, number + 1.0),
        Still({"__name__": "node_network_iface_link", "device": device}, number + 1.0),
        *(
            Still({"__name__": f"node_network_{name}", "device": device}, float(values[bool(number)]))
            for name, values in _OF_DEVICE.items()
        ),
    )


def _of_processors(cpus: int) -> Sequence[Still]:
    def seconds(cpu: int, mode: str) -> Still:
        labels = {"__name__": "node_cpu_seconds_total", "cpu": str(cpu), "mode": mode}
        return Still(labels, -BOOTED, 1.0) if mode == "idle" else Still(labels, 100.0)

    return [seconds(cpu, mode) for cpu in range(cpus) for mode in _MODES]


def _of_memory(total: float) -> Sequence[Still]:
    free = _FREE * total
    values = {
        "MemTotal": total, "MemFree": free, "MemAvailable": free, "Buffers": 0.0, "Cached": 0.0, "Slab": 0.0,
        "SwapTotal": 0.0, "SwapFree": 0.0, "Active": total - free, "Inactive": 0.0, "Dirty": 0.0,
    }  # fmt: skip
    return [Still({"__name__": f"node_memory_{name}_bytes"}, value) for name, value in values.items()]


def _of_file_system(size: float) -> Sequence[Still]:
    labels = {"device": "/dev/vda1", "device_error": "", "fstype": "ext4", "mountpoint": "/"}
    values = {
        "size_bytes": size, "free_bytes": _FREE * size, "avail_bytes": _FREE * size, "files": 6_553_600.0,
        "files_free": 6_000_000.0, "readonly": 0.0, "device_error": 0.0,
    }  # fmt: skip
    return [
        Still({"__name__": f"node_filesystem_{name}", **_not_empty(labels)}, value) for name, value in values.items()
    ]


def _not_empty(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return labels without those whose value is empty: to Prometheus, these do not exist."""
    return {name: value for name, value in labels.items() if value}
