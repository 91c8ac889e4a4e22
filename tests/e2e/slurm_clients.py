"""slurm_clients.py - programs that call Slurm's commands, for slurm_clients.t

Each function is one check: it fails by an exception. Called with its name.
"""
import os
import re
import subprocess
import sys
import time

PATIENCE = 60


def until(what, text):
    """Wait for what() to be true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("not within %d s: %s" % (PATIENCE, text))


def run(*argv):
    return subprocess.run(argv, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def is_(got, want):
    assert got == want, "got %r, want %r" % (got, want)


def state_of(job):
    return run("sacct", "-X", "-n", "-P", "-o", "State", "-j",
               str(job)).strip()


def queue(*options):
    return run("squeue", "-h", "-o", "%i", *options).split()


# --- submitit -----------------------------------------------------------------

def executor(**kwargs):
    import submitit
    ex = submitit.AutoExecutor(folder="submitit/%j", cluster="slurm")
    ex.update_parameters(**dict(dict(timeout_min=5, mem_gb=0.2,
                                     cpus_per_task=1), **kwargs))
    return ex


def state(job):
    return state_of(job.job_id)


def double(x):
    return 2 * x


def fail(x):
    raise ValueError("x is %d" % x)


def submitit_job():
    is_(executor().submit(double, 21).result(), 42)


def submitit_array():
    ex = executor(slurm_array_parallelism=2)
    jobs = ex.map_array(double, range(5))
    is_([job.result() for job in jobs], [0, 2, 4, 6, 8])


def submitit_failure():
    job = executor().submit(fail, 7)
    try:
        job.result()
    except Exception as e:
        assert "x is 7" in str(e), e
    else:
        raise AssertionError("no exception")
    until(lambda: state(job) == "FAILED", "FAILED")
    is_(job.watcher.get_state(job.job_id, mode="force"), "FAILED")


def submitit_tasks():
    ex = executor(tasks_per_node=2)
    is_(ex.submit(double, 1).results(), [2, 2])


def submitit_cancel():
    job = executor().submit(time.sleep, 1000)
    until(lambda: state(job) == "RUNNING", "RUNNING")
    job.cancel(check=False)
    until(lambda: state(job).startswith("CANCELLED"), "CANCELLED")
    until(lambda: job.watcher.is_done(job.job_id, mode="force"), "is_done")


class Counter:
    """Checkpoints itself when its time is over, and goes on then."""

    def __init__(self, n=0):
        self.n = n

    def __call__(self):
        self.n += 1
        if self.n > 1:
            return self.n
        open("counting", "w").close()
        while True:
            time.sleep(0.05)

    def checkpoint(self, *args, **kwargs):
        import submitit
        return submitit.helpers.DelayedSubmission(Counter(self.n))


def submitit_requeue():
    job = executor().submit(Counter())
    until(lambda: os.path.exists("counting"), "counting")
    job._interrupt(timeout=True)
    is_(job.result(), 2)
    # Its result is there before it has ended.
    until(lambda: run("sacct", "-X", "-n", "-P", "-j", job.job_id, "-o",
                      "State,Restarts").strip() == "COMPLETED|1",
          "COMPLETED, after one restart")


# --- simple-slurm -------------------------------------------------------------

def simple_slurm():
    from simple_slurm import Slurm
    slurm = Slurm(job_name="simple", output="simple_%j.out",
                  cpus_per_task=1, time="0-00:05:00")
    job = slurm.sbatch("echo", "hello", "$SLURM_JOB_NAME")
    until(lambda: state_of(job) == "COMPLETED", "COMPLETED")
    is_(open("simple_%d.out" % job).read(), "hello simple\n")
    is_(slurm.srun("echo", "hi", ">simple.srun"), 0)
    is_(open("simple.srun").read(), "hi\n")


def simple_slurm_queue():
    from simple_slurm import Slurm
    slurm = Slurm(job_name="waits", hold=True)
    jobs = [slurm.sbatch("true") for _ in range(3)]
    slurm.squeue.update_squeue()
    is_(sorted(slurm.squeue.get_filtered_jobs("waits")), jobs)
    is_(slurm.squeue.jobs[jobs[0]]["ST"], "PD")
    slurm.scancel.cancel_job(jobs[0])
    slurm.squeue.update_squeue()
    is_(sorted(slurm.squeue.jobs), jobs[1:])
    slurm.scancel.cancel_all()
    slurm.squeue.update_squeue()
    is_(slurm.squeue.jobs, {})


# --- executorlib --------------------------------------------------------------

def executorlib_job():
    """In an allocation: salloc runs this again."""
    if "SLURM_JOB_ID" not in os.environ:
        run("salloc", "-n2", sys.executable, __file__, "executorlib_job")
        return
    from executorlib import SlurmJobExecutor
    with SlurmJobExecutor(max_workers=2) as ex:
        is_([f.result(PATIENCE) for f in [ex.submit(double, n)
                                          for n in range(4)]], [0, 2, 4, 6])


# --- dask ---------------------------------------------------------------------

def dask_cluster():
    """Workers come, compute, go, and are cancelled."""
    import dask
    from dask.distributed import Client
    from dask_jobqueue import SLURMCluster
    dask.config.set({"distributed.worker.daemon": False})
    with SLURMCluster(cores=1, processes=1, memory="400MB", interface="lo",
                      walltime="00:10:00", death_timeout=PATIENCE,
                      log_directory="dask") as cluster:
        with Client(cluster) as client:
            cluster.scale(jobs=2)
            client.wait_for_workers(2, timeout=PATIENCE)
            is_(client.gather(client.map(double, range(8))),
                list(range(0, 16, 2)))
            cluster.scale(jobs=1)
            until(lambda: len(queue("-t", "R")) == 1, "one worker")
    until(lambda: not queue(), "no worker")


# --- Parsl --------------------------------------------------------------------

def parsl_apps():
    import parsl
    from parsl.config import Config
    from parsl.executors import HighThroughputExecutor
    from parsl.launchers import SrunLauncher
    from parsl.providers import SlurmProvider
    provider = SlurmProvider(
        exclusive=False, cores_per_node=2, mem_per_node=1, nodes_per_block=1,
        init_blocks=1, min_blocks=0, max_blocks=1, walltime="00:10:00",
        worker_init="export PATH=%s" % os.environ["PATH"],
        launcher=SrunLauncher())
    htex = HighThroughputExecutor(
        label="htex", provider=provider, max_workers_per_node=2,
        address="127.0.0.1", loopback_address="127.0.0.1",
        encrypted=False)
    with parsl.load(Config(executors=[htex], run_dir="parsl", strategy="none",
                           usage_tracking=0)):
        app = parsl.python_app(double)
        is_([f.result(PATIENCE) for f in [app(n) for n in range(20)]],
            list(range(0, 40, 2)))
    until(lambda: not queue(), "no block")


# --- Snakemake ----------------------------------------------------------------

WORKFLOW = """
rule part:
    output: "part_{n}.txt"
    resources: mem_mb=500, runtime=5
    shell: "echo {wildcards.n} $SLURM_JOB_ID >{output}"

