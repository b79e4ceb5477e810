import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import { type CommandContext, exitCodes } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .option('offline', { ...kinds.flag, describe: "Don't contact other machines, except an Ollama server" })
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example('$0 doctor', 'check Node, memory, devices, Ollama, Python, API keys, disk, network');

type Args = Arguments<typeof options>;

/** @returns 1 if something is broken; a missing optional part is fine */
export async function execute(args: Args, { cwd, env, print }: CommandContext): Promise<number> {
  const { examinationText, examine } = await import('../preflight/doctor.js');
  const { plainFetch } = await import('../models/hosted/json-fetch.js');
  const { json, offline, runsDir } = args;
  const examination = await examine({ cwd, env, offline, runsDir, fetch: plainFetch });
  print(json ? JSON.stringify(examination) : examinationText(examination));
  return examination.healthy ? 0 : exitCodes.failure;
}
