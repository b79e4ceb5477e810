import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readJsonLines } from '../../../src/base/files/json-lines.js';
import { execute } from '../../../src/commands/audit.js';
import type { BufferEntry } from '../../../src/rollout/replay-buffer.js';
import { runFiles } from '../../../src/runs/reader.js';
import { summaryOf } from '../../../src/runs/summary.js';
import { mean } from '../../../src/statistics/descriptive.js';
import type { Judgment } from '../../../src/statistics/tests.js';
import { readComparedRuns } from '../../../src/studies/comparison/compared-runs.js';
import { quick, recordingContext, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';
import { writeRun } from '../../support/written-runs.js';

/** One step; action 0 gives 1, action 1 gives 2, and both give the same noise. */
const steps = `export default { name: 'steps', options: { noise: 0 }, create: ({ noise = 0 }) => {
  let luck = 0;
  return {
    observationSpace: { kind: 'box', low: [1], high: [1] },
    actionSpace: { kind: 'discrete', n: 2 },
    reset: (_seed, random) => { luck = noise * random.normal(); return [1]; },
    step: (action) => ({ observation: [1], reward: 1 + action + luck, terminated: true, truncated: false }),
  };
} };
`;

const defaults = { runsDir: 'buffers', episodes: 20, seed: 0, searches: 0, json: true, quiet: true };

async function audited(text: string, options: object = {}, file = 'record.csv', cwd = temporaryDirectory()) {
  writeFileSync(join(cwd, 'steps.mjs'), steps);
  writeFileSync(join(cwd, file), text);
  const policy = '{kind: linear, bias: false}';
  const request = { sources: [file], environment: './steps.mjs', policy, ...options };
  return { cwd, printed: await printedBy(cwd, request) };
}

async function printedBy(cwd: string, options: { readonly sources: readonly string[] }) {
  const recording = recordingContext(cwd);
  expect(await execute({ ...defaults, ...options }, recording.context)).toBe(0);
  return recording.printed.join('\n');
}

// By hand: weights [a, b] choose action 1 if b > a, so 0 0, 1 0 and 2 0 act alike, and so do 0 1 and 0 2.
const record = `episode,parameters,returns
w0,"","0*14"
0,"1 0","1*4"
1,"2 0","1 1 2 2"
2,"0 1","2*4"
3,"0 2","3*4"
`;

describe('an audit', () => {
  it('gives recorded and fresh curves, behaviours and verdicts as computed by hand', async () => {
    const { printed } = await audited(record);
    expect(JSON.parse(printed)).toMatchObject({
      evaluations: 4,
      unknown: 1,
      policies: 4,
      behaviors: 2,
      recorded: { best: 3, at: 'episode 3' },
      fresh: { best: 2, bestAt: 'episode 2', ofRecordedBest: 2, ofRecordedBestInterval: [2, 2] },
      optimism: 1,
      improvements: {
        recorded: 4,
        confirmed: 2,
        list: [
          { at: 'episode 0', before: null, difference: 1, verdict: 'higher' },
          { at: 'episode 1', before: 'episode 0', difference: 0, verdict: 'no-evidence' },
          { at: 'episode 2', before: 'episode 0', difference: 1, verdict: 'higher' },
          { at: 'episode 3', before: 'episode 2', difference: 0, verdict: 'no-evidence' },
        ],
      },
      // Returns of 2 that the policy can't have, and of 3 that none has.
      reproduced: { tested: 4, not: [{ at: 'episode 1' }, { at: 'episode 3' }] },
      curves: { recorded: [1, 1.5, 2, 3], fresh: [1, 1, 2, 2], best: [1, 1, 2, 2] },
    });
  });

  it('reads JSON Lines with mean returns instead of the returns of episodes', async () => {
    const lines = '{"iteration":1,"parameters":[1,0],"return":1}\r\n\r\n{"parameters":[0,1],"return":2}';
    const { printed } = await audited(lines, {}, 'record.jsonl');
    expect(JSON.parse(printed)).toMatchObject({
      improvements: { recorded: 1, confirmed: 1, list: [{ at: 'line 3', before: 'iteration 1' }] },
      reproduced: { tested: 0, not: [] },
    });
  });

  it('reads CSV with a byte order mark, quotes, semicolons and Windows line ends', async () => {
    const { printed } = await audited('\uFEFFreturns;"parameters"\r\n1,1;"1, 0"\r\n"2*2";[0 1]\r\n');
    expect(JSON.parse(printed)).toMatchObject({ evaluations: 2, recorded: { best: 2, at: 'line 3' } });
  });

  it("exposes a lucky evaluation planted in a run, and doesn't accuse the run without it", async () => {
    const cwd = temporaryDirectory();
    writeFileSync(join(cwd, 'steps.mjs'), steps);
    const path = join(cwd, 'buffers', 'lucky');
    await runExperimentFrom(
      {
        environment: { id: join(cwd, 'steps.mjs'), options: { noise: 1 } },
        policy: { kind: 'linear', bias: false },
        model: { provider: 'random' },
        iterations: 20,
        evaluation: { seeds: 'fresh' },
      },
      { path },
    );
    const honest = JSON.parse(await printedBy(cwd, { sources: ['lucky'] }));
    expect(honest).toMatchObject({ evaluations: 40, behaviors: 2, reproduced: { tested: 40, not: [] } });
    expect(honest.improvements.list.filter((one: Judgment) => one.verdict === 'lower')).toEqual([]);
    const file = join(path, runFiles.evaluations);
    const entries = readJsonLines<BufferEntry>(file, { repair: false })!;
    const worst = entries.findLast(({ parameters: [a, b] }) => a! > b!)!;
    const returns = worst.returns.map((value) => value + 3);
    const planted = entries.map((one) => (one === worst ? { ...one, returns, score: mean(returns) } : one));
    writeFileSync(file, planted.map((one) => `${JSON.stringify(one)}\n`).join(''));
    const at = `iteration ${worst.iteration}`;
    writeRun(join(cwd, 'buffers', 'empty'), { seed: 0, scores: [null, null, null] });
    const exposed = JSON.parse(await printedBy(cwd, { sources: ['buffers'] }));
    expect(exposed).toMatchObject({ recorded: { at }, reproduced: { not: [{ at }] } });
    expect(exposed.improvements.list.at(-1)).toMatchObject({ at, verdict: 'lower' });
  });

  it('gives a program that fails in fresh episodes the lowest return; its run counts as failed', async () => {
    const cwd = temporaryDirectory();
    const path = join(cwd, 'buffers', 'brittle');
    const fails = 'if (memory.n === undefined && Math.abs(observation[0]) > 0.045) throw "edge";';
    const model = createScriptedModel(({ options: { seeds } }) => {
      const gain = (1 + (seeds[0]! % 1000) / 1000).toFixed(3);
      return `\`\`\`js\nfunction act(observation, memory) {\n  ${fails}\n  memory.n = 1;\n  return observation[2] + ${gain} * observation[3] > 0 ? 1 : 0;\n}\n\`\`\``;
    });
    await runExperimentFrom(
      {
        ...quick,
        policy: { kind: 'program' },
        model: { provider: 'ollama', name: 'scripted' },
        evaluation: { episodes: 2, maxSteps: 100 },
        confirmation: { candidates: 1, episodes: 60 },
      },
      { path, model },
    );
    const { manifest, status } = summaryOf(path);
    expect(status).toBe('completed');
    expect(manifest.best!.program).toContain('edge');
    // No other program takes its place.
    expect(readComparedRuns([path]).runs).toMatchObject([{ confirmed: null, failed: true }]);
    const found = JSON.parse(await printedBy(cwd, { sources: ['brittle'] }));
    expect(found.failed.length).toBeGreaterThan(0);
    expect(found.fresh.ofRecordedBest).toBe(1);
    expect(found.optimism).toBeCloseTo(found.recorded.best - 1, 9);
  });

  it('compares the record with searches that have the same number of evaluations', async () => {
    const { printed } = await audited(record, { searches: 3 });
    expect(JSON.parse(printed).searches).toEqual([
      { search: 'random', evaluations: 4, returns: [2, 2, 2], mean: 2, interval: null },
      { search: 'gp', evaluations: 4, returns: [2, 2, 2], mean: 2, interval: null },
    ]);
  });

  it('prints tables and writes a page', async () => {
    const { cwd, printed } = await audited(record, { json: false, html: 'audit.html' });
    expect(printed).toContain('Of 4 new bests');
    expect(printed).toContain('1 evaluation without parameters');
    expect(existsSync(join(cwd, 'audit.html'))).toBe(true);
  });
});

describe('an audit of bad input', () => {
  const json = '{"parameters":[1,0],"returns":[1]}\n';
  it.each([
    ['csv', record.replace('2 0', '2 0 0'), /:4: parameters.*3 parameters.*have 2.*--policy.*2 0 0/s],
    ['csv', 'parameters,score\n"1 0",1\n', /:1: .*returns.*rename.*parameters, score/s],
    ['csv', record.replace('parameters', 'Parameters'), /:1: .*parameters.*rename.*Parameters/s],
    ['csv', record.replace('3*4', '3 x'), /:6: returns.*numbers.*written.*"x"/s],
    ['csv', record.replace('3*4', ''), /:6: returns.*contain a number.*delete/s],
    ['csv', `${record}4,"0 1"\n`, /:7: .*fix this line/s],
    ['csv', `${record}4,"0 1,1\n`, /:7: .*fix this line/s],
    ['csv', '', /no evaluation with parameters.*write/s],
    ['jsonl', `${json}{"parameters":[1,0],"ret`, /:2: is not valid JSON.*fix this line.*ret/s],
    ['jsonl', `${json}[1,0]`, /:2: must be an object.*fix this line/s],
    ['jsonl', `${json}{"params":[1],"returns":[1]}`, /:2: .*parameters.*rename.*params/s],
    ['txt', record, /must end in .csv or .jsonl.*rename/s],
  ])('is rejected with a hint, and leaves nothing behind: %s %j', async (kind, text, message) => {
    const [cwd, file] = [temporaryDirectory(), `record.${kind}`];
    await expect(audited(text, { html: 'audit.html' }, file, cwd)).rejects.toThrow(message);
    expect(readdirSync(cwd)).toEqual([file, 'steps.mjs']);
  });

  it.each([
    [{ environment: 'CartPol-v1' }, /--environment.*CartPole-v1/s],
    [{ environment: undefined }, /--environment.*needs the environment/s],
    [{ policy: 'linea' }, /--policy\.kind.*linear/s],
    [{ sources: ['missing.csv'] }, /missing\.csv: there is no such file/],
    [{ html: 'missing/audit.html' }, /--html.*does not exist/],
  ])('names the option or file at fault: %o', async (options, message) => {
    await expect(audited(record, options)).rejects.toThrow(message);
  });
});