rule first:
    output: "first.txt"
    group: "together"
    resources: mem_mb=500, runtime=5
    shell: "echo first >{output}"

rule second:
    input: "first.txt"
    output: "second.txt"
    group: "together"
    resources: mem_mb=500, runtime=5
    shell: "cat {input} >{output}; echo second >>{output}"

rule sum:
    input: "second.txt", expand("part_{n}.txt", n=range(2))
    output: "all.txt"
    resources: mem_mb=500, runtime=5
    shell: "cat {input} >{output}"

rule fails:
    output: "never.txt"
    resources: mem_mb=500, runtime=5
    shell: "exit 3"
"""


def snakemake():
    """Rules, a group, and a rule that fails, which stops no other."""
    with open("Snakefile", "w") as f:
        f.write(WORKFLOW)
    got = subprocess.run(
        [os.path.dirname(sys.executable) + "/snakemake", "--executor",
         "slurm", "--jobs", "4", "--keep-going", "--latency-wait", "30",
         "--slurm-init-seconds-before-status-checks", "1",
         "--seconds-between-status-checks", "1", "--default-resources",
         "slurm_account=test", "slurm_partition=main", "--", "all.txt",
         "never.txt"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert got.returncode != 0, got.stdout
    assert "SLURM status is: 'FAILED'" in got.stdout, got.stdout
    lines = open("all.txt").read().split()
    is_([w for w in lines if not w.isdigit()], ["first", "second"])
    is_(len(set(lines)), 6)


# --- Nextflow -----------------------------------------------------------------

PIPELINE = """
process SQUARE {
    array 2
    input: val n
    output: path 'n.txt'
    script: "echo \\$(($n * $n)) >n.txt"
}

process TWICE {
    errorStrategy 'retry'
    input: path 'in*'
    output: stdout
    script: "cat in* | sort -n | xargs; exit ${2 - task.attempt}"
}

