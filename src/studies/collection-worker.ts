/** A thread that plays runs of a collection for `finetune-collect-workers.ts`, one after the other. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { isLanguageModel } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import type { CommandContext } from '../context.js';
import { UserError } from '../errors.js';
import { runInDirectory } from '../experiment/session.js';
import type { RunEvent } from '../runs/events.js';
import { readManifest, readRun, runFiles } from '../runs/reader.js';
import type { CollectedJob, CollectedNews, CollectorSetting } from './collection-workers.js';
import { openRepeat } from './repeats.js';

const { cwd, env, time } = workerData as CollectorSetting;
const never = new AbortController().signal;

const context: CommandContext = {
  print: () => undefined,
  note: () => undefined,
  terminal: undefined,
  cwd,
  env,
  // The clock of the command, gone on with.
  now: () => new Date(time + performance.now()),
  milliseconds: () => performance.now(),
  stop: { finish: never, abort: never },
};

const tell = (news: CollectedNews) => parentPort?.postMessage(news);

parentPort?.on('message', (job: CollectedJob) => {
  play(job).then(
    (failure) => tell({ kind: 'ended', failure }),
    (error: unknown) => {
      // Nothing else would hear of it; the thread ends, and the command with it.
      setImmediate(() => {
        throw error;
      });
    },
  );
});

/** @returns why the run failed, undefined where it did not */
async function play({ path, config }: CollectedJob): Promise<string | undefined> {
  if (existsSync(path) && !isReadable(path)) rmSync(path, { recursive: true });
  let evaluations = 0;
  const show = ({ kind }: RunEvent) => {
    if (kind === 'warmup-evaluated' || kind === 'candidate-evaluated') evaluations++;
    if (kind !== 'iteration-finished') return;
    tell({ kind: 'evaluated', evaluations });
    evaluations = 0;
  };
  try {
    // Calls of a language model are not to be paid for twice; a control's are made again in no time.
    const durability = isLanguageModel(config.model) ? 'iteration' : 'run';
    const opened = await openRepeat(path, config, context, durability);
    if (opened !== undefined) {
      await runInDirectory(opened.assembly, opened.directory, { show, close: () => undefined }, context);
    }
  } catch (error) {
    if (error instanceof UserError) return error.message;
    throw error;
  }
  const { status, reason } = readManifest(path);
  if (status === 'completed') return undefined;
  return reason !== undefined && 'message' in reason ? reason.message : 'the run failed';
}

/** A run whose files a crash of the machine has torn starts anew. */
function isReadable(path: string): boolean {
  try {
    loadConfig({ file: join(path, runFiles.config) });
    readRun(path);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
