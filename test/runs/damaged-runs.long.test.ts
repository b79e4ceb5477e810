/** Commands that read runs continue if one is damaged or unusual, and name it. */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute as compareCommand } from '../../src/commands/compare.js';
import { execute as listCommand } from '../../src/commands/list.js';
import { execute as reportCommand } from '../../src/commands/report.js';
import { execute as showCommand } from '../../src/commands/show.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import {
  quick,
  readRunFile,
  recordingContext,
  resumeExperiment,
  runExperimentFrom,
  temporaryDirectory,
} from '../support/experiments.js';

const config = { ...quick, model: { provider: 'random' } } as const;
const runsDir = 'buffers';

let whole: string;
beforeAll(async () => {
  whole = (await runExperimentFrom(config, { path: join(temporaryDirectory(), 'whole') })).path;
});

/** A folder with a whole run `a`, and its copy `b` that is then damaged. */
function folder(damage: (path: string) => void) {
  const cwd = temporaryDirectory();
  const at = (name: string) => join(cwd, runsDir, name);
  mkdirSync(join(cwd, runsDir));
  cpSync(whole, at('a'), { recursive: true });
  cpSync(whole, at('b'), { recursive: true });
  damage(at('b'));
  return { cwd, at, ...recordingContext(cwd) };
}

const edit = (path: string, change: (text: string) => string) =>
  writeFileSync(path, change(readFileSync(path, 'utf8')));

const show = { runsDir, top: 3, json: false };

describe('overflowing returns', () => {
  it.each([1e308, -1e308])('end a run with a reason, for rewards of %d', async (reward) => {
    const folderOfReward = temporaryDirectory();
    const file = join(folderOfReward, 'reward.mjs');
    writeFileSync(file, `export default { create: () => () => ${reward} };`);
    const { path } = await runExperimentFrom({
      ...config,
      evaluation: { ...quick.evaluation, reward: file },
    });
    const { reason, status } = readManifest(path);
    expect(status).toBe('failed');
    expect(reason).toMatchObject({ kind: 'environment-error', failure: 'invalid' });
    expect(JSON.stringify(reason)).toContain('the return of an episode');
    expect(readRunFile(path, 'manifest')).not.toContain('null');
    expect(readRun(path).entries).toEqual([]);
  });

  it('are left out and reported if they are stored as null', async () => {
    const { at, context, cwd, noted, printed } = folder((path) => {
      edit(join(path, 'evaluations.jsonl'), (text) => {
        const lines = text.split('\n');
        lines[4] = lines[4]!
          .replace(/"returns":\[[^\]]*\]/, '"returns":[null,null,null]')
          .replace(/"score":[^,}]*/, '"score":null');
        return lines.join('\n');
      });
    });
    expect(await listCommand({ runsDir, json: false }, context)).toBe(0);
    expect(printed.at(-1)).toMatch(/^1 +a .*\n2 +b .*/m);
    expect(await showCommand({ ...show, run: 'b' }, context)).toBe(0);
    expect(noted.at(-1)).toContain('non-numeric returns in 1 of 9 evaluations');
    expect(await reportCommand({ run: 'b', runsDir, open: false, json: false }, context)).toBe(0);
    expect(readFileSync(join(at('b'), 'report.html'), 'utf8')).toContain(
      'non-numeric returns in 1 of 9 evaluations',
    );
    expect(await compareCommand({ runs: ['a', 'b'], runsDir, unfinished: false, json: true }, context)).toBe(
      0,
    );
    expect(printed.at(-1)).toContain('non-numeric returns in 1 of 9 evaluations');
    // What stands in the log stays there.
    await resumeExperiment(join(cwd, runsDir, 'b'), { overrides: ['iterations=8'] });
    expect(readRunFile(at('b'), 'evaluations').trimEnd().split('\n')).toHaveLength(11);
    expect(readRunFile(at('b'), 'evaluations')).toContain('"score":null');
  });
});

describe('a damaged log', () => {
  it.each(['calls', 'evaluations', 'events', 'episodes'] as const)(
    'of %s does not break show and report, which name the line if they read it',
    async (log) => {
      const { at, context, noted } = folder((path) =>
        edit(join(path, `${log}.jsonl`), (text) => {
          const lines = text.split('\n');
          lines[2] = '{"iteration":1,"candidate":0,"episode":0,"outcome":{"kind":"rubbish}';
          return lines.join('\n');
        }),
      );
      expect(await showCommand({ ...show, run: 'b' }, context)).toBe(0);
      expect(await reportCommand({ run: 'b', runsDir, open: false, json: false }, context)).toBe(0);
      const page = readFileSync(join(at('b'), 'report.html'), 'utf8');
      // A show reads no trajectories, so it does not look into their lines.
      if (log !== 'episodes') {
        expect(noted.join('\n')).toContain(`${log}.jsonl:3: this line is not valid JSON`);
        expect(page).toContain(`${log}.jsonl:3: this line is not valid JSON`);
      }
      // To go on with it would lose what is broken.
      if (log !== 'episodes') await expect(resumeExperiment(at('b'))).rejects.toThrow(`${log}.jsonl:3`);
    },
  );

  it('of calls does not prevent show --iteration, but is rejected by readRun', async () => {
    const { at, context, printed } = folder((path) =>
      edit(join(path, 'calls.jsonl'), (text) => {
        const lines = text.split('\n');
        lines[1] = 'broken';
        return lines.join('\n');
      }),
    );
    expect(await showCommand({ ...show, run: 'b', iteration: 1 }, context)).toBe(0);
    expect(printed.at(-1)).toContain('iteration 1, candidate 1');
    await expect(showCommand({ ...show, run: 'b', iteration: 77 }, context)).rejects.toThrow('--iteration');
    expect(() => readRun(at('b'))).toThrow('calls.jsonl:2');
  });
});

describe('a manifest that', () => {
  it.each([
    ['is empty', (file: string) => writeFileSync(file, '')],
    [
      'has text instead of a number',
      (file: string) => edit(file, (text) => JSON.stringify({ ...(JSON.parse(text) as object), seed: 'x' })),
    ],
  ])('%s does not stop list or compare, and is reported', async (_, damage) => {
    const { context, noted, printed } = folder((path) => damage(join(path, 'manifest.json')));
    expect(await listCommand({ runsDir, json: false }, context)).toBe(0);
    expect(printed.at(-1)).toMatch(/^1 +a /m);
    expect(noted).toEqual(['b: its manifest is damaged; see policyloop show b']);
    await expect(showCommand({ ...show, run: 'b' }, context)).rejects.toThrow('manifest.json');
    expect(await compareCommand({ runs: ['a', 'b'], runsDir, unfinished: false, json: true }, context)).toBe(
      0,
    );
    expect(printed.at(-1)).toContain('manifest.json');
  });
});