workflow { Channel.of(1..4) | SQUARE | collect | TWICE | view }
"""

PIPELINE_CONFIG = """
process { executor = 'slurm'; queue = 'main'; memory = '100 MB'; time = '5m' }
executor { pollInterval = '1s'; queueStatInterval = '1s' }
"""


def nextflow():
    """A pipeline: arrays, then a process that fails and is tried again."""
    with open("main.nf", "w") as f:
        f.write(PIPELINE)
    with open("nextflow.config", "w") as f:
        f.write(PIPELINE_CONFIG)
    got = run("env", "NXF_OFFLINE=true", "NXF_HOME=" + os.getcwd() + "/nxf",
              os.path.dirname(sys.executable) + "/nextflow", "-q", "run",
              "main.nf")
    is_(got.split(), ["1", "4", "9", "16"])


# --- reportseff ---------------------------------------------------------------

def reportseff():
    job = run("sbatch", "--parsable", "-o", "/dev/null", "--wrap",
              "srun true").strip()
    until(lambda: state_of(job) == "COMPLETED", "COMPLETED")
    got = run(os.path.dirname(sys.executable) + "/reportseff", "--no-color",
              job)
    row = [line.split() for line in got.splitlines() if job in line]
    is_(row[0][:2], [job, "COMPLETED"])


# --- PSI/J ---------------------------------------------------------------------

def psij_job(ex, script, tasks=1):
    import datetime
    import psij
    return psij.Job(psij.JobSpec(
        executable="/bin/sh", arguments=["-c", script],
        stdout_path=os.path.abspath("psij.out"),
        launcher="srun" if tasks > 1 else "single",
        resources=psij.ResourceSpecV1(process_count=tasks),
        attributes=psij.JobAttributes(
            queue_name="main", duration=datetime.timedelta(minutes=5))))


def psij_jobs():
    """Jobs that succeed, fail, die by a signal, and are cancelled."""
    import psij
    from psij.executors.batch.slurm import SlurmExecutorConfig
    ex = psij.JobExecutor.get_instance("slurm", config=SlurmExecutorConfig(
        queue_polling_interval=1, initial_queue_polling_delay=0))
    tasks = psij_job(ex, "echo $SLURM_PROCID", 2)
    fails = psij_job(ex, "exit 3")
    killed = psij_job(ex, "kill -9 $$")
    runs = psij_job(ex, "exec sleep 1000")
    wanted = {tasks: "COMPLETED", fails: "FAILED", killed: "FAILED",
              runs: "CANCELED"}
    for job in wanted:
        ex.submit(job)
        if job is tasks:
            is_(str(job.wait().state), "COMPLETED")
            is_(sorted(open("psij.out").read().split()), ["0", "1"])
    until(lambda: state_of(runs.native_id) == "RUNNING", "RUNNING")
    runs.cancel()
    for job, state in wanted.items():
        is_(str(job.wait().state), state)
    is_(fails.status.exit_code, 3)


# --- batchspawner --------------------------------------------------------------

def batchspawner():
    """A server, as JupyterHub has it started, found and stopped."""
    import asyncio
    import getpass
    import socket
    import urllib.request
    from jupyterhub import orm
    from jupyterhub.objects import Hub
    from jupyterhub.user import User
    from batchspawner import SlurmSpawner

    class Server(SlurmSpawner):
        """Serves a folder in place of notebooks."""

        batchspawner_singleuser_cmd = "env"
        cmd = [sys.executable, "-m", "http.server"]

        def get_args(self):
            return [str(self.mock_port)]

    async def serve():
        db = orm.new_session_factory("sqlite:///:memory:")()
        db.add(orm.User(name=getpass.getuser()))
        db.commit()
        user = User(db.query(orm.User).first(), {})
        server = user._new_spawner("", spawner_class=Server, hub=Hub())
        server.exec_prefix = ""
        # The way to the commands and to this test's daemon
        server.environment = {
            name: os.environ[name] for name in os.environ
            if name == "PATH" or name.startswith("AISCHED_")}
        server.req_homedir = os.getcwd()
        server.req_partition = "main"
        server.req_srun = "srun"
        server.req_memory = "200M"
        with socket.socket() as free:
            free.bind(("", 0))
            server.mock_port = free.getsockname()[1]
        host, port = await server.start()
        is_(host, os.uname().nodename)
        job = server.job_id

        def answers():
            try:
                # This machine need not know its own name.
                urllib.request.urlopen("http://127.0.0.1:%d/" % port,
                                       timeout=5).close()
            except OSError:
                return False
            return True

        await asyncio.to_thread(until, answers, "an answer")
        is_(await server.poll(), None)
        await server.stop()
        until(lambda: state_of(job).startswith("CANCELLED"), "CANCELLED")
        is_(await server.poll(), 1)
    asyncio.run(serve())


# --- toil ----------------------------------------------------------------------

def toil_part(job, n):
    return 2 * n if os.environ["SLURM_JOB_ID"] else None


def toil_sum(job, parts):
    return sum(parts)


def toil_first(job):
    parts = [job.addChildJobFn(toil_part, n, cores=1, memory="200M",
                               disk="1M").rv() for n in range(3)]
    return job.addFollowOnJobFn(toil_sum, parts, cores=1, memory="200M",
                                disk="1M").rv()


def toil_fails(job):
    raise ValueError("it fails")


def toil():
    """A workflow whose parts are jobs, and one that fails."""
    from toil.common import Toil
    from toil.exceptions import FailedJobsException
    from toil.job import Job

    def flow(first, store):
        options = Job.Runner.getDefaultArgumentParser().parse_args(
            ["file:" + os.path.abspath(store), "--batchSystem", "slurm",
             "--retryCount", "0", "--statePollingWait", "1",
             "--clean", "always", "--disableProgress"])
        with Toil(options) as workflow:
            return workflow.start(Job.wrapJobFn(
                first, cores=1, memory="200M", disk="1M"))
    is_(flow(toil_first, "toil_sum"), 6)
    try:
        flow(toil_fails, "toil_fails")
    except FailedJobsException as e:
        assert e.numberOfFailedJobs == 1, e
    else:
        raise AssertionError("no exception")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
