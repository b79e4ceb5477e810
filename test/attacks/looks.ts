/** Every way to look at what lies in a directory of runs: commands, pages of the view, and tools of MCP that read. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pageBuilders } from '../../finetune/evaluate/shown-pages.js';
import { messageOf } from '../../src/base/errors.js';
import { findCommand, loadCommand } from '../../src/commands.js';
import { runTool } from '../../src/mcp/serve-mcp.js';
import { tools } from '../../src/mcp/tools.js';
import { authorizationOf } from '../../src/view/admission.js';
import { startView } from '../../src/view/server.js';
import { recordingContext } from '../support/experiments.js';

/** One way to look. */
export interface Look {
  readonly name: string;
  /** Everything that it prints, notes, writes or serves. */
  look(): Promise<LookedAt>;
}

interface LookedAt {
  readonly text: string;
  /** What it was refused with. */
  readonly error?: unknown;
}

const token = 'a-token-of-looks';

/** @param cwd whose `buffers` holds the runs, and whose `out` takes what is written */
export async function openLooks(cwd: string) {
  const view = await startView({
    ...{ roots: [{ path: join(cwd, 'buffers'), prefix: '' }], directoryName: 'here' },
    ...{ host: '127.0.0.1', port: 0 },
    milliseconds: () => performance.now(),
    ...{ note: () => undefined, token, pages: pageBuilders },
  });
  return {
    /** @param names of what is looked at, below `buffers` */
    looksAt: (names: readonly string[]): readonly Look[] => [
      ...commandLooks(cwd, names),
      ...toolLooks(cwd, names),
      ...viewLooks(view.url, names),
    ],
    close: () => view.close(),
  };
}

function commandLooks(cwd: string, names: readonly string[]): readonly Look[] {
  const command = (words: string, given: Record<string, unknown>): Look => ({
    name: `${words} ${JSON.stringify(given)}`,
    async look() {
      const out = join(cwd, 'out');
      rmSync(out, { recursive: true, force: true });
      mkdirSync(out);
      const { context, noted, printed } = recordingContext(cwd);
      const { command: loaded, defaults } = await loadCommand(words);
      let error: unknown;
      try {
        await loaded.execute({ ...defaults, ...given, runsDir: 'buffers' }, context);
      } catch (thrown) {
        error = thrown;
      }
      const written = words === 'report' ? reportsIn(join(cwd, 'buffers')) : textsIn(out);
      return { text: [...printed, ...noted, ...written, messageOf(error ?? '')].join('\n'), error };
    },
  });
  if (findCommand(['show']).command === undefined) throw new Error('there is no command show');
  const json = [true, false].map((one) => ({ json: one }));
  return [
    ...json.map((form) => command('list', form)),
    ...names.flatMap((run) => [
      ...json.map((form) => command('show', { run, ...form })),
      ...[0, 1].map((iteration) => command('show', { run, iteration, json: false })),
      command('show', { run, game: 1, json: false }),
      command('report', { run }),
      command('compare', { runs: [run], html: 'out/compare.html', unfinished: true }),
      command('export', { runs: [run], out: 'out/csv' }),
      command('export', { runs: [run], out: 'out/curves', format: 'tensorboard' }),
    ]),
    command('tag', { run: names[0], tags: [] }),
  ];
}

function toolLooks(cwd: string, names: readonly string[]): readonly Look[] {
  const tool = (name: string, given: Record<string, unknown>): Look => ({
    name: `MCP ${name} ${JSON.stringify(given)}`,
    async look() {
      const { context } = recordingContext(cwd);
      const found = tools.find((one) => one.name === name)!;
      const checked = found.input.parse(given) as Record<string, unknown>;
      const request = { runsDir: 'buffers', allowRuns: false };
      return { text: JSON.stringify(await runTool(found, checked, request, loadCommand, context)) };
    },
  });
  return [
    tool('list_runs', {}),
    ...names.flatMap((run) => [
      tool('show_run', { run }),
      tool('show_iteration', { run, iteration: 1 }),
      tool('compare_runs', { runs: [run] }),
    ]),
  ];
}

function viewLooks(url: string, names: readonly string[]): readonly Look[] {
  const headers = { authorization: authorizationOf(token), connection: 'close' };
  const page = (path: string): Look => ({
    name: `view ${path}`,
    async look() {
      const response = await fetch(new URL(path, url), { headers });
      return { text: `${response.status} ${await response.text()}` };
    },
  });
  const events = (of: string): Look => ({
    name: `view events of ${of}`,
    async look() {
      const stop = new AbortController();
      const response = await fetch(new URL(`/api/events?all&of=${of}`, url), {
        headers,
        signal: stop.signal,
      });
      let text = '';
      for await (const chunk of response.body!) {
        text += Buffer.from(chunk as Uint8Array).toString();
        if (text.includes('event: items')) break;
      }
      stop.abort();
      return { text };
    },
  });
  return names
    .map(encodeURIComponent)
    .flatMap((of) => [
      events(of),
      ...[`page?of=${of}`, `page?of=${of}&iteration=1`, `course?of=${of}`].map((path) =>
        page(`/api/${path}`),
      ),
      page(`/api/episode?of=${of}&iteration=1`),
      page(`/api/search?q=a&of=${of}`),
    ]);
}

const reportsIn = (folder: string): readonly string[] =>
  textsIn(folder, (file) => file.endsWith('report.html'));

/** The texts of small regular files. */
function textsIn(folder: string, isWanted: (file: string) => boolean = () => true): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isWanted(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => statSync(file).size < 50_000_000)
    .map((file) => `${relative(folder, file)}: ${readFileSync(file, 'utf8')}`);
}
