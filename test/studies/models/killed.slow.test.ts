/** A comparison of models that is killed without notice, and goes on: it finds what one finds that nothing happened to. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { resultOf } from '../../../scripts/killed-runs.js';
import { runsBelow } from '../../../src/runs/finder.js';
import type { ModelsResult } from '../../../src/studies/models/models-result.js';
import { startCommand } from '../../support/command.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { type OpenAIRequest, startFakeOpenAI } from '../../support/fake-openai.js';

const place = temporaryDirectory();

/** Called with every request, before it is answered. */
let arrives: (request: OpenAIRequest) => void = () => undefined;

/** The seed of a call fixes its reply; `second` needs a correction. */
const server = await startFakeOpenAI({
  reply: (request) => {
    arrives(request);
    const { messages, model, seed = 0 } = request;
    if (model === 'second' && messages.length === 2) return 'I would go left.';
    const values = Array.from({ length: 8 }, (_, i) => ((((seed + 1) * (i + 3) * 7919) % 121) - 60) / 10);
    return values.map((value, i) => `params[${i}]: ${value.toFixed(1)}`).join(', ');
  },
});
afterAll(() => server.close());

writeFileSync(
  join(place, 'pole.yaml'),
  `environment: CartPole-v1
policy: { kind: linear, bias: false }
model: { provider: openai, name: first, baseUrl: "${server.url}", price: { input: 1, output: 2 } }
warmup: 3
corrections: 1
evaluation: { episodes: 2, maxSteps: 60 }
`,
);

const histories = 5;

function compare(out: string, jobs: number) {
  const options = ['--histories', String(histories), '--baselines', 'random,gp', '--jobs', String(jobs)];
  const models = 'model.name=first,second';
  return startCommand(place, ['models', 'compare', 'pole.yaml', models, '--out', out, '--json', ...options]);
}

/** When a process is killed: in the middle of a call, or when it has printed some runs. */
type Kill =
  | { readonly jobs: number; readonly inCall: (request: OpenAIRequest, calls: number) => boolean }
  | { readonly jobs: number; readonly afterRuns: number; readonly delayMs: number };

async function killed(out: string, kill: Kill): Promise<NodeJS.Signals | null> {
  const { child, ended } = compare(out, kill.jobs);
  let [calls, runs, isDue] = [0, 0, false];
  const end = () => {
    isDue = true;
    child.kill('SIGKILL');
  };
  arrives = (request) => {
    calls++;
    if (!isDue && 'inCall' in kill && kill.inCall(request, calls)) end();
  };
  child.stdout!.on('data', (chunk: Buffer) => {
    runs += chunk.toString().split('\n').length - 1;
    if (isDue || !('afterRuns' in kill) || runs < kill.afterRuns) return;
    isDue = true;
    void pause(kill.delayMs).then(end);
  });
  const { signal } = await ended;
  arrives = () => undefined;
  return signal;
}

/** All that is left, but for times, and what runs used: lost calls count there. */
function left(out: string) {
  const path = join(place, out);
  const found = (run: string) => ({ ...resultOf(run), usage: undefined });
  const untimed = <T extends { seconds: unknown }>({ seconds: _, ...rest }: T) => rest;
  const { date: _, ...result } = JSON.parse(readFileSync(join(path, 'models.json'), 'utf8')) as ModelsResult;
  return {
    runs: runsBelow(path).map((run) => [run.slice(path.length), found(run), readdirSync(run).toSorted()]),
    plan: readFileSync(join(path, 'plan.json'), 'utf8'),
    files: readdirSync(path).toSorted(),
    result: {
      ...result,
      contestants: result.contestants.map(untimed),
      proposals: result.proposals.map(untimed),
    },
  };
}

it('a comparison killed in a first call, in a correction and between runs gives the same result', {
  timeout: 600_000,
}, async () => {
  expect((await compare('whole', 1).ended).code).toBe(0);
  const asked = server.requests.length;
  expect(asked).toBe(histories * (1 + 2));
  const kills: readonly Kill[] = [
    { jobs: 1, inCall: (_, calls) => calls === 3 },
    { jobs: 2, afterRuns: 2, delayMs: 15 },
    { jobs: 1, inCall: ({ messages, model }) => model === 'second' && messages.length > 2 },
  ];
  for (const kill of kills) {
    expect(await killed('killed', kill)).toBe('SIGKILL');
    expect(existsSync(join(place, 'killed', 'plan.json'))).toBe(true);
  }
  const last = await compare('killed', 1).ended;
  expect(last.code, last.stderr).toBe(0);
  expect(left('killed')).toEqual(left('whole'));
  // At most the calls under way when a process was killed were made again.
  const again = server.requests.length - 2 * asked;
  expect(again).toBeGreaterThan(0);
  expect(again).toBeLessThanOrEqual(kills.reduce((sum, { jobs }) => sum + jobs, 0));
});
