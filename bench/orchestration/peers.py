"""No-op jobs a second through two slots of others' systems, from Debian's packages: GNU parallel (parallel), Dask
(python3-distributed), Celery (python3-celery python3-redis redis-server) and Slurm (slurm-wlm munge; as root). One that is not
installed is left out, with a line that says so.
"""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

PYTHON = "/usr/bin/python3"  # which sees Debian's packages


def quietly(*command, check=True, **options):
    return subprocess.run(command, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def lacks(programs=(), modules=()):
    """What is not there, for a line; empty = it can be measured."""
    for program in programs:
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            return "no " + program
    for module in modules:
        if quietly(PYTHON, "-c", "import " + module, check=False).returncode != 0:
            return "no Python module " + module
    return ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, what, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise RuntimeError("%s did not come about within %d s" % (what, seconds))
        time.sleep(0.02)


def parallel(rounds, jobs=100):
    rates = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            quietly("parallel", "--joblog", folder + "/log", "-j2", "true", input="\n".join(map(str, range(jobs))),
                    text=True)
            rates.append(jobs / (time.monotonic() - begin))
    return rates


DASK = """
import sys, time
from distributed import Client, LocalCluster
def nothing(i): return i
if __name__ == "__main__":
    jobs = int(sys.argv[1])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            client.gather(client.map(nothing, range(100)))
            begin = time.monotonic()
            client.gather(client.map(nothing, range(1000, 1000 + jobs)))
            print(jobs / (time.monotonic() - begin))
"""


def script(text, *arguments, cwd):
    path = os.path.join(cwd, "measure.py")
    with open(path, "w") as out:
        out.write(text)
    done = subprocess.run([PYTHON, path, *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, cwd=cwd)
    return float(done.stdout)


def dask(rounds, jobs=2000):
    with tempfile.TemporaryDirectory() as folder:
        return [script(DASK, str(jobs), cwd=folder) for _ in range(rounds)]


CELERY_APP = """
from celery import Celery
app = Celery("nothing_app", broker="redis://127.0.0.1:{port}/0", backend="redis://127.0.0.1:{port}/1")
app.conf.update(task_acks_late=True, worker_prefetch_multiplier=4, broker_connection_retry_on_startup=True)
@app.task
def nothing(i): return i
"""
CELERY = """
import sys, time
from celery import group
from nothing_app import nothing
def run(jobs): group(nothing.s(i) for i in range(jobs)).apply_async().join(timeout=60)
run(20)
begin = time.monotonic()
run(int(sys.argv[1]))
print(int(sys.argv[1]) / (time.monotonic() - begin))
"""


def celery(rounds, jobs=1000):
    """Redis writes its log every second; a job is acknowledged after it has run."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        port = free_port()
        with open(os.path.join(folder, "nothing_app.py"), "w") as out:
            out.write(CELERY_APP.format(port=port))

        def start(*command):
            process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "",
              "--appendonly", "yes", "--appendfsync", "everysec")
        wait_for(lambda: quietly("redis-cli", "-p", str(port), "ping", check=False).returncode == 0, "redis-server")
        start(PYTHON, "-m", "celery", "-A", "nothing_app", "worker", "-c", "2", "-P", "prefork", "--loglevel", "ERROR")
        return [script(CELERY, str(jobs), cwd=folder) for _ in range(rounds)]


SLURM = """ClusterName=measured
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.sock
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPort={ctld_port}
SlurmdPort={slurmd_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,default_queue_depth=10000,bf_interval=30
SlurmdParameters=config_overrides
MinJobAge=5
KillWait=5
ReturnToService=2
PropagateResourceLimits=NONE
{epilog}NodeName={host} NodeAddr=127.0.0.1 NodeHostname={host} CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


@contextlib.contextmanager
def slurm_node(epilog):
    """A Slurm of one node with two processors, on loopback, without systemd; the environment for its commands."""
    folder = tempfile.mkdtemp(prefix="gyre-slurm-")
    os.chmod(folder, 0o755)
    for name in ("munge", "state", "spool"):
        os.makedirs(os.path.join(folder, name), mode=0o755)
    with open(folder + "/munge/munge.key", "wb") as key:
        os.fchmod(key.fileno(), 0o600)
        key.write(os.urandom(1024))
    with open(folder + "/slurm.conf", "w") as conf:
        conf.write(SLURM.format(host=socket.gethostname().split(".")[0], folder=folder, ctld_port=free_port(),
                                slurmd_port=free_port(), epilog="Epilog=/bin/true\n" if epilog else ""))
    environment = dict(os.environ, SLURM_CONF=folder + "/slurm.conf", PATH=os.environ["PATH"] + ":/usr/sbin")
    daemons = []
    try:
        munge = folder + "/munge/"
        for command in (["munged", "--foreground", "--force", "--key-file=" + munge + "munge.key",
                         "--socket=" + munge + "munge.sock", "--pid-file=" + munge + "munged.pid",
                         "--log-file=" + munge + "munged.log", "--seed-file=" + munge + "munged.seed"],
                        ["slurmctld", "-D", "-c"], ["slurmd", "-D"]):
            if daemons:
                wait_for(lambda: os.path.exists(munge + "munge.sock"), "munged")
            daemons.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.DEVNULL))
        idle = lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, text=True,
                                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        wait_for(idle, "an idle Slurm node")
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()
        shutil.rmtree(folder, ignore_errors=True)


def slurm(rounds, epilog=False, jobs=0):
    """One array of `jobs`; the time until all have ended."""
    jobs = jobs or (30 if epilog else 10)
    rates = []
    with slurm_node(epilog) as environment:
        for _ in range(rounds):
            begin = time.monotonic()
            quietly("sbatch", "-W", "-o", "/dev/null", "--array=1-%d" % jobs, "--wrap", "true", env=environment)
            rates.append(jobs / (time.monotonic() - begin))
    return rates


# What it is called, what it needs, and how it is measured.
PEERS = [
    ("GNU parallel --joblog (a process each)", ["parallel"], [], parallel),
    ("Dask, 2 processes (in memory)", [], ["distributed"], dask),
    ("Celery, 2 processes, Redis' log each second", ["redis-server", "redis-cli"], ["celery", "redis"], celery),
    ("Slurm, 2 processors, an array", ["munged", "slurmctld", "slurmd", "sbatch"], [], slurm),
    ("Slurm, the same with an epilog", ["munged", "slurmctld", "slurmd", "sbatch"], [],
     lambda rounds: slurm(rounds, epilog=True)),
]


def measure(rounds):
    """(what, rates in jobs/s, or why there are none), one after another."""
    for name, programs, modules, run in PEERS:
        missing = lacks(programs, modules)
        if not missing and run not in (parallel, dask, celery) and os.geteuid() != 0:
            missing = "only root may start it"
        try:
            yield name, [] if missing else run(rounds), missing
        except (RuntimeError, OSError, subprocess.SubprocessError, ValueError) as error:
            yield name, [], str(error)
