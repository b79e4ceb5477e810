/** A cluster of two nodes on this machine, by the daemons of Debian's `slurm-wlm` and `munge`, which only root may start. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/** Why there can be no cluster here; undefined where there can. */
export function lacking(): string | undefined {
  const isThere = (program: string) => spawnSync('which', [program]).status === 0;
  const missing = ['slurmctld', 'slurmd', 'sbatch', 'munged'].filter((program) => !isThere(program));
  if (missing.length > 0) return `no ${missing.join(', ')} (Debian: slurm-wlm, munge)`;
  return process.getuid?.() === 0 ? undefined : 'only root may start its daemons';
}

export class Cluster {
  readonly env: Readonly<Record<string, string>>;
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    const conf = join(folder, 'slurm.conf');
    this.env = { SLURM_CONF: conf, PATH: process.env.PATH! };
    mkdirSync(join(folder, 'state'), { recursive: true });
    writeFileSync(
      conf,
      `ClusterName=test
SlurmctldHost=${hostname()}(127.0.0.1)
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmUser=root
ReturnToService=2
SlurmdTimeout=10
SlurmctldPort=17600
StateSaveLocation=${folder}/state
SlurmdSpoolDir=${folder}/spool-%n
SlurmctldPidFile=${folder}/ctld.pid
SlurmdPidFile=${folder}/%n.pid
SlurmctldLogFile=${folder}/ctld.log
SlurmdLogFile=${folder}/%n.log
NodeName=n[1-2] NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=[17601-17602] CPUs=2
PartitionName=debug Nodes=ALL Default=YES State=UP
`,
    );
    // A socket alone may be that of a daemon that is gone.
    if (spawnSync('munge', ['--no-input']).status !== 0) {
      mkdirSync('/run/munge', { recursive: true });
      execFileSync('chown', ['munge', '/run/munge', '/var/log/munge', '/var/lib/munge', '/etc/munge']);
      execFileSync('runuser', ['-u', 'munge', '--', 'munged', '--force']);
    }
    this.tell('slurmctld', '-f', conf);
    for (const node of ['n1', 'n2']) this.startNode(node);
  }

  startNode(node: string): void {
    mkdirSync(join(this.#folder, `spool-${node}`), { recursive: true });
    this.tell('slurmd', '-N', node, '-f', this.env.SLURM_CONF!);
  }

  tell(program: string, ...args: readonly string[]): string {
    return execFileSync(program, [...args], {
      env: this.env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** Ends a node as a loss of power does: its daemon and all that it plays, at once. */
  killNode(node: string): void {
    const mine = this.#processesOf(node);
    for (const pid of [this.#pidOf(node), ...mine]) if (pid !== undefined) kill(pid);
  }

  stop(): void {
    for (const node of ['n1', 'n2']) this.killNode(node);
    const pid = this.#pidOf('ctld');
    if (pid !== undefined) kill(pid);
  }

  #pidOf(name: string): number | undefined {
    const file = join(this.#folder, `${name}.pid`);
    return existsSync(file) ? Number(readFileSync(file, 'utf8')) : undefined;
  }

  /** Those that have this cluster's config and this node's name in their environment. */
  #processesOf(node: string): readonly number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const set = readFileSync(`/proc/${name}/environ`, 'utf8').split('\0');
          const isOurs =
            set.includes(`SLURM_CONF=${this.env.SLURM_CONF}`) && set.includes(`SLURMD_NODENAME=${node}`);
          return isOurs ? [Number(name)] : [];
        } catch {
          return [];
        }
      });
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It is gone.
  }
}
